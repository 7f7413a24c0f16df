package check

import (
	"probesim.dev/internal/answers/bounds"
	"probesim.dev/internal/answers/measure"
	"probesim.dev/internal/value"
)

// Measured is what the pods of a workload in a cluster show of a container.
type Measured struct {
	Pods   int `json:"pods"`   // of the revision, in which starts are measured
	Starts int `json:"starts"` // of them, which are measured
	// the newest one with measured starts or stops, as the hash of its pod template
	Revision string `json:"revision,omitempty"`
	// there are pods of a newer revision, of which nothing is measured
	Older bool            `json:"older,omitempty"`
	Start *value.Interval `json:"start,omitempty"` // contains all starts
	// Slowest is how long the slowest start took at least: it is less than the end of Start,
	// because a start is known to a period of the probe.
	Slowest value.Seconds   `json:"slowest,omitempty"`
	Unknown string          `json:"unknown,omitempty"` // why no start of the newest revision is measured
	Stop    *value.Interval `json:"stop,omitempty"`    // from SIGTERM to the exit
	// Margin is how much longer the slowest start could have been at least, with the settings of
	// the pods; negative if that may be too long. It is nil if no probe stops it.
	Margin *value.Seconds `json:"margin,omitempty"`
	// the start that the probes of the pods always allow; 0: no probe stops it
	Allowed  value.Seconds `json:"allowed,omitempty"`
	Kills    int           `json:"kills"`    // by its probes, as events tell, in all revisions
	Restarts int           `json:"restarts"` // in all revisions
	// Used and UsedStop report whether Start and Stop count: neither the command line nor an
	// annotation says how long it takes.
	Used     bool `json:"used"`
	UsedStop bool `json:"usedStop"`
}

// whole returns a measured range in whole seconds, as an annotation has it, or nil.
func whole(i *value.Interval) *value.Interval {
	if i == nil {
		return nil
	}
	w := i.Whole()
	return &value.Interval{Min: min(w.Min, bounds.LongestLimit), Max: min(w.Max, bounds.LongestLimit)}
}

// measured returns what Options.Measured says about the containers of a workload, by their names.
func (o *Options) measured(kind, namespace, name string) map[string]*Measured {
	if o.Measured == nil {
		return nil
	}
	all := map[string]*Measured{}
	of := func(name string) *Measured {
		if all[name] == nil {
			all[name] = &Measured{}
		}
		return all[name]
	}
	for _, w := range o.Measured.Revisions(kind, namespace, name) { // oldest first
		for _, c := range w.Containers {
			m := of(c.Name)
			m.Kills += c.Kills
			m.Restarts += c.Restarts
			m.Unknown = ""
			if c.Start == nil && len(c.Unknown) > 0 {
				m.Unknown = c.Unknown[0].Reason
			}
			if m.Older = c.Start == nil && c.Stop == nil && m.Revision != ""; c.Start != nil || c.Stop != nil {
				m.take(w, c)
			}
		}
	}
	return all
}

// take takes over what a revision shows of the container.
func (m *Measured) take(w *measure.Workload, c *measure.Container) {
	pods := map[string]bool{}
	m.Slowest, m.Allowed, m.Margin = 0, 0, nil
	for _, s := range c.Starts {
		pods[s.Pod] = true
		m.Slowest = max(m.Slowest, value.Seconds(s.Took.Min))
	}
	m.Pods, m.Starts, m.Revision = len(pods), len(c.Starts), w.Hash
	m.Start, m.Stop = whole(c.Start), whole(c.Stop)
	if c.Limit > 0 {
		m.Allowed, m.Margin = c.Limit, new(c.Margin)
	}
}

// ClosestCall says how close the slowest start was to a kill, as a clause that follows the name of
// the container, or returns nothing.
func (m *Measured) ClosestCall() string {
	switch {
	case m.Margin == nil || m.Start == nil:
		return ""
	case *m.Margin < value.Seconds(tenth):
		return "its slowest start took up to " + seconds(m.Start.Max) + ", and its probes always allow " +
			FormatDown(m.Allowed)
	}
	return "its slowest start was at least " + FormatDown(*m.Margin) + " from being killed"
}
