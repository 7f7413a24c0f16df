package controller_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"probesim.dev/internal/world/controller"
	"probesim.dev/sim"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// A key that is added several times while it waits is processed once, and once more if it is added
// while it is processed.
func TestQueueJoinsKeys(t *testing.T) {
	s := sim.New(sim.Options{})
	defer s.Close()
	var got []string
	q := controller.NewQueue(&controller.Env{Sim: s, Trace: &trace.Recorder{}}, "test",
		func(p *sim.Proc, key string) error {
			got = append(got, fmt.Sprint(p.Now(), " ", key))
			p.Sleep(10 * time.Second)
			return nil
		})
	s.At(0, "add", func() {
		for _, key := range []string{"a", "a", "b", "a"} {
			q.Add(key)
		}
	})
	s.At(virtual.At(time.Second), "add", func() {
		q.Add("b")
		q.Add("b")
	})
	if err := s.RunUntil(virtual.At(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if want := []string{"0s a", "0s b", "10s b"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// At most five keys are processed at once.
func TestQueueHasFiveWorkers(t *testing.T) {
	s := sim.New(sim.Options{})
	defer s.Close()
	busy, most := 0, 0
	q := controller.NewQueue(&controller.Env{Sim: s, Trace: &trace.Recorder{}}, "test",
		func(p *sim.Proc, _ string) error {
			busy++
			most = max(most, busy)
			p.Sleep(time.Second)
			busy--
			return nil
		})
	s.At(0, "add", func() {
		for i := range 12 {
			q.Add(fmt.Sprint(i))
		}
	})
	if err := s.RunUntil(virtual.At(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if most != 5 || busy != 0 {
		t.Errorf("%d keys were processed at once, and %d are left", most, busy)
	}
}

// A key that fails is tried again after 5 ms, 10 ms, 20 ms and so on, up to its number of retries.
func TestQueueBackOff(t *testing.T) {
	s := sim.New(sim.Options{})
	defer s.Close()
	var got []string
	q := controller.NewQueue(&controller.Env{Sim: s, Trace: &trace.Recorder{}}, "test",
		func(p *sim.Proc, _ string) error {
			got = append(got, p.Now().String())
			return errors.New("no")
		})
	q.Retries = 4
	s.At(0, "add", func() { q.Add("a") })
	if err := s.RunUntil(virtual.At(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if want := []string{"0s", "5ms", "15ms", "35ms", "75ms"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Of two delays for a key the earlier one counts. Once it is over, the key can wait again.
func TestQueueDelays(t *testing.T) {
	s := sim.New(sim.Options{})
	defer s.Close()
	var got []string
	q := controller.NewQueue(&controller.Env{Sim: s, Trace: &trace.Recorder{}}, "test",
		func(p *sim.Proc, _ string) error {
			got = append(got, p.Now().String())
			return nil
		})
	s.At(0, "add", func() {
		q.AddAfter("a", 5*time.Second)
		q.AddAfter("a", 2*time.Second)
		q.AddAfter("a", 9*time.Second)
	})
	s.At(virtual.At(3*time.Second), "add", func() { q.AddAfter("a", time.Second) })
	if err := s.RunUntil(virtual.At(time.Minute)); err != nil {
		t.Fatal(err)
	}
	if want := []string{"2s", "4s"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
