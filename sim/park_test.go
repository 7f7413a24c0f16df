package sim_test

import (
	"fmt"
	"testing"
	"time"

	"probesim.dev/sim"
	"probesim.dev/sim/virtual"
)

// Interrupt ends the wait immediately and cancels the wake-up that was due later.
func TestInterrupt(t *testing.T) {
	for _, c := range []struct {
		name string
		at   time.Duration
		want string
	}{
		{"before the wake-up", 400 * time.Millisecond, "[back at 400ms received 2s]"},
		{"at the instant of the wake-up", time.Second, "[back at 1s received 2s]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			s := sim.New(sim.Options{})
			messages := sim.NewChan[virtual.Time](s, "messages", 1)
			waiter := s.Go("waiter", func(p *sim.Proc) {
				p.WakeAt(virtual.At(time.Second))
				p.Park()
				got = append(got, fmt.Sprint("back at ", p.Now()))
				got = append(got, fmt.Sprint("received ", messages.Recv(p)))
			})
			s.Go("other", func(p *sim.Proc) {
				p.Sleep(c.at)
				waiter.Interrupt()
				p.Sleep(2*time.Second - c.at)
				messages.Send(p, p.Now())
			})
			runAndClose(t, s, time.Minute)
			if fmt.Sprint(got) != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}
