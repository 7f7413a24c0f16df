// The rules in this file and the next one hold for every correct simulation, whatever the scenario:
// time does not go back, a cause comes before its effect, a container exits once, and so on. They
// are about the simulation and not about the kubelet: a trace that shows a bug of the kubelet obeys
// them too.

package soak

import (
	"fmt"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// checker checks the records of one run in order. The zero value is ready for the first record.
type checker struct {
	steps   int64
	now     virtual.Time
	pods    map[string]*pod
	stopped bool // the kubelet is stopped
	found   []violation
	more    int
}

// violation is a record that breaks a rule.
type violation struct {
	Rule   string
	Record trace.Record
}

func (v violation) String() string {
	return fmt.Sprintf("%s: %s", v.Rule, trace.AppendJSON(nil, &v.Record))
}

// maxViolations is the number of violations that a checker keeps.
const maxViolations = 20

// violations returns the first violations, and the number of further ones.
func (c *checker) violations() (list []violation, more int) { return c.found, c.more }

// check checks the next record of the run.
func (c *checker) check(r *trace.Record) {
	broken := func(rule string) {
		if len(c.found) == maxViolations {
			c.more++
			return
		}
		c.found = append(c.found, violation{rule, *r})
	}
	c.numbering(r, broken)
	c.values(r, broken)
	c.kubelet(r, broken)
	if r.Pod == "" {
		return
	}
	p := c.pods[r.Pod]
	if p == nil {
		p = &pod{containers: map[string]*container{}}
		if c.pods == nil {
			c.pods = map[string]*pod{}
		}
		c.pods[r.Pod] = p
	}
	p.check(r, broken)
	if r.Container != "" {
		p.container(r.Container).check(r, p.added, broken)
	}
}

// numbering checks the order of the records.
func (c *checker) numbering(r *trace.Record, broken func(string)) {
	if r.Step != c.steps+1 {
		broken("steps number the records without gaps")
	}
	if c.steps > 0 && r.T < c.now {
		broken("virtual time does not go back")
	}
	if r.Cause < 0 || r.Cause >= r.Step {
		broken("a cause is an earlier record")
	}
	c.steps, c.now = r.Step, r.T
}

// values checks that the fields of a record are in their ranges.
func (c *checker) values(r *trace.Record, broken func(string)) {
	if r.Took < 0 {
		broken("a duration is not negative")
	}
	if r.GraceSeconds < 0 {
		broken("a grace period is not negative")
	}
	if r.ExitCode < 0 || r.ExitCode > 255 {
		broken("an exit code is between 0 and 255")
	}
	if r.Instance < 0 {
		broken("instances count from 0")
	}
	if r.Container != "" && r.Pod == "" {
		broken("a container belongs to a pod")
	}
	if r.Kind == trace.ProbeExecuted && (!probes[r.Probe] || !results[r.Result]) {
		broken("a probe run has a type and a result")
	}
	switch r.Kind {
	case trace.ImagePullEnded, trace.HookEnded, trace.VolumeWaitEnded:
		if r.Result != trace.Success && r.Result != trace.Failure || r.Took < 0 {
			broken("an action of the kubelet ends with a success or a failure")
		}
	}
}

var (
	probes  = map[trace.Probe]bool{trace.Liveness: true, trace.Readiness: true, trace.Startup: true}
	results = map[trace.Result]bool{trace.Success: true, trace.Failure: true, trace.Warning: true, trace.Error: true}
)

// kubelet checks that a stopped kubelet does nothing.
func (c *checker) kubelet(r *trace.Record, broken func(string)) {
	stopped := c.stopped
	switch r.Kind {
	case trace.KubeletStopped:
		c.stopped = true
		if stopped {
			broken("the kubelet stops once")
		}
	case trace.KubeletStarted:
		c.stopped = false
		if !stopped {
			broken("only a stopped kubelet starts")
		}
	case trace.ProbeExecuted, trace.StatusPatched, trace.Event, trace.ImagePullStarted, trace.ImagePullEnded,
		trace.HookStarted,
		trace.HookEnded, trace.VolumeWaitEnded, trace.PodSync, trace.SyncLoop, trace.Relist, trace.BackOff,
		trace.ProbeSkipped, trace.ManualTrigger, trace.TriggerTaken, trace.ResultChanged:
		if stopped {
			broken("a stopped kubelet does nothing")
		}
	}
}
