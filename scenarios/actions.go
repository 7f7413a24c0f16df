package scenarios

import (
	"cmp"
	"regexp"
	"slices"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
)

// action is what a step does.
type action interface {
	// name is that of the field.
	name() string
	// target is the pod or workload that it is about, empty for all or the node.
	target() string
	// check reports what is wrong with it.
	check(c *checker, n *strict.Node)
	// do does it, and reports whether there was something to do it to.
	do(d *Driver, i int) bool
}

// actions returns what a step does: one action if it is right.
func (s *Step) actions() []action {
	var list []action
	add := func(a action, given bool) {
		if given {
			list = append(list, a)
		}
	}
	add(s.Delete, s.Delete != nil)
	add(s.Kill, s.Kill != nil)
	add(s.SetDelays, s.SetDelays != nil)
	add(s.Patch, s.Patch != nil)
	add(s.Evict, s.Evict != nil)
	add(s.RestartKubelet, s.RestartKubelet != nil)
	add(s.RebootNode, s.RebootNode != nil)
	add(s.ShutdownNode, s.ShutdownNode != nil)
	add(s.APIDown, s.APIDown != nil)
	add(s.RuntimeDown, s.RuntimeDown != nil)
	add(s.StepClock, s.StepClock != nil)
	return list
}

// Target returns the name of the pod or workload that the step is about; it is empty if that is the only one, or
// the node.
func (s *Step) Target() string { return s.actions()[0].target() }

// defaultKillReason is how a container ends that uses more memory than it may.
const defaultKillReason = "OOMKilled"

// isReason matches what the API takes for the reason of a condition; reasons of containers look the same.
var isReason = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]{0,255}[A-Za-z0-9_])?$`)

func (d *Delete) target() string { return d.Pod }

func (d *Delete) name() string { return "delete" }

func (d *Delete) check(c *checker, n *strict.Node) {
	c.checkTarget(d.Pod, n)
	longest := int64(value.MaxDuration.Seconds())
	if g := d.GracePeriodSeconds; g != nil && (*g < 0 || *g > longest) {
		n.Field("gracePeriodSeconds").Errorf("must be from 0 to %d and not %d", longest, *g)
	}
}

func (d *Delete) do(driver *Driver, _ int) bool {
	return driver.eachPod(d.Pod, func(p *PlannedPod) bool {
		driver.world.DeletePod(p.Pod.Namespace, p.Pod.Name, d.GracePeriodSeconds)
		return true
	})
}

func (k *Kill) target() string { return k.Pod }

func (k *Kill) name() string { return "kill" }

func (k *Kill) check(c *checker, n *strict.Node) {
	c.checkTarget(k.Pod, n)
	if n.Bad() || n.Field("pod").Bad() {
		return
	}
	c.checkContainerName(k.Pod, k.Container, n.Field("container"))
	if k.Container == "" && slices.ContainsFunc(c.scenario.workloads, func(w *workload) bool {
		_, count := w.named(k.Pod)
		return count > 0 && len(w.containerNames()) > 1
	}) {
		n.Errorf("there are several containers: say which with container")
	}
	if reason := n.Field("reason"); reason.Written() && !isReason.MatchString(k.Reason) {
		reason.Errorf("%s is not a reason of a status, such as OOMKilled", strict.Quote(k.Reason))
	}
}

// do kills the container in each of the pods in which it runs.
func (k *Kill) do(d *Driver, i int) bool {
	return d.eachPod(k.Pod, func(p *PlannedPod) bool {
		kill := fakeruntime.Kill{PodUID: string(p.Pod.UID), Container: k.Container, Reason: cmp.Or(k.Reason, defaultKillReason), Remove: k.Remove}
		if k.Container == "" {
			kill.Container = p.Pod.Spec.Containers[0].Name
		}
		return d.world.KillContainer(kill)
	})
}

func (e *Evict) target() string { return e.Pod }

func (e *Evict) name() string { return "evict" }

func (e *Evict) check(c *checker, n *strict.Node) { c.checkTarget(e.Pod, n) }

func (e *Evict) do(d *Driver, _ int) bool {
	return d.eachPod(e.Pod, func(p *PlannedPod) bool { return d.world.EvictPod(p.Pod.Namespace, p.Pod.Name) })
}

func (*SetDelays) target() string { return "" }

func (s *SetDelays) name() string { return "setDelays" }

func (s *SetDelays) check(_ *checker, n *strict.Node) {
	s.text = n.Text()
	checkDelays(n.Field("delays"), s.Delays)
	checkFor(s.For, n.Field("for"))
	if s.Delays == nil && !n.Field("delays").Bad() {
		n.Field("delays").Errorf("is required: say which delays change")
	}
}

// do changes the delays, and changes them back when the time is over. Of several steps whose time is not over
// the last one has its way.
func (s *SetDelays) do(d *Driver, i int) bool {
	d.during(s, s.text, s.For, i, func() {
		d.delays = append(d.delays, s)
		d.setDelays()
	}, func() {
		d.delays = slices.DeleteFunc(d.delays, func(other *SetDelays) bool { return other == s })
		d.setDelays()
	})
	return true
}

// checkFor refuses a time that is over at once.
func checkFor(d *value.Draw, n *strict.Node) {
	if d != nil && !n.Bad() && d.Min <= 0 {
		n.Errorf("%s may be over at once", d)
	}
}
