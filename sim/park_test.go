package sim_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"probesim.dev/sim"
)

// ParkWhile asks at each wake-up, without a switch to the process, and waits on while it is idle.
func TestParkWhile(t *testing.T) {
	var got []string
	s := sim.New(sim.Options{})
	s.Go("p", func(p *sim.Proc) {
		p.WakeAt(time.Second)
		p.ParkWhile(func() bool {
			got = append(got, fmt.Sprint("asked at ", p.Now()))
			p.WakeAt(p.Now() + time.Second)
			return p.Now() < 3*time.Second
		})
		got = append(got, fmt.Sprint("back at ", p.Now()))
		p.Park() // the wake-up that was set last
		got = append(got, fmt.Sprint("woken at ", p.Now()))
	})
	run1(t, s, time.Minute)
	want := []string{"asked at 1s", "asked at 2s", "asked at 3s", "back at 3s", "woken at 4s"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Interrupt ends the wait at once, and the wake-up that was due later does not come.
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
			messages := sim.NewChan[time.Duration](s, "messages", 1)
			waiter := s.Go("waiter", func(p *sim.Proc) {
				p.WakeAt(time.Second)
				p.ParkWhile(func() bool { t.Error("asked although it was interrupted"); return true })
				got = append(got, fmt.Sprint("back at ", p.Now()))
				got = append(got, fmt.Sprint("received ", messages.Recv(p)))
			})
			s.Go("other", func(p *sim.Proc) {
				p.Sleep(c.at)
				waiter.Interrupt()
				p.Sleep(2*time.Second - c.at)
				messages.Send(p, p.Now())
			})
			run1(t, s, time.Minute)
			if fmt.Sprint(got) != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}
