package sim_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"probesim.dev/sim"
)

// TestTurns: a process that takes turns does what one does that selects, whoever chooses.
func TestTurns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, o := programs.Draw(t, "program"), sim.Options{Chooser: anyChooser.Draw(t, "chooser")}
		selects := start(t, p, o).end()
		defer selects.Close()
		p.Turns = true
		turns := start(t, p, o).end()
		defer turns.Close()
		if diff := cmp.Diff(selects.notes, turns.notes); diff != "" || selects.Events() != turns.Events() {
			t.Errorf("%d and %d events (-selects +turns):\n%s", selects.Events(), turns.Events(), diff)
		}
	})
}

// turns returns the turns of a process that does this. It waits for the same channels in the same slice.
func (r *run) turns(i int, ops []op) func(*sim.Proc, int) []sim.Case {
	k, order, since := 0, 0, time.Duration(0)
	known := map[string][]sim.Case{}
	return func(p *sim.Proc, index int) []sim.Case {
		if index >= 0 {
			r.receive(p, ops[k], order, since, index, r.chans[ops[k].Chans[index]].Got())
			k++
		}
		for ; k < len(ops); k++ {
			r.waits[i] = &ops[k]
			if ops[k].Kind == "recv" || ops[k].Kind == "select" {
				order, since = len(r.notes), p.Now()
				key := fmt.Sprint(ops[k].Chans)
				if known[key] == nil {
					known[key] = r.cases(ops[k])
				}
				return known[key]
			}
			r.do(p, ops[k])
		}
		r.waits[i], r.done[i] = nil, true
		return nil
	}
}

// A process between turns ends with its group, and nothing wakes it up any more.
func TestGroupEndsBetweenTurns(t *testing.T) {
	s := sim.New(sim.Options{})
	c, group, turns := sim.NewChan[int](s, "c", 2), &sim.Group{}, 0
	s.In(group, func() {
		s.Serve("p", func(*sim.Proc, int) []sim.Case {
			turns++
			return []sim.Case{c}
		})
	})
	s.At(time.Second, "send", func() { c.TrySend(1) })
	s.At(2*time.Second, "end", func() { s.End(group) })
	s.At(3*time.Second, "send to nobody", func() { c.TrySend(2) })
	run1(t, s, time.Minute)
	if turns != 2 {
		t.Errorf("%d turns, want the first and that of the value sent before the end", turns)
	}
}
