package bounds_test

import (
	"flag"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/answers/bounds"
	"probesim.dev/scenarios/format"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

var (
	only    = flag.String("only", "", "the only figure to prove")
	samples = flag.Int("samples", map[bool]int{false: 30, true: 150}[long],
		"the number of runs of each drawn container")
	far = flag.Duration("far", time.Hour, "describe the ends that are farther from the closest run")
)

// rounding is how far a run can pass an end because the middle of a delay is rounded.
const rounding = time.Microsecond

// No run of a drawn container passes an end of a figure. Half of the runs are drawn evenly, the
// others close to those that come closest. The test logs how far the ends are from the closest
// runs, which are not as close as those of a longer search.
func TestNoRunPassesAnEnd(t *testing.T) {
	figures := allFigures()
	if *only != "" {
		figures = slices.DeleteFunc(figures, func(f figure) bool { return f.name != *only })
	}
	for _, o := range sorts {
		t.Run(o.name, func(t *testing.T) {
			d := distances{}
			rapid.Check(t, func(r *rapid.T) {
				f := rapid.SampledFrom(figures).Draw(r, "figure")
				s := o.drawSubject(r, f.needs)
				p := f.prover(s, int64(rapid.Uint32().Draw(r, "seed")))
				if bad := p.run(*samples); bad != "" {
					r.Errorf("%s", bad)
				}
				d.add(p, t)
			})
			d.log(t)
		})
	}
}

// No run on the middle node passes an end of the time to recover by more than a wait for a relist,
// which the figure leaves out.
func TestNoRunPassesTheTimeToRecover(t *testing.T) {
	d := distances{}
	rapid.Check(t, func(r *rapid.T) {
		f := recovered(rapid.SampledFrom([]time.Duration{0, 0, 3 * time.Second, 20 * time.Second}).Draw(r, "start"))
		s := sort{usual: true, typical: true}.drawSubject(r, f.needs)
		p := f.prover(s, int64(rapid.Uint32().Draw(r, "seed")))
		p.over = 1200 * time.Millisecond
		if bad := p.run(*samples / 4); bad != "" {
			r.Errorf("%s", bad)
		}
		p.f.name = "recovered"
		d.add(p, t)
	})
	for i, which := range []string{"least", "greatest"} {
		if all := d["recovered"][i]; len(all) > 0 {
			slices.Sort(all)
			t.Logf("%d containers, from the %s end to the closest run: half %v, nine of ten %v, all %v", len(all),
				which, all[len(all)/2], all[len(all)*9/10], all[len(all)-1])
		}
	}
}

// figure is a figure with its name and its range.
type figure struct {
	Figure
	name    string
	needs   trace.Probe // a probe without which a container does not have it
	of      func(*bounds.Container) bounds.Range
	draw    func(*Subject, *Phases) (Case, bool) // nil: that of the Figure
	measure func(*Subject, *Case) (Measured, error)
}

// start is how long a start may take.
func start(which bounds.StartCase) figure {
	f := figure{Figure: Figure{Start: which, Outcome: Stopped, Limit: true}, name: string(which), needs: trace.Liveness}
	if which == bounds.AfterStartupKill {
		f.needs = trace.Startup
	}
	f.of = func(b *bounds.Container) bounds.Range { return b.Start(which) }
	return f
}

// survives and staysReady are how long a misfortune may last without a stop, and while the
// container stays ready.
func survives(m bounds.Misfortune) figure {
	return figure{Figure: Figure{Misfortune: m, Outcome: Stopped, Limit: true}, name: "survives " + string(m),
		needs: trace.Liveness,
		of:    func(b *bounds.Container) bounds.Range { return b.Survives(m) }}
}

func staysReady(m bounds.Misfortune) figure {
	return figure{Figure: Figure{Misfortune: m, Outcome: Unready, Limit: true}, name: "stays ready " + string(m),
		needs: trace.Readiness,
		of:    func(b *bounds.Container) bounds.Range { return b.StaysReady(m) }}
}

// untilStopped and untilUnready are the times from a misfortune until the stop signal, and until
// the status is not ready.
func untilStopped(m bounds.Misfortune) figure {
	return figure{Figure: Figure{Misfortune: m, Outcome: Stopped}, name: "until stopped " + string(m),
		needs: trace.Liveness,
		of:    func(b *bounds.Container) bounds.Range { return b.UntilStopped(m) }}
}

func untilUnready(m bounds.Misfortune) figure {
	return figure{Figure: Figure{Misfortune: m, Outcome: Unready}, name: "until unready " + string(m),
		needs: trace.Readiness,
		of:    func(b *bounds.Container) bounds.Range { return b.UntilUnready(m) }}
}

// untilReady is the time from up until ready.
func untilReady(atOnce, young bool) figure {
	f := figure{Figure: Figure{AtOnce: atOnce, Young: young, Outcome: Ready},
		name: fmt.Sprintf("until ready, at once %v", atOnce)}
	if young {
		f.name = fmt.Sprintf("until ready on a young kubelet, at once %v", atOnce)
	}
	f.of = func(b *bounds.Container) bounds.Range { return bounds.Range{Greatest: b.UntilReady(atOnce)} }
	return f
}

// tolerates is how long the answers to a probe may take. A run of a probe is a run of the figure;
// its answers take a drawn time.
func tolerates(of trace.Probe) figure {
	return figure{name: "tolerates, " + string(of), needs: of,
		of: func(b *bounds.Container) bounds.Range { return b.Tolerates(of) },
		draw: func(s *Subject, p *Phases) (Case, bool) {
			up, probe := Figure{AtOnce: true}, s.Bounds.Probe(of)
			c, _ := up.Draw(s, p)
			c.Event = time.Duration(probe.TimeoutSeconds)*time.Second + time.Duration(c.Seed%21-10)*time.Millisecond
			rule := format.RuleText{}
			rule.Answer(string(of), "ok in "+c.Event.String())
			c.Rules = []format.RuleText{rule}
			return c, probe.TCPSocket == nil
		},
		measure: func(s *Subject, c *Case) (Measured, error) {
			h, err := s.Run(c, time.Hour, func(r *trace.Record) bool {
				return r.Kind == trace.ProbeExecuted && r.Container == s.Container && r.Probe == of
			})
			if err != nil {
				return Measured{}, err
			}
			// An answer that is in time shows that the limit is not below it, one that is late
			// shows that it is not above.
			limit := s.Bounds.Tolerates(of)
			if ok := h[len(h)-1].Result == trace.Success; ok != (c.Event < limit.Least) {
				return Measured{Value: c.Event + map[bool]time.Duration{true: time.Hour, false: -time.Hour}[ok]}, nil
			}
			return Measured{Value: limit.Least}, nil
		},
	}
}

// readyUnasked is the time from the start of a container without a startup and a readiness probe
// until it is ready.
func readyUnasked() figure {
	return figure{Figure: Figure{AtOnce: true, Outcome: Ready}, name: "ready unasked", needs: onlyLiveness,
		of: (*bounds.Container).ReadyUnasked,
		draw: func(s *Subject, p *Phases) (Case, bool) {
			f := Figure{AtOnce: true}
			return f.Draw(s, p)
		},
		measure: func(s *Subject, c *Case) (Measured, error) {
			started := virtual.Time(0)
			h, err := s.Run(c, time.Hour, func(r *trace.Record) bool {
				if r.Kind == trace.ContainerStarted && r.Container == s.Container {
					started = r.T
				}
				return Ready.Shows(s, r)
			})
			if err != nil {
				return Measured{}, err
			}
			at := h[len(h)-1].T
			return Measured{Value: at.Sub(started), Outcome: at.Offset()}, nil
		},
	}
}

// prover returns a prover of the figure of a container.
func (f figure) prover(s *Subject, seed int64) *prover {
	p := &prover{f: f, s: s, want: f.of(s.Bounds), seed: seed}
	if p.f.Most = p.want.Greatest; p.f.Most == bounds.Never {
		p.f.Most = p.want.Least
	}
	if f.draw == nil {
		p.f.draw, p.f.measure = p.f.Draw, p.f.Measure
	}
	return p
}

// allFigures returns the figures of all rows in all cases, and those that no row has.
func allFigures() []figure {
	var list []figure
	for _, c := range []bounds.StartCase{
		bounds.FirstInstance, bounds.YoungKubelet, bounds.AfterLivenessKill, bounds.AfterStartupKill, bounds.AfterCrash,
		bounds.AfterCrashWhileStarting,
	} {
		list = append(list, start(c))
	}
	for _, m := range []bounds.Misfortune{bounds.Hang, bounds.Stall, bounds.Slow, bounds.Refuse, bounds.Fail} {
		list = append(list, survives(m), staysReady(m), untilStopped(m), untilUnready(m))
	}
	return append(list, tolerates(trace.Liveness), tolerates(trace.Readiness), readyUnasked(), untilReady(true, false),
		untilReady(true, true), untilReady(false, false), untilReady(false, true))
}

// prover draws runs of one container.
type prover struct {
	f    figure
	s    *Subject
	want bounds.Range
	seed int64
	over time.Duration // how far a run may pass an end
	runs int
	ends [2]end // the runs that come closest to the least and to the greatest value
}

// end is the run that comes closest to an end.
type end struct {
	phases *Phases
	shown  time.Duration
	c      Case
}

// run draws some runs. It describes the first one that passes an end.
func (p *prover) run(samples int) string {
	for i := range int64(samples) {
		phases := NewPhases(p.seed*1_000_003 + i)
		if e := &p.ends[i%2]; i > int64(samples)/2 && e.phases != nil {
			phases = e.phases.Near(p.seed + i)
		}
		c, ok := p.f.draw(p.s, phases)
		if !ok {
			continue
		}
		m, err := p.f.measure(p.s, &c)
		if err != nil {
			continue
		}
		p.runs++
		over := p.over + rounding
		if m.Value < p.want.Least-over || m.Value > p.want.Greatest+over && p.want.Greatest != bounds.Never {
			return fmt.Sprintf("%s: a run shows %v, and the ends are %v to %v\n%s\n%s", p.f.name, m.Value, p.want.Least,
				p.want.Greatest, show(p.s), showCase(c))
		}
		if e := &p.ends[0]; e.phases == nil || m.Value < e.shown {
			*e = end{phases, m.Value, c}
		}
		if e := &p.ends[1]; e.phases == nil || m.Value > e.shown {
			*e = end{phases, m.Value, c}
		}
	}
	return ""
}

// distances are those from the ends to the closest runs, by figure.
type distances map[string][2][]time.Duration

func (d distances) add(p *prover, t *testing.T) {
	if p.runs == 0 {
		return
	}
	ends := d[p.f.name]
	for i, off := range []time.Duration{p.ends[0].shown - p.want.Least, p.want.Greatest - p.ends[1].shown} {
		if p.want.Greatest == bounds.Never {
			continue
		}
		ends[i] = append(ends[i], off)
		if off > *far {
			t.Logf("%s: far end %d off %v; %v to %v\n%s\n%s", p.f.name, i, off, p.want.Least, p.want.Greatest,
				show(p.s), showCase(p.ends[i].c))
		}
	}
	d[p.f.name] = ends
}

func (d distances) log(t *testing.T) {
	for _, f := range allFigures() {
		for i, which := range []string{"least", "greatest"} {
			if all := d[f.name][i]; len(all) > 0 {
				slices.Sort(all)
				t.Logf("%-46s %4d containers, from the %s end to the closest run: half %v, nine of ten %v, all %v",
					f.name, len(all), which, all[len(all)/2], all[len(all)*9/10], all[len(all)-1])
			}
		}
	}
}

func showCase(c Case) string {
	out := fmt.Sprintf("uptime %v wall %v init %v event %v instance %d seed %d", c.Uptime, c.Wall, c.InitRuns, c.Event,
		c.Instance, c.Seed)
	all := reflect.ValueOf(c.Delays)
	for i := range all.NumField() {
		if d := all.Field(i).Interface().(*fakeruntime.Draw); d != nil {
			out += fmt.Sprintf(" %s %v", all.Type().Field(i).Name, d.Min)
		}
	}
	for _, r := range c.Rules {
		out += fmt.Sprintf("\n  %+v", r)
	}
	return out
}
