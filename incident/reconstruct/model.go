package reconstruct

import (
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/incident"
	"probesim.dev/kube/profile"
	"probesim.dev/trace"
)

// model is what the search varies.
type model struct {
	rec    *incident.Recording
	pod    *incident.Pod
	object *v1.Pod // the manifest
	// manifestText is the text of the manifest that manifestOf is.
	manifestText string
	manifestOf   *v1.Pod
	assumed      []string
	version      string
	command      string
	first        incident.Moment // the first start of a container
	starter      string          // that container
	guessed      *incident.Fact  // the first fact, if first is a guess because no start is recorded
	anchor       string          // what happens at that time, if no start is recorded: podStart, or the reason of an event; empty: the start
	// earliest and doubt are the range of the first start, if it is known to less than a second.
	earliest time.Time
	doubt    time.Duration
	end      time.Time // of the recording of the pod
	beyond   []Claim
	// rejected has the reasons for which the loader rejects claims.
	rejected map[claimKey]string

	longer time.Duration // the run lasts this long after the recording
	// retries says that the windows of facts include the random delays with which the kubelet retries.
	retries bool

	// The parts of the behavior.
	mount   time.Duration // volumeMount
	sandbox time.Duration // runPodSandbox
	pull    time.Duration
	uptime  time.Duration // of the kubelet, which decides when it looks at the containers; 0: the default
	parts   []*part
	deleted time.Time     // when the deletion was requested; zero: never
	grace   *int          // of the deletion; nil: that of the pod
	config  string        // of the kubelet
	backoff string        // the part of it about back-offs
	resync  time.Duration // the syncFrequency of the kubelet; 0: the default
	since   time.Duration // from the last fact to the recording

	requested time.Time // when the deletion was requested, if a fact tells it
}

// part is a dimension of the search: the rules about one probe, or about the exits of one container.
type part struct {
	container string
	what      string
	rules     []rule
	answers   []string      // named answers
	create    time.Duration // createContainer; 0: the default
	startup   time.Duration // startContainer; 0: the default
	steps     []string
	try       func(s *search, p *part) []choice
}

// choice is a possible value of a part.
type choice struct {
	name    string
	rules   []rule
	answers []string
	create  time.Duration  // createContainer
	startup time.Duration  // startContainer
	steps   []string       // of the scenario
	uptime  time.Duration  // of the kubelet at t=0; 0: as it is
	config  *string        // of the kubelet; nil: as it is
	sandbox *time.Duration // of the pod instead
	mount   *time.Duration
	start   *time.Time     // the first start
	since   *time.Duration // from the last fact to the recording
	resync  *time.Duration // the syncFrequency of the kubelet
	deleted *time.Time     // the request to delete the pod; zero: none
	grace   *int           // its gracePeriodSeconds; nil: that of the pod
	rare    bool           // only if the best run so far leaves facts unexplained: the others are simpler
	// next returns a better choice after an attempt with this one, or nil.
	next func(a *attempt) *choice
}

// rule is a rule of a behavior.
type rule struct{ text, comment string }

// state is a value of everything that the search varies.
type state struct {
	model model
	parts []part
	order []*part
}

func (m *model) snapshot() state {
	s := state{model: *m, order: slices.Clone(m.parts)}
	for _, p := range m.parts {
		s.parts = append(s.parts, *p)
	}
	return s
}

func (m *model) restore(s state) {
	*m = s.model
	m.parts = slices.Clone(s.order)
	for i, p := range m.parts {
		*p = s.parts[i]
	}
}

// part returns a part of the model.
func (m *model) part(container, what string) *part {
	for _, p := range m.parts {
		if p.container == container && p.what == what {
			return p
		}
	}
	return nil
}

func (m *model) containers() []*v1.Container {
	var all []*v1.Container
	for _, list := range [][]v1.Container{m.object.Spec.InitContainers, m.object.Spec.Containers} {
		for i := range list {
			all = append(all, &list[i])
		}
	}
	return all
}

// choose gives a part the value of a choice.
func (m *model) choose(p *part, c *choice) {
	p.rules, p.answers, p.create, p.startup, p.steps = c.rules, c.answers, c.create, c.startup, c.steps
	set(&m.config, c.config)
	set(&m.sandbox, c.sandbox)
	set(&m.mount, c.mount)
	set(&m.first.At, c.start)
	set(&m.since, c.since)
	set(&m.resync, c.resync)
	if c.deleted != nil {
		m.deleted, m.grace = *c.deleted, c.grace
	}
	if c.uptime > 0 {
		m.uptime = c.uptime
	}
}

func set[T any](field, value *T) {
	if value != nil {
		*field = *value
	}
}

// zero returns the time of t=0 if the first start follows after a delay.
func (m *model) zero(delay time.Duration) time.Time {
	if m.first.Known() {
		return m.first.At.Add(-delay)
	}
	return m.rec.Start
}

// podStart is the anchor of a run whose pod has a start time, if the recording does not tell the second of the first start of a container.
const podStart = "StartTime"

// firstStart returns when the run has what m.first is.
func (m *model) firstStart(records []trace.Record) (time.Duration, bool) {
	for i := range records {
		r := &records[i]
		is := r.Kind == trace.Event && r.Reason == m.anchor
		switch m.anchor {
		case "":
			is = r.Kind == trace.ContainerStarted
		case podStart:
			is = r.Kind == trace.PodAdded
		}
		if is && (m.starter == "" || r.Container == m.starter) {
			return r.T.Offset(), true
		}
	}
	return 0, false
}

// newest returns the version that fits the wordings of the recording best.
func newest(w incident.Wording) string {
	names := profile.Names()
	best := names[len(names)-1]
	for _, n := range names {
		var minor int
		fmt.Sscanf(n, "v1.%d.", &minor)
		if w.Since == 0 && w.Before == 0 {
			continue
		}
		if minor >= w.Since && (w.Before == 0 || minor < w.Before) {
			best = n
		}
	}
	if w.Before != 0 {
		var minor int
		if fmt.Sscanf(best, "v1.%d.", &minor); minor >= w.Before {
			best = names[0] // the oldest is the closest
		}
	}
	return best
}
