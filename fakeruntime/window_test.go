package fakeruntime

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"probesim.dev/sim/virtual"
)

// The arithmetic yields the same windows as walking from opening to opening.
func TestWindowArithmetic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rule := Rule{
			Clock: Clock(rapid.IntRange(0, 2).Draw(t, "clock")),
			From:  genDraw(10).Draw(t, "from"),
			For:   rapid.Ptr(genDraw(10), true).Draw(t, "for"),
			Every: rapid.Ptr(genDraw(20), true).Draw(t, "every"),
		}
		k := newKey(rapid.Ptr(rapid.Int64(), true).Draw(t, "seed"))
		s := newSchedule(&rule, k)
		start := virtual.At(genTime(40).Draw(t, "start"))
		s.count(start)
		now, asked := virtual.Time(0), virtual.Time(0)
		for range 20 {
			now += virtual.Time(rapid.Int64Range(0, int64(20*time.Second)).Draw(t, "step"))
			switch rapid.IntRange(0, 2).Draw(t, "where") {
			case 0:
				now = virtual.At(now.Add(grid - 1).Offset().Truncate(grid))
			case 1: // the opening, if it is later than the time asked about last
				if w, _ := walkedWindow(&rule, k, start, now); w.open > asked {
					now = w.open
				}
			}
			asked = now
			got, open := s.at(now)
			want, wantOpen := walkedWindow(&rule, k, start, now)
			if open != wantOpen || open && got != want {
				t.Fatalf("at %v: got %+v %v, want %+v %v", now, got, open, want, wantOpen)
			}
		}
	})
}

// walkedWindow computes a window as docs/format.md describes it.
func walkedWindow(rule *Rule, k key, start, t virtual.Time) (w window, open bool) {
	draw := func(purpose, ordinal int64, d Draw) time.Duration {
		if rule.Clock == AtScenario {
			ordinal = 0 // one value for all openings of the run
		}
		return k.with(purpose).with(ordinal).draw(d)
	}
	w.open = start.Add(k.with(drawFrom).draw(rule.From))
	if t < w.open {
		return w, false
	}
	for rule.Every != nil {
		period := draw(drawEvery, w.ordinal, *rule.Every)
		if rule.Every.Min < minDrawnPeriod && rule.Every.Max > rule.Every.Min && rule.Clock != AtScenario {
			period = rule.Every.Min + (rule.Every.Max-rule.Every.Min)/2
		}
		if period <= 0 || w.open.Add(period) > t {
			break
		}
		w.open = w.open.Add(period)
		w.ordinal++
	}
	w.close = never
	if rule.For != nil {
		w.close = w.open.Add(draw(drawFor, w.ordinal, *rule.For))
	}
	return w, t < w.close
}

// A position steps through a series as if each item were repeated Count times.
func TestSeriesRepeatsItems(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Series{Repeat: rapid.Bool().Draw(t, "repeat")}
		var written []int32
		for i := range rapid.IntRange(1, 5).Draw(t, "items") {
			item := Item{Answer{Code: int32(i)}, rapid.IntRange(1, 4).Draw(t, "count")}
			s.Items = append(s.Items, item)
			for range item.Count {
				written = append(written, item.Answer.Code)
			}
		}
		var p position
		for attempt := range 30 {
			want := written[min(attempt, len(written)-1)]
			if s.Repeat {
				want = written[attempt%len(written)]
			}
			for range rapid.IntRange(1, 3).Draw(t, "tries") {
				if got := p.next(&s, 7, int64(attempt+1)).Code; got != want {
					t.Fatalf("attempt %d: got item %d, want %d", attempt, got, want)
				}
			}
		}
		if got := p.next(&s, 8, 31).Code; got != 0 {
			t.Fatalf("a new opening begins with item %d", got)
		}
	})
}

// A random period after a very long time without requests costs bounded time and keeps the order.
func TestLongWalk(t *testing.T) {
	seed := int64(1)
	every, open := Draw{minDrawnPeriod, 2 * minDrawnPeriod}, Exactly(5*time.Millisecond)
	s := newSchedule(&Rule{Every: &every, For: &open}, newKey(&seed))
	s.count(0)
	const century = virtual.Time(100 * 365 * 24 * time.Hour)
	var last window
	for now := century; now < century.Add(time.Second); now = now.Add(time.Millisecond) {
		w, _ := s.at(now)
		if w.open > now || now.Sub(w.open) > every.Max || w.ordinal < last.ordinal || w.open < last.open {
			t.Fatalf("at %v the opening is %+v, before it was %+v", now, w, last)
		}
		last = w
	}
}

// Windows are the times at which a rule is open while its instance runs.
func TestWindows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rule := Rule{
			Clock: Clock(rapid.IntRange(0, 1).Draw(t, "clock")),
			From:  genDraw(10).Draw(t, "from"),
			For:   rapid.Ptr(genDraw(10), false).Draw(t, "for"),
			Every: rapid.Ptr(genDraw(20), true).Draw(t, "every"),
		}
		k := newKey(rapid.Ptr(rapid.Int64(), true).Draw(t, "seed"))
		start := virtual.At(genTime(40).Draw(t, "start"))
		from := start
		if rule.Clock == AtScenario {
			from = 0
		}
		s := newSchedule(&rule, k)
		s.count(from)
		c := &container{instance: instance{start: start, rules: []activeRule{{schedule: s, number: 1}}}}
		end := start.Add(time.Minute)
		list := c.appendWindows(nil, end)
		if rule.Every != nil && rule.Every.Min < time.Minute/mostWindows {
			return // there may be too many
		}
		step := rapid.Int64Range(1, int64(5*time.Second))
		for at := start; at < end; at = at.Add(time.Duration(step.Draw(t, "step"))) {
			_, want := walkedWindow(&rule, k, from, at)
			got := slices.ContainsFunc(list, func(w Window) bool { return w.From <= at && at < w.To })
			if got != want {
				t.Fatalf("at %v: open is %v, want %v; the windows are %+v", at, got, want, list)
			}
		}
	})
}

// Only rules that depend on the time have windows.
func TestTimedRules(t *testing.T) {
	fail := &Series{Items: []Item{{Answer: Answer{Word: Refuses}}}}
	for want, rules := range map[bool][]Rule{
		true: {{Probes: fail, For: &Draw{}}, {Probes: fail, From: Exactly(time.Second)},
			{Probes: fail, Clock: AtScenario}, {Refuse: true, Clock: AfterSigterm},
			{Exit: &Exit{}, Clock: AtMoment, For: &Draw{}}},
		false: {{Probes: fail}, {Exit: &Exit{}, From: Exactly(time.Second)}, {Exit: &Exit{}, Clock: AfterSigterm}},
	} {
		for i := range rules {
			if got := rules[i].isTimed(); got != want {
				t.Errorf("%+v: %v, want %v", rules[i], got, want)
			}
		}
	}
}

// A rule with too many windows has none.
func TestTooManyWindows(t *testing.T) {
	for every, want := range map[time.Duration]int{time.Minute: 1440, 3 * time.Second: 0} {
		rule := Rule{For: new(Exactly(time.Second)), Every: new(Exactly(every))}
		s := newSchedule(&rule, key{})
		s.count(0)
		c := &container{instance: instance{rules: []activeRule{{schedule: s, number: 1}}}}
		if list := c.appendWindows(nil, virtual.At(24*time.Hour)); len(list) != want {
			t.Errorf("every %s: %d windows, want %d", every, len(list), want)
		}
	}
}
