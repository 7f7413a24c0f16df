package reconstruct

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"probesim.dev/internal/value"
)

// merge makes one rule of rules that let instances which follow each other do the same at about the same time. A repair writes a rule for
// each instance, but programs are more likely to do the same each time, and a person reads fewer rules with less effort.
func (s *search) merge() error {
	for _, p := range s.model.parts {
		for i := 0; i < len(p.rules); i++ {
			for j := i + 1; j < len(p.rules) && s.spent <= s.limit; j++ {
				merged, can := s.merged(p.container, p.rules[i].text, p.rules[j].text)
				if !can {
					continue
				}
				before := p.rules
				p.rules = slices.Delete(slices.Clone(before), j, j+1)
				p.rules[i] = rule{merged, joined(before[i].comment, before[j].comment)}
				kept, err := s.keep()
				if err != nil {
					return err
				}
				if kept {
					j--
					continue
				}
				p.rules = before
			}
		}
	}
	return nil
}

// prune removes the rules, the hidden steps and the syncFrequency without which the run explains as much and is as close to the recording: other rules explain the same.
func (s *search) prune() error {
	without := func(p *part, remove func()) error {
		if s.spent > s.limit {
			return nil
		}
		before, best := *p, s.best
		remove()
		kept, err := s.keep()
		if !kept || s.best.score < best.score {
			*p, s.best = before, best
		}
		return err
	}
	for _, p := range s.model.parts {
		for i := len(p.rules) - 1; i >= 0; i-- {
			if err := without(p, func() { p.rules = slices.Delete(slices.Clone(p.rules), i, i+1) }); err != nil {
				return err
			}
		}
	}
	if resync := s.model.resync; resync > 0 {
		best := s.best
		s.model.resync = 0
		kept, err := s.keep()
		if err != nil {
			return err
		}
		if !kept || s.best.score < best.score {
			s.model.resync, s.best = resync, best
		}
	}
	p := s.model.part("", hidden)
	for i := len(p.steps) - 1; i >= 0; i-- {
		if err := without(p, func() { p.steps = slices.Delete(slices.Clone(p.steps), i, i+1) }); err != nil {
			return err
		}
	}
	return nil
}

// joined returns two comments as one.
func joined(a, b string) string {
	if strings.Contains(a, b) {
		return a
	}
	return a + " " + b
}

// merged returns a rule that does what two rules do in instances that follow each other.
func (s *search) merged(container, a, b string) (string, bool) {
	if x, is := parseWindow(a); is {
		y, is := parseWindow(b)
		if !is || x.probe != y.probe || x.word != y.word || x.ends != y.ends || x.clock == "at" || y.clock == "at" || x.last+1 != y.first {
			return "", false
		}
		open, ended := x.open, interval{x.open.middle() + x.length.from, x.open.middle() + x.length.to}
		both := interval{min(x.open.from, y.open.from), max(x.open.to, y.open.to)}
		other := interval{y.open.middle() + y.length.from, y.open.middle() + y.length.to}
		all := interval{min(ended.from, other.from), max(ended.to, other.to)}
		open.narrow(y.open.from, y.open.to)
		ended.narrow(other.from, other.to)
		if open.empty() || ended.empty() {
			return "", false
		}
		x.last, x.clock = s.lastOf(container, y.last), "after"
		if x.open, ended = open.around(both), ended.around(all); !x.open.covers(both) || !ended.covers(all) {
			return "", false
		}
		x.length = interval{ended.from - x.open.middle(), ended.to - x.open.middle()}
		return x.String(), true
	}
	x, is := parseExit(a)
	y, also := parseExit(b)
	if !is || !also || x.code != y.code || x.last+1 != y.first {
		return "", false
	}
	x.after = interval{min(x.after.from, y.after.from), max(x.after.to, y.after.to)}
	if x.after.to-x.after.from > alike {
		return "", false
	}
	x.last = s.lastOf(container, y.last)
	return x.String(), true
}

// alike is the greatest difference between lives that count as equally long: the times of ends are truncated to seconds.
const alike = 2 * time.Second

// lastOf returns allInstances for the last instance in the best run so far, or else the instance.
func (s *search) lastOf(container string, number int) int {
	if number+1 >= len(s.starts(container)) {
		return allInstances
	}
	return number
}

// exitRule is a rule by which instances exit some time after their starts.
type exitRule struct {
	first, last int
	after       interval
	code        int
}

var exits = regexp.MustCompile(`^instance: (\d*)(\.\.)?(\d*), after: (\S+), exit: (\d+)$`)

func parseExit(text string) (exitRule, bool) {
	m := exits.FindStringSubmatch(text)
	if m == nil {
		return exitRule{}, false
	}
	var r exitRule
	r.first, r.last = parseInstances(m[1], m[2], m[3])
	r.code, _ = strconv.Atoi(m[5])
	var err error
	r.after, err = parseInterval(m[4])
	return r, err == nil
}

// String returns the text of the rule.
func (r exitRule) String() string {
	after := value.Format(r.after.from)
	if r.after.to > r.after.from {
		after = between(r.after.from, r.after.to)
	}
	return fmt.Sprintf("%safter: %s, exit: %d", instances(r.first, r.last), after, r.code)
}
