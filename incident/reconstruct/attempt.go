package reconstruct

import (
	"slices"
	"strings"
	"time"

	"probesim.dev/incident"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/expect"
	"probesim.dev/scenarios/simulate"
	"probesim.dev/trace"
)

// attempt is a run of a model.
type attempt struct {
	text   []byte
	zero   time.Time
	plan   *scenarios.Plan
	run    *simulate.Result
	claims []Claim
	score  int
}

// attempt runs the model as it is.
func (s *search) attempt() (*attempt, error) {
	return s.attemptAt(s.model.zero(s.delay), s.load)
}

// whole runs the best attempt again, from its whole text.
func (s *search) whole() (*attempt, error) { return s.attemptAt(s.best.zero, s.loadText) }

// attemptAt runs the model as it is. The run begins at zero, or another time if it has the first start at another time than recorded.
func (s *search) attemptAt(zero time.Time, load func(*attempt) error) (*attempt, error) {
	m := s.model
	a := &attempt{zero: zero}
	for range 2 { // the first run tells how long the first start takes
		if err := load(a); err != nil {
			return nil, err
		}
		a.run = simulate.Run(s.ctx, a.plan, simulate.Options{})
		s.tried++
		s.left--
		s.spent += work(a.text, a.run.Records)
		if s.progress != nil {
			s.progress(min(max(s.spent/(s.effort/100+1), 100*s.tried/s.runs), 99))
		}
		if a.run.Err != nil {
			return nil, a.run.Err
		}
		delay, started := m.firstStart(a.run.Records)
		if !started || (delay-s.delay).Abs() < time.Microsecond || !m.first.Known() {
			break
		}
		s.delay = delay
		a.zero = m.zero(delay)
	}
	for i := range a.claims {
		r := a.run.Results[i]
		a.claims[i].Holds = r.Outcome == expect.Held
		if a.claims[i].Holds {
			a.score += 1000
		} else if len(r.Failures) > 0 {
			a.claims[i].Reason = r.Failures[0].Got
		}
	}
	a.score += m.closeness(a) - m.deviation(a)
	if m.grace != nil && (m.pod.Object == nil || m.pod.Object.DeletionGracePeriodSeconds == nil) {
		a.score -= 100 // it is more likely that of the pod
	}
	for _, p := range m.parts {
		a.score -= 20 * min(len(p.rules), 20) // few rules explain more than many
	}
	return a, nil
}

// load loads the scenario of an attempt. The manifest, and expectations that it knows from an earlier attempt, are not loaded again, which
// would take most of the time of a search.
func (s *search) load(a *attempt) error {
	m := s.model
	c := s.claimsAt(a.zero)
	expect, known := s.expect[c.key]
	if !known {
		if err := s.loadText(a); err != nil {
			return err
		}
		s.expect[expectations(a.claims)] = a.plan.Scenario.Spec.Expect
		return nil
	}
	a.claims = slices.Clone(c.list)
	a.text = m.brief(a.zero)
	loaded, err := s.loadBrief(a.text)
	if err != nil {
		return err
	}
	loaded[0].Spec.Expect = expect
	a.plan = loaded[0].Plan(m.version, nil)
	return nil
}

// loadBrief loads a scenario without its manifest.
func (s *search) loadBrief(text []byte) ([]*scenarios.Scenario, error) {
	if s.manifests == nil {
		manifests, err := scenarios.ReadManifests("incident.yaml", []byte(s.model.manifestLines()))
		if err != nil {
			return nil, err
		}
		s.manifests = manifests
	}
	loaded, err := s.manifests.LoadBytes("incident.yaml", text)
	if err != nil {
		s.manifests = nil
	}
	return loaded, err
}

// claimed has the claims of a run, and their expectations as one text.
type claimed struct {
	list   []Claim
	beyond []Claim
	key    string
}

// claimsOf is what the claims of a run depend on besides the recording.
type claimsOf struct {
	zero, first   time.Time
	since, longer time.Duration
	retries       bool
	rejected      int
}

// claimsAt returns the claims of a run whose t=0 is zero.
func (s *search) claimsAt(zero time.Time) claimed {
	m := s.model
	of := claimsOf{zero, m.first.At, m.since, m.longer, m.retries, len(m.rejected)}
	c, known := s.claims[of]
	if !known {
		c.list = m.claims(zero)
		c.beyond, c.key = m.beyond, expectations(c.list)
		s.claims[of] = c
	}
	m.beyond = c.beyond
	return c
}

// loadText loads the whole file of an attempt.
func (s *search) loadText(a *attempt) error {
	m := s.model
	a.claims = m.claims(a.zero)
	a.text = m.text(a)
	loaded, err := scenarios.LoadBytes("incident.yaml", a.text, nil)
	if m.reject(a, err) { // expectations that no run can meet
		a.claims = m.claims(a.zero)
		a.text = m.text(a)
		loaded, err = scenarios.LoadBytes("incident.yaml", a.text, nil)
	}
	if err != nil {
		return err
	}
	a.plan = loaded[0].Plan(m.version, nil)
	return nil
}

// expectations returns the expectations of claims as one text.
func expectations(claims []Claim) string {
	var b strings.Builder
	for _, c := range claims {
		b.WriteString(c.expect + "\n")
	}
	return b.String()
}

// reject remembers the claims of an attempt that the loader rejects: no run of this manifest can meet them. It reports whether there
// are any.
func (m *model) reject(a *attempt, err error) bool {
	list, _ := err.(scenarios.Errors)
	if len(list) == 0 {
		return false
	}
	lines := map[string]*Claim{}
	for i := range a.claims {
		lines["  - {"+a.claims[i].expect+"}"] = &a.claims[i]
	}
	text := strings.Split(string(a.text), "\n")
	found := false
	for _, e := range list {
		if e.Line < 1 || e.Line > len(text) {
			continue
		}
		if c := lines[text[e.Line-1]]; c != nil {
			m.rejected[claimKey{c.Fact, c.Says}] = e.Text()
			found = true
		}
	}
	return found
}

// claimKey identifies a claim in all attempts.
type claimKey struct {
	fact *incident.Fact
	says string
}

// deviation returns the mean difference between the exact times of the recording and those of the run, up to 900 for a second.
func (m *model) deviation(a *attempt) int {
	var sum time.Duration
	list := m.differences(a.run.Records, a.zero)
	for _, d := range list {
		sum += d
	}
	return int(sum / time.Duration(max(len(list), 1)) * 900 / time.Second)
}

// differences returns, for each event whose first time is recorded exactly, the difference to the closest such event of a run, up to a
// second.
func (m *model) differences(records []trace.Record, zero time.Time) []time.Duration {
	var list []time.Duration
	for _, f := range m.pod.Facts {
		if f.Kind != incident.Event || f.When.Within > time.Millisecond || !f.When.Known() || f.Container == "" {
			continue
		}
		want := f.When.At.Sub(zero)
		least := time.Second
		for i := range records {
			r := &records[i]
			if r.Kind == trace.Event && r.Container == f.Container && r.Reason == f.Reason && sameEvent(f, r.Message) {
				least = min(least, (r.T.Offset() - want).Abs())
			}
		}
		list = append(list, least)
	}
	return list
}

// closeness returns up to 100 for each type of event of a container, depending on how close its number in the run is to the recorded
// one. So the search goes on where no step alone meets an expectation.
func (m *model) closeness(a *attempt) int {
	type key struct{ container, what string }
	keyOf := func(container, reason, message string) key {
		return key{container, reason + string(incident.ParseUnhealthy(message).Probe)}
	}
	run := map[key]int{}
	for i := range a.run.Records {
		switch r := &a.run.Records[i]; r.Kind {
		case trace.Event:
			run[keyOf(r.Container, r.Reason, r.Message)]++
		case trace.ProbeExecuted:
			run[key{r.Container, "run " + string(r.Probe) + string(r.Result)}]++
		}
	}
	recorded := map[key]int{}
	var keys []key
	add := func(k key, n int) {
		if recorded[k] == 0 {
			keys = append(keys, k)
		}
		recorded[k] += n
	}
	for _, f := range m.pod.Facts {
		switch {
		case f.Kind == incident.Event && f.Container != "":
			add(keyOf(f.Container, f.Reason, f.Message), f.Count)
		case f.Kind == incident.ProbeRun:
			add(key{f.Container, "run " + string(f.Probe) + string(f.Result)}, 1)
		}
	}
	sum := 0
	for _, k := range keys {
		n := recorded[k]
		sum += max(0, 100-100*max(n-run[k], run[k]-n)/max(n, 1))
	}
	return sum
}

// sameEvent reports whether an event of a run is of the same type as a recorded one, whatever its words.
func sameEvent(f *incident.Fact, message string) bool {
	switch f.Reason {
	case "Unhealthy", "ProbeWarning":
		return incident.ParseUnhealthy(f.Message).Probe == incident.ParseUnhealthy(message).Probe
	case "Killing":
		return incident.ParseKilling(f.Message) == incident.ParseKilling(message)
	}
	return true
}
