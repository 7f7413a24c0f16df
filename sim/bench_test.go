package sim_test

import (
	"testing"
	"time"

	"probesim.dev/sim"
)

func BenchmarkTicker(b *testing.B) {
	s := sim.New(sim.Options{})
	t := s.NewTicker("t", time.Second)
	n := 0
	s.Go("p", func(p *sim.Proc) {
		cases := []sim.Case{sim.OnTick(t, func(*sim.Proc) { n++ })}
		for {
			p.Select(cases...)
		}
	})
	b.ReportAllocs()
	s.RunUntil(time.Duration(b.N) * time.Second)
	if n != b.N {
		b.Fatal(n)
	}
}

func BenchmarkSleep(b *testing.B) {
	s := sim.New(sim.Options{})
	s.Go("p", func(p *sim.Proc) {
		for {
			p.Sleep(time.Second)
		}
	})
	b.ReportAllocs()
	s.RunUntil(time.Duration(b.N) * time.Second)
}

func BenchmarkTimer(b *testing.B) {
	s := sim.New(sim.Options{})
	var t *sim.Timer
	t = s.NewTimer("t", func() { s.Set(t, s.Now()+time.Second) })
	s.Set(t, 0)
	b.ReportAllocs()
	s.RunUntil(time.Duration(b.N) * time.Second)
}
