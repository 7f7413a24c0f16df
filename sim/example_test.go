package sim_test

import (
	"fmt"
	"time"

	"probesim.dev/sim"
	"probesim.dev/sim/choose"
	"probesim.dev/sim/virtual"
)

// A worker waits for ticks and for a message. The run covers an hour of virtual time and takes
// almost no real time.
func Example() {
	s := sim.New(sim.Options{})
	defer s.Close()
	ticker := s.NewTicker("ticker", 20*time.Minute)
	messages := sim.NewChan[string](s, "messages", 1)
	s.Go("worker", func(p *sim.Proc) {
		cases := []sim.Case{
			sim.OnTick(ticker, func(p *sim.Proc) { fmt.Println(p.Now(), "tick") }),
			sim.On(messages, func(p *sim.Proc, m string) { fmt.Println(p.Now(), m) }),
		}
		for {
			p.Select(cases...)
		}
	})
	s.Go("sender", func(p *sim.Proc) {
		p.Sleep(30 * time.Minute)
		messages.Send(p, "hello")
	})
	if err := s.RunUntil(virtual.At(time.Hour)); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 20m0s tick
	// 30m0s hello
	// 40m0s tick
	// 1h0m0s tick
}

// Two processes run at the same instant. Without a chooser the order is canonical; a seed draws an
// order, and the same seed draws the same order again.
func ExampleOptions_chooser() {
	run := func(c choose.Chooser) (order string) {
		s := sim.New(sim.Options{Chooser: c})
		defer s.Close()
		for _, name := range []string{"a", "b"} {
			s.Go(name, func(*sim.Proc) { order += name })
		}
		if err := s.RunUntil(0); err != nil {
			return err.Error()
		}
		return order
	}
	fmt.Println("canonical:", run(nil))
	orders := map[string]bool{}
	for seed := range choose.Seeded(20) {
		orders[run(seed)] = true
	}
	fmt.Println("20 seeds:", len(orders), "orders")
	first, second := run(choose.Seeded(7)), run(choose.Seeded(7))
	fmt.Println("repeatable:", first == second)
	// Output:
	// canonical: ab
	// 20 seeds: 2 orders
	// repeatable: true
}
