package drive

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/strict"
	"probesim.dev/scenarios/format"
	"probesim.dev/scenarios/plan"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
	"probesim.dev/trace/match"
)

// Driver executes a plan's steps and pod additions. StartDriving returns a Driver; the zero value
// is not usable.
type Driver struct {
	plan    *plan.Plan
	world   World
	pods    map[string]*plan.PlannedPod // by namespace/name
	seen    []string                    // pods that have been added, in order
	rolled  []*rollout                  // of the Deployments
	made    []*v1.Pod                   // pods that the controllers have created, in order
	leases  map[string]*lease           // by name
	created map[*plan.Workload]bool     // Deployments
	present map[string]bool             // pods that the API server has, by namespace/name
	ending  map[string]bool             // those that terminate or have terminated, whose probes cannot change
	written map[string]bool             // pods whose manifest is written, by namespace/name
	delays  []*format.SetDelays         // steps in effect, the newest last
	outages map[string]int              // number of outages in effect, by kind
	stopped bool                        // the kubelet waits for the runtime before it starts
	now     virtual.Time                // time of the current step
	waiting []*waiting
	steps   []stepState // by index in spec.steps
	err     error       // the first error
	taken   int         // number of the step that is taken, from 1; 0: none
}

// stepState is the progress of a step.
type stepState struct {
	due  virtual.Time // virtual.Max until the moment of the step occurs
	done bool
}

// waiting is a step or the rules of programs that wait for a moment: for the first match, or for
// each.
type waiting struct {
	each    bool
	watcher *match.Watcher
	then    func(t virtual.Time)
}

// Start schedules the pod additions and the steps of the plan in a world. Call it before the run
// begins. It schedules nothing if the API server rejects a pod.
func Start(p *plan.Plan, w World) *Driver {
	d := &Driver{
		plan: p, world: w, pods: map[string]*plan.PlannedPod{}, present: map[string]bool{}, ending: map[string]bool{},
		written: map[string]bool{}, steps: make([]stepState, len(p.Scenario.Spec.Steps)),
		outages: map[string]int{}, created: map[*plan.Workload]bool{}, leases: map[string]*lease{},
	}
	w.Observe(d.observe)
	pods, err := p.AdmittedPods()
	if !d.check(err) {
		return d
	}
	for _, pod := range pods {
		key := pod.Pod.Namespace + "/" + pod.Pod.Name
		d.pods[key] = &pod
		if pod.Manifest != nil {
			d.world.At(pod.At, func() { d.setManifest(d.pods[key], d.pods[key].Manifest, "") })
		} else {
			d.world.At(pod.At, func() { d.check(d.world.AddAdmitted(d.pods[key].Pod, d.pods[key].Program)) })
		}
	}
	d.startControlled()
	for i, m := range p.Scenario.Moments {
		d.wait(m.Moment, m.Each, func(t virtual.Time) { d.world.At(t, func() { d.world.Occur(i) }) })
	}
	for i, step := range p.Scenario.Spec.Steps {
		d.schedule(i, step)
	}
	return d
}

// Unreached is a step that was not executed: its moment did not occur or is after the end of the
// run, or the pods that it applies to no longer existed.
type Unreached struct {
	Step *format.Step
	Due  virtual.Time // virtual.Max if the moment did not occur
}

// Unreached returns the steps that were not executed. Call it after the run.
func (d *Driver) Unreached() []Unreached {
	var steps []Unreached
	for i, step := range d.plan.Scenario.Spec.Steps {
		if !d.steps[i].done {
			steps = append(steps, Unreached{step, d.steps[i].due})
		}
	}
	return steps
}

// Err returns the first error of the API server or the world, after the run, with the place of the
// step or of the scenario. A scenario that was loaded without errors has none in its own versions:
// its pods and patches are valid.
func (d *Driver) Err() error { return d.err }

// check keeps the first error and reports whether there is none.
func (d *Driver) check(err error) bool {
	if s := d.plan.Scenario; d.err == nil && err != nil {
		place := strict.Error{Pos: s.Pos, Message: err.Error()}
		if d.taken > 0 {
			place.Pos, place.Path = s.Spec.Steps[d.taken-1].Pos, fmt.Sprintf("spec.steps[%d]", d.taken-1)
		}
		d.err = place
	}
	return err == nil
}

func (d *Driver) schedule(i int, step *format.Step) {
	if step.At != nil {
		d.at(virtual.At(d.plan.Draw(*step.At, "step at", i)), i, step)
		return
	}
	d.steps[i].due = virtual.Max
	d.wait(step.Since, false, func(t virtual.Time) { d.after(t, i) })
}

// wait calls then at the first match of a moment, or at each.
func (d *Driver) wait(m *match.Moment, each bool, then func(t virtual.Time)) {
	var pods func(string) bool
	if m.Pod != "" {
		pods = d.plan.Scenario.Selects(m.Pod)
	}
	d.waiting = append(d.waiting, &waiting{each, m.NewWatcher(pods), then})
}

// observe finds the moments that steps and programs wait for.
func (d *Driver) observe(r *trace.Record) {
	switch r.Kind {
	case trace.PodAdded:
		d.present[r.Pod] = true
		if d.pods[r.Pod] == nil || !slices.Contains(d.seen, r.Pod) {
			d.seen = append(d.seen, r.Pod)
		}
	case trace.ContainerStarted, trace.ContainerExited:
		d.leaseWanted(r)
	case trace.WorkloadChanged:
		d.replicaSetChanged(r)
	case trace.PodDeleteRequested:
		d.ending[r.Pod] = true
	case trace.StatusPatched:
		d.ending[r.Pod] = d.ending[r.Pod] || r.Status.Phase == "Succeeded" || r.Status.Phase == "Failed"
	case trace.PodRemoved:
		delete(d.present, r.Pod)
		delete(d.ending, r.Pod)
	}
	var occurred []*waiting
	d.waiting = slices.DeleteFunc(d.waiting, func(s *waiting) bool {
		now := s.watcher.Observe(r)
		if now {
			occurred = append(occurred, s)
		}
		return now && !s.each
	})
	for _, s := range occurred {
		s.then(r.T)
	}
}

// after schedules a step whose moment occurred at t.
func (d *Driver) after(t virtual.Time, i int) {
	step := d.plan.Scenario.Spec.Steps[i]
	if step.After != nil {
		t = t.Add(d.plan.Draw(*step.After, "step after", i))
	}
	d.at(t, i, step)
}

// at schedules a step at t.
func (d *Driver) at(t virtual.Time, i int, step *format.Step) {
	d.steps[i].due = t
	d.world.At(t, func() { d.do(t, i, step) })
}

// do executes a step at t, which is now.
func (d *Driver) do(t virtual.Time, i int, step *format.Step) {
	d.now = t
	if d.take(i, step) {
		d.steps[i].done = true
	}
}

// lease is the state of a lease. The program that has waited longest takes it when it is free.
type lease struct {
	holder  *candidate
	until   virtual.Time // when it is free, after the end of its holder
	waiting []*candidate
}

// candidate is an instance of a container that wants a lease.
type candidate struct {
	pod, container string
	instance       int
	lease          *format.Lease
}

// leaseWanted follows the programs that want leases.
func (d *Driver) leaseWanted(r *trace.Record) {
	of := d.plan.LeaseOf(r.Pod, r.Container)
	if of == nil {
		return
	}
	l := d.leases[of.Name]
	if l == nil {
		l = &lease{}
		d.leases[of.Name] = l
	}
	is := func(c *candidate) bool {
		return c.pod == r.Pod && c.container == r.Container && c.instance == r.Instance
	}
	switch {
	case r.Kind == trace.ContainerStarted:
		l.waiting = append(l.waiting, &candidate{r.Pod, r.Container, r.Instance, of})
	case l.holder != nil && is(l.holder):
		l.holder, l.until = nil, r.T.Add(of.Free())
	default:
		l.waiting = slices.DeleteFunc(l.waiting, is)
	}
	d.world.At(max(r.T, l.until), func() { d.takeLease(d.leases[of.Name], max(r.T, l.until)) })
}

// takeLease gives a lease that is free at t to the next program.
func (d *Driver) takeLease(l *lease, t virtual.Time) {
	if l.holder != nil || t < l.until || len(l.waiting) == 0 {
		return
	}
	c := l.waiting[0]
	l.holder, l.waiting = c, l.waiting[1:]
	d.world.OccurIn(string(d.pods[c.pod].Pod.UID), c.container, d.plan.Scenario.Lease(c.lease.Name))
}
