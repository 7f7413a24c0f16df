package reconstruct

import (
	"context"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/check"
	"probesim.dev/check/tune"
	"probesim.dev/incident"
	"probesim.dev/internal/value"
	"probesim.dev/kube/profile"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/manifests"
	"probesim.dev/scenarios/simulate"
	"probesim.dev/trace"
)

// Prevention is a change of probe settings with which the reconstruction has no kill by a probe, or the reason why there is none.
type Prevention struct {
	Container string
	Probe     trace.Probe
	Kills     int // by probes, in the run of the reconstruction
	// Requirement is what the settings must survive, as for check: the longest time for which the probe fails in a run in which it
	// never kills. It is empty if the program never answers again.
	Requirement string
	Changes     []tune.Change
	After       int    // kills by probes in the run with the changes
	Says        string // the answer, in a few sentences
}

// Manifest returns the pod of the scenario, as YAML.
func (r *Result) Manifest() []byte { return []byte(document(r.model.object)) }

// Kill returns the first time that a probe had a container killed in the run, or nil.
func (r *Result) Kill() *trace.Record { return firstKill(r.Run.Records) }

func byProbe(r *trace.Record) bool {
	return r.Kind == trace.ContainerStopping && (r.Reason == "LivenessProbe" || r.Reason == "StartupProbe")
}

func firstKill(records []trace.Record) *trace.Record {
	for i := range records {
		if byProbe(&records[i]) {
			return &records[i]
		}
	}
	return nil
}

func kills(records []trace.Record) int {
	n := 0
	for i := range records {
		if byProbe(&records[i]) {
			n++
		}
	}
	return n
}

// Prevent finds settings that prevent the kills by probes in the run. It returns nil if there is none.
func (r *Result) Prevent(ctx context.Context) (*Prevention, error) {
	kill := r.Kill()
	if kill == nil {
		return nil, nil
	}
	p := &Prevention{Container: kill.Container, Probe: trace.Liveness, Kills: kills(r.Run.Records)}
	if kill.Reason == "StartupProbe" {
		p.Probe = trace.Startup
	}
	if stopped, never := neverUp(r.Run.Records, p.Container, p.Probe); never {
		p.Says = fmt.Sprintf("Each start of %s was stopped after %s or earlier, before its %s probe succeeded. The recording does not tell how long a start takes, or whether it ends. Measure it, and find settings with 'probesim tune MANIFEST --require start>=...'.", p.Container, value.Format(stopped.Round(100*time.Millisecond)), p.Probe)
		return p, nil
	}
	patient, err := r.rerun(ctx, func(c *v1.Container) {
		for _, probe := range []*v1.Probe{c.LivenessProbe, c.StartupProbe} {
			if probe != nil {
				probe.FailureThreshold = 1_000_000
			}
		}
	})
	if err != nil {
		return nil, err
	}
	needs, start, found := longest(patient.Records, p.Container, p.Probe)
	if !found {
		p.Says = fmt.Sprintf("No probe setting would have helped: the recording does not show that %s recovers without a restart, and in a run in which probes never kill it, its %s probe fails to the end.", p.Container, p.Probe)
		return p, nil
	}
	what := "stall"
	if start {
		what = "start"
	}
	needs = (needs + time.Second - 1).Truncate(time.Second)
	p.Requirement = fmt.Sprintf("%s>=%s", what, value.Format(needs))
	return p, r.tune(ctx, p)
}

// neverUp reports whether a probe never succeeded and stopped the container more than once, and the longest time from a start to a stop.
func neverUp(records []trace.Record, container string, probe trace.Probe) (stopped time.Duration, never bool) {
	var began time.Duration
	stops := 0
	for i := range records {
		r := &records[i]
		switch {
		case r.Container != container:
		case r.Kind == trace.ContainerStarted:
			began = r.T.Offset()
		case r.Kind == trace.ProbeExecuted && r.Probe == probe && r.Result == trace.Success:
			return 0, false
		case byProbe(r):
			stops++
			stopped = max(stopped, r.T.Offset()-began)
		}
	}
	return stopped, stops > 1
}

// tune finds the settings and runs the reconstruction with them.
func (r *Result) tune(ctx context.Context, p *Prevention) error {
	require, err := check.ParseRequirements(p.Requirement)
	if err != nil {
		return err
	}
	known, _ := r.Plan.Profile()
	t, err := tune.New([]check.File{{Name: "pod.yaml", Data: r.Manifest()}}, check.Options{Profiles: []profile.Profile{known}, Require: require, IgnoreAnnotations: true})
	if err != nil {
		return err
	}
	for i := range t.Tasks() {
		if err := t.Do(ctx, i); err != nil {
			return err
		}
	}
	report := t.Report()
	var words []string
	for _, w := range report.Workloads {
		for _, c := range w.Containers {
			if c.Name != p.Container {
				continue
			}
			p.Changes = append(p.Changes, c.Changes...)
			for _, x := range c.Contradictions {
				words = append(words, x.Text)
			}
		}
	}
	survive := "The probes had to survive a " + strings.Replace(p.Requirement, ">=", " of ", 1)
	if len(p.Changes) == 0 {
		p.Says = survive + ". " + strings.Join(words, "; ")
		if len(words) == 0 {
			p.Says = survive + ", which they do on most nodes: a higher failureThreshold leaves a margin."
		}
		return nil
	}
	manifest, err := manifests.Read("pod.yaml", r.Manifest())
	if err != nil {
		return err
	}
	w := &manifest.Workloads[0]
	report.Modify("pod.yaml", w)
	changed, err := r.rerun(ctx, func(c *v1.Container) {
		for _, n := range w.Pod.Spec.Containers {
			if n.Name == c.Name {
				c.LivenessProbe, c.ReadinessProbe, c.StartupProbe = n.LivenessProbe, n.ReadinessProbe, n.StartupProbe
			}
		}
	})
	if err != nil {
		return err
	}
	p.After = kills(changed.Records)
	if p.After > 0 { // the program answers with errors in that time, while the settings are for one that does not answer
		if err := r.patience(ctx, p); err != nil {
			return err
		}
	}
	var list []string
	for _, c := range p.Changes {
		before := "added"
		if c.Before != nil {
			before = fmt.Sprintf("instead of %d", *c.Before)
		}
		list = append(list, fmt.Sprintf("%s: %d (%s)", c.Field, c.After, before))
	}
	p.Says = fmt.Sprintf("%s: %s. With this, the run has %s by a probe instead of %d.", survive, strings.Join(list, ", "), number(p.After, "kill"), p.Kills)
	return nil
}

// patience tries a failureThreshold with which the probe fails for longer than the program needs.
func (r *Result) patience(ctx context.Context, p *Prevention) error {
	c := r.model.spec(p.Container)
	if c == nil || incident.ProbeOf(c, p.Probe) == nil {
		return nil
	}
	old := incident.ProbeOf(c, p.Probe)
	_, needs, _ := strings.Cut(p.Requirement, ">=")
	d, err := value.ParseDuration(needs)
	if err != nil {
		return err
	}
	before, after := old.FailureThreshold, int32(min(d/period(old)+2, 1_000_000))
	changed, err := r.rerun(ctx, func(x *v1.Container) {
		if x.Name == c.Name {
			incident.ProbeOf(x, p.Probe).FailureThreshold = after
		}
	})
	if err != nil {
		return err
	}
	if n := kills(changed.Records); n < p.After {
		p.After = n
		p.Changes = []tune.Change{{Field: string(p.Probe) + "Probe.failureThreshold", Before: &before, After: after}}
	}
	return nil
}

func number(n int, what string) string {
	switch n {
	case 0:
		return "no " + what
	case 1:
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// aftermath is the time after the recording in which a program can recover in another run.
const aftermath = 10 * time.Minute

// rerun runs the scenario with other settings of the containers.
func (r *Result) rerun(ctx context.Context, change func(*v1.Container)) (*simulate.Result, error) {
	m := *r.model
	m.object = m.object.DeepCopy()
	m.longer = aftermath
	for i := range m.object.Spec.InitContainers {
		change(&m.object.Spec.InitContainers[i])
	}
	for i := range m.object.Spec.Containers {
		change(&m.object.Spec.Containers[i])
	}
	loaded, err := scenarios.LoadBytes("incident.yaml", m.text(&attempt{zero: r.Zero}), nil)
	if err != nil {
		return nil, err
	}
	run := simulate.Run(ctx, loaded[0].Plan(m.version, nil), simulate.Options{})
	return run, run.Err
}

// longest returns the longest time for which a probe fails before it succeeds again, and whether it is the time from the start of the
// container. found is false if the probe fails and never succeeds again.
func longest(records []trace.Record, container string, probe trace.Probe) (most time.Duration, start, found bool) {
	var began, failing time.Duration
	inStart, isFailing := true, false
	for i := range records {
		r := &records[i]
		if r.Container != container {
			continue
		}
		switch {
		case r.Kind == trace.ContainerStarted:
			began, inStart, isFailing = r.T.Offset(), true, false
		case r.Kind == trace.ContainerExited:
			isFailing = false
		case r.Kind != trace.ProbeExecuted || r.Probe != probe:
		case r.Result == trace.Failure && !isFailing:
			failing, isFailing = r.T.Offset()-r.Took, true
			if inStart {
				failing = began
			}
		case r.Result == trace.Success:
			if took := r.T.Offset() - r.Took - failing; isFailing && took > most {
				most, start = took, inStart
			}
			inStart, isFailing = false, false
		}
	}
	return most, start, !isFailing && most > 0
}
