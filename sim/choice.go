package sim

// ChoiceKind says what is chosen.
type ChoiceKind string

const (
	Next       ChoiceKind = "next"       // this timer or process goes first among the enabled
	SelectCase ChoiceKind = "select"     // which of the ready cases of a select
	Preemption ChoiceKind = "preemption" // 1: what is enabled goes first; 2: all else of the instant does
	Order      ChoiceKind = "order"      // which item of a walk without an order comes next
	Race       ChoiceKind = "race"       // how a race ends that is not worth processes of its own
	Jitter     ChoiceKind = "jitter"     // a fraction from 0 to below 1
)

// Choice identifies a decision by what it is about and how often that was decided before, not by its
// place in a list, so that it still means the same in a run that differs elsewhere.
type Choice struct {
	Kind    ChoiceKind
	Key     string // a process, a timer, a preemption point, …
	Ordinal int64  // how many choices of this kind and key came before; for Next: how often Key ran before
}

// Chooser decides. It must be a function of what it is asked, in order, alone.
type Chooser interface {
	// Choose picks one of n alternatives, n at least 2. 0 is the canonical one.
	Choose(c Choice, n int) int
	// Next picks which of the candidates goes first; 0 is the canonical one. The slice is valid only
	// during the call.
	Next(candidates []Choice) int
	// Fraction picks a number from 0 to below 1. 0.5 is the canonical one.
	Fraction(c Choice) float64
}

// choices asks the chooser and counts what it was asked.
type choices struct {
	chooser    Chooser
	asked      map[Choice]int64
	candidates []Choice
}

// identify returns the choice with the ordinal that is its turn.
func (c *choices) identify(kind ChoiceKind, key string) Choice {
	if c.asked == nil {
		c.asked = map[Choice]int64{}
	}
	id := Choice{Kind: kind, Key: key}
	n := c.asked[id]
	c.asked[id] = n + 1
	id.Ordinal = n
	return id
}

func (c *choices) choose(kind ChoiceKind, key string, n int) int {
	return c.chooser.Choose(c.identify(kind, key), n)
}

func (c *choices) next(s *Sim) int {
	c.candidates = c.candidates[:0]
	for i := range s.due.Len() {
		t := s.due.At(i)
		c.candidates = append(c.candidates, Choice{Next, t.name, *t.runs})
	}
	if p := s.next; p != nil {
		c.candidates = append(c.candidates, Choice{Next, p.name, *p.runs})
	}
	for i := range s.ready.Len() {
		p := s.ready.At(i)
		c.candidates = append(c.candidates, Choice{Next, p.name, *p.runs})
	}
	return c.chooser.Next(c.candidates)
}

// Race returns how a race ends, from 0 to n-1; 0 without a chooser.
func (s *Sim) Race(key string, n int) int {
	if s.choices.chooser == nil {
		return 0
	}
	return s.choices.choose(Race, key, n)
}

// Fraction returns a number from 0 to below 1 for a jitter; 0.5 without a chooser.
func (s *Sim) Fraction(key string) float64 {
	if s.choices.chooser == nil {
		return 0.5
	}
	return s.choices.chooser.Fraction(s.choices.identify(Jitter, key))
}

// Shuffle puts items, which are in canonical order, into the order in which a walk without an order
// meets them.
func Shuffle[T any](s *Sim, key string, items []T) {
	if s.choices.chooser == nil {
		return
	}
	for i := range len(items) - 1 {
		k := i + s.choices.choose(Order, key, len(items)-i)
		items[i], items[k] = items[k], items[i]
	}
}
