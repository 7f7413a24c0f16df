package explore

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"probesim.dev/internal/value"
	"probesim.dev/scenarios/format"
	"probesim.dev/scenarios/plan"
	"probesim.dev/sim/choose"
)

// Change is how a run differs from the canonical run of the plan. The zero value is the canonical
// run.
type Change struct {
	Uptime  *time.Duration `json:"uptime,omitempty"` // age of the kubelet at t=0, in nanoseconds
	Seed    *int64         `json:"seed,omitempty"`   // decides orders, jitters, and the times within ranges
	Faults  []Fault        `json:"faults,omitempty"`
	Shifts  []plan.Shift   `json:"shifts,omitempty"`
	Choices []Choice       `json:"choices,omitempty"`
}

// FaultKind is what happens to the node.
type FaultKind string

const (
	KubeletRestart FaultKind = "kubelet restart"
	APIOutage      FaultKind = "API server outage"
	RuntimeOutage  FaultKind = "runtime outage"
	FailedCall     FaultKind = "failed call"
)

// Fault is something that happens to the node, besides the steps of the scenario.
type Fault struct {
	Kind FaultKind     `json:"kind"`
	At   time.Duration `json:"at"`             // since t=0, in nanoseconds
	For  time.Duration `json:"for"`            // in nanoseconds; a failed call has none
	Call *FailedCallOf `json:"call,omitempty"` // of a failed call
}

// FailedCallOf says which call fails: the first one of its kind that begins at the time of the
// fault or later.
type FailedCallOf struct {
	Call      string `json:"call"` // a name in fakeruntime.Calls
	Pod       string `json:"pod,omitempty"`
	Container string `json:"container,omitempty"`
	Done      bool   `json:"done,omitempty"` // only the answer is lost
}

// step returns the action of a step.
func (c *FailedCallOf) step() *format.FailCall {
	f := &format.FailCall{Call: c.Call, Pod: c.Pod, Container: c.Container}
	if c.Done {
		f.Effect = format.EffectDone
	}
	return f
}

// String describes the call, such as "removeContainer of default/shop/app fails".
func (c *FailedCallOf) String() string {
	text := c.Call
	if c.Pod != "" {
		text += " of " + strings.TrimSuffix(c.Pod+"/"+c.Container, "/")
	}
	if c.Done {
		return text + " is done without an answer"
	}
	return text + " fails"
}

// Step returns the step of a scenario that has this effect.
func (f Fault) Step() *format.Step {
	exactly := func(d time.Duration) *value.Draw { return &value.Draw{Min: d, Max: d} }
	step := &format.Step{At: exactly(f.At)}
	switch f.Kind {
	case KubeletRestart:
		step.RestartKubelet = &format.RestartKubelet{Downtime: exactly(f.For)}
	case APIOutage:
		step.APIDown = &format.APIDown{For: exactly(f.For)}
	case RuntimeOutage:
		step.RuntimeDown = &format.RuntimeDown{For: exactly(f.For)}
	case FailedCall:
		step.FailCall = f.Call.step()
	}
	return step
}

// String describes the fault, such as "kubelet restart at 12.3s for 3s".
func (f Fault) String() string {
	if f.Kind == FailedCall {
		return f.Call.String() + " at " + value.Format(f.At)
	}
	return string(f.Kind) + " at " + value.Format(f.At) + " for " + value.Format(f.For)
}

// Choice is a choice that a run makes other than canonically. Its key identifies it: Index and At
// are for people.
type Choice struct {
	Index    int           `json:"index"` // the number of the choice in its run, from 0
	At       time.Duration `json:"at"`    // when it came up, since t=0, in nanoseconds
	Kind     choose.Kind   `json:"kind"`
	Key      string        `json:"key"`
	Ordinal  int64         `json:"ordinal"`
	Value    int           `json:"value,omitempty"`
	Fraction float64       `json:"fraction,omitempty"`
	// Of a choice of kind next: the candidate that the one of Key overtakes.
	OverKey     string `json:"overKey,omitempty"`
	OverOrdinal int64  `json:"overOrdinal,omitempty"`
}

func (c Choice) made() choose.Made {
	m := choose.Made{Choice: choose.Choice{Kind: c.Kind, Key: c.Key, Ordinal: c.Ordinal}, Value: c.Value,
		Fraction: c.Fraction}
	if c.Kind == choose.Next {
		m.Before = choose.Choice{Kind: choose.Next, Key: c.OverKey, Ordinal: c.OverOrdinal}
	}
	return m
}

// choiceOf returns a choice of a policy with its place in the run.
func choiceOf(m choose.Made, index int, at time.Duration) Choice {
	return Choice{Index: index, At: at, Kind: m.Kind, Key: m.Key, Ordinal: m.Ordinal, Value: m.Value,
		Fraction: m.Fraction, OverKey: m.Before.Key, OverOrdinal: m.Before.Ordinal}
}

// chooser returns the policy of a run with the change and a seed. It is nil for canonical choices:
// without a policy, the kubelet's idle relists take no time.
func (c *Change) chooser(seed *int64) choose.Chooser {
	switch {
	case len(c.Choices) == 0 && seed != nil:
		return choose.Seeded(*seed)
	case len(c.Choices) == 0:
		return nil
	}
	made := make([]choose.Made, len(c.Choices))
	for i, choice := range c.Choices {
		made[i] = choice.made()
	}
	return choose.NewReplay(made)
}

// moved reports whether the change moves something in the scenario or adds something to it. The
// expectations of a scenario are about the scenario as it is.
func (c *Change) moved() bool { return len(c.Faults)+len(c.Shifts) > 0 }

// variation returns the part of the change that concerns the scenario.
func (c *Change) variation() plan.Variation {
	v := plan.Variation{Uptime: c.Uptime, Shifts: c.Shifts}
	for _, f := range c.Faults {
		v.Steps = append(v.Steps, f.Step())
	}
	return v
}

// with returns a change that has the parts of both. The uptime and the seed of other win.
func (c Change) with(other Change) Change {
	return Change{Uptime: cmp.Or(other.Uptime, c.Uptime), Seed: cmp.Or(other.Seed, c.Seed),
		Faults: slices.Concat(c.Faults, other.Faults), Shifts: slices.Concat(c.Shifts, other.Shifts),
		Choices: slices.Concat(c.Choices, other.Choices)}
}

// Lines describes the change, one part a line. A run without a change has the line "as written".
func (c Change) Lines() []string {
	var lines []string
	if c.Uptime != nil {
		lines = append(lines, "kubelet up for "+value.Format(*c.Uptime)+" at t=0")
	}
	for _, f := range c.Faults {
		lines = append(lines, f.String())
	}
	for _, s := range c.Shifts {
		when := "later"
		if s.By < 0 {
			when = "earlier"
		}
		lines = append(lines, s.Path+" "+value.Format(s.By.Abs())+" "+when)
	}
	if c.Seed != nil {
		lines = append(lines, fmt.Sprintf("seed %d", *c.Seed))
	}
	for _, choice := range c.Choices {
		lines = append(lines, choice.String())
	}
	if lines == nil {
		lines = []string{"as written"}
	}
	return lines
}

// String describes the choice in words.
func (c Choice) String() string {
	at := "at " + value.Format(c.At) + ": "
	switch c.Kind {
	case choose.Next:
		return at + fmt.Sprintf("%q goes before %q", c.Key, c.OverKey)
	case choose.Preemption:
		return at + fmt.Sprintf("%q is interrupted, %s", c.Key,
			[]string{"", "others go first", "all others go first"}[min(c.Value, 2)])
	case choose.Jitter:
		return at + fmt.Sprintf("jitter of %q %s%%", c.Key, strconv.FormatFloat(100*c.Fraction, 'f', -1, 64))
	case choose.SelectCase:
		return at + fmt.Sprintf("select of %q takes case %d", c.Key, c.Value)
	}
	return at + fmt.Sprintf("%s %q takes %d", c.Kind, c.Key, c.Value)
}
