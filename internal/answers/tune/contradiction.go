package tune

import (
	"cmp"
	"fmt"
	"slices"

	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/value"
)

// why returns why no setting meets the requirements, in a sentence for each single one that no
// setting meets, or else for each pair of a limit and a time. If there is neither, it takes all
// requirements together.
func (s *subject) why(asked check.Requirements) []string {
	var single, pairs []check.Requirements
	for i, q := range asked {
		single = append(single, check.Requirements{q})
		for _, r := range asked[i+1:] {
			if q.Row.IsLimit() != r.Row.IsLimit() {
				pairs = append(pairs, check.Requirements{q, r})
			}
		}
	}
	for _, sets := range [][]check.Requirements{single, pairs, {asked}} {
		var list []string
		for _, set := range sets {
			if r := s.search(s.implied(set...)).find(); !r.met() {
				list = append(list, s.contradiction(r, set))
			}
		}
		if len(list) > 0 {
			return list
		}
	}
	return nil
}

// contradiction returns why no setting meets some requirements: the closest setting, which keeps
// the limits, has a time that is too long.
func (s *subject) contradiction(closest result, asked check.Requirements) string {
	list, times := sorted(asked)
	limits := len(list)
	slices.SortStableFunc(times, func(a, b check.Requirement) int {
		return -cmp.Compare(s.margin(closest.setting, a), s.margin(closest.setting, b))
	})
	list = append(list, times...)
	last := list[len(list)-1] // which is the farthest away
	m := s.marginOf(closest.setting, last)
	if !closest.limits || m.Margin >= 0 || m.Value.IsNever() {
		return "no setting was found that meets " + together(list)
	}
	best := fmt.Sprintf("%s, which is %s too long", check.FormatUp(m.Value), check.FormatUp(-m.Margin))
	others := "the others"
	switch {
	case limits == 0:
		return fmt.Sprintf("no setting meets %s: the best that was found is %s", together(list), best)
	case len(list) == 2:
		others = "the first"
	}
	return fmt.Sprintf("%s contradict each other: with %s, %s is at best %s", together(list), others, last.Row, best)
}

// together lists requirements for people.
func together(list check.Requirements) string {
	return printable.And(printable.Words(list, check.Requirement.String))
}

func (s *subject) marginOf(x setting, q check.Requirement) Margin {
	return Margin{Requirement: q.String(), Value: s.guaranteed(x, q.Row), Margin: value.Seconds(s.margin(x, q))}
}
