package sim_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"probesim.dev/sim"
	"probesim.dev/sim/virtual"
)

// A process that serves behaves like one that calls Select, with any chooser.
func TestServeBehavesLikeSelect(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, o := programs.Draw(t, "program"), sim.Options{Chooser: anyChooser.Draw(t, "chooser")}
		selects := start(t, p, o).end()
		defer selects.Close()
		p.Serves = true
		serves := start(t, p, o).end()
		defer serves.Close()
		if diff := cmp.Diff(selects.notes, serves.notes); diff != "" || selects.Events() != serves.Events() {
			t.Errorf("%d and %d events (-selects +serves):\n%s", selects.Events(), serves.Events(), diff)
		}
	})
}

// server returns the start of a process that performs the ops and receives through Serve. It uses
// the same slice of cases whenever it waits for the same channels.
func (r *run) server(i int, ops []op) func(*sim.Proc) {
	k, order, since := 0, 0, virtual.Time(0)
	cases := map[string][]sim.Case{}
	var resume func(*sim.Proc)
	received := func(p *sim.Proc, index, v int) {
		r.receive(p, ops[k], order, since, index, v)
		k++
		resume(p)
	}
	resume = func(p *sim.Proc) {
		for ; k < len(ops); k++ {
			r.waits[i] = &ops[k]
			if ops[k].Kind == "recv" || ops[k].Kind == "select" {
				order, since = len(r.notes), p.Now()
				key := fmt.Sprint(ops[k].Chans)
				if cases[key] == nil {
					cases[key] = r.cases(ops[k], received)
				}
				p.Serve(cases[key]...)
				return
			}
			r.do(p, ops[k])
		}
		r.waits[i], r.done[i] = nil, true
		p.Exit()
	}
	return resume
}

// A process that waits in Serve ends with its group, and a later send does not wake it.
func TestGroupEndsServingProcess(t *testing.T) {
	s := sim.New(sim.Options{})
	c, group := sim.NewChan[int](s, "c", 2), &sim.Group{}
	var got []int
	s.In(group, func() {
		s.Go("p", func(p *sim.Proc) {
			p.Serve(sim.On(c, func(_ *sim.Proc, v int) { got = append(got, v) }))
		})
	})
	s.At(virtual.At(time.Second), "send", func() { c.TrySend(1) })
	s.At(virtual.At(2*time.Second), "end", func() { s.End(group) })
	s.At(virtual.At(3*time.Second), "send to nobody", func() { c.TrySend(2) })
	runAndClose(t, s, time.Minute)
	if want := "[1]"; fmt.Sprint(got) != want {
		t.Errorf("received %v, want %s: only the value sent before the end", got, want)
	}
}

// While a handler waits, another process can take over the channels of its process, with the values
// that wait in them.
func TestReleasedChannelsGoToAnotherProcess(t *testing.T) {
	s := sim.New(sim.Options{})
	c := sim.NewChan[int](s, "c", 2)
	var got []string
	serve := func(name string, wait time.Duration) *sim.Proc {
		return s.Go(name, func(p *sim.Proc) {
			p.Serve(sim.On(c, func(p *sim.Proc, v int) {
				got = append(got, fmt.Sprint(name, v))
				p.Sleep(wait)
				if wait > 0 {
					p.Exit()
				}
			}))
		})
	}
	first := serve("first", time.Minute)
	s.At(virtual.At(time.Second), "send", func() { c.TrySend(1) })
	s.At(virtual.At(2*time.Second), "send", func() { c.TrySend(2) })
	s.At(virtual.At(3*time.Second), "take over", func() { first.Release(); serve("second", 0) })
	s.At(virtual.At(4*time.Second), "send", func() { c.TrySend(3) })
	s.At(virtual.At(2*time.Minute), "send", func() { c.TrySend(4) })
	runAndClose(t, s, time.Hour)
	if want := "[first1 second2 second3 second4]"; fmt.Sprint(got) != want {
		t.Errorf("received %v, want %s", got, want)
	}
}

// A handler may wait for a channel. This does not affect the cases that the process serves.
func TestHandlerMayWait(t *testing.T) {
	for name, serve := range map[string]func(*sim.Proc, []sim.Case){
		"Serve": func(p *sim.Proc, cases []sim.Case) { p.Serve(cases...) },
		"Select": func(p *sim.Proc, cases []sim.Case) {
			for {
				p.Select(cases...)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := sim.New(sim.Options{})
			requests, replies := sim.NewChan[int](s, "requests", 3), sim.NewChan[int](s, "replies", 1)
			var got []string
			s.Go("server", func(p *sim.Proc) {
				serve(p, []sim.Case{sim.On(requests, func(p *sim.Proc, v int) {
					got = append(got, fmt.Sprint("request ", v, ", reply ", replies.Recv(p), " at ", p.Now()))
				})})
			})
			for i := range 3 {
				s.At(0, "request", func() { requests.TrySend(i) })
				s.At(virtual.At(time.Duration(i+1)*time.Second), "reply", func() { replies.TrySend(10 * i) })
			}
			runAndClose(t, s, time.Minute)
			want := []string{"request 0, reply 0 at 1s", "request 1, reply 10 at 2s", "request 2, reply 20 at 3s"}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
