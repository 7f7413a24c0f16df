package bounds_test

import (
	"flag"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"probesim.dev/bounds"
	"probesim.dev/check/witness"
	"probesim.dev/fakeruntime"
)

var (
	only    = flag.String("only", "", "the only figure to prove")
	samples = flag.Int("samples", map[bool]int{false: 30, true: 150}[long], "the number of runs of each drawn container")
	far     = flag.Duration("far", time.Hour, "describe the ends that are farther from the closest run")
)

// rounding is how far a run can pass an end because the middle of a delay is rounded.
const rounding = time.Microsecond

// No run of a drawn container passes an end of a figure. Half of the runs are drawn evenly, the others close to those that come closest. The test logs how far
// the ends are from the closest runs, which are not as close as those of a longer search.
func TestNoRunPassesAnEnd(t *testing.T) {
	figures := allFigures()
	if *only != "" {
		figures = slices.DeleteFunc(figures, func(f witness.Figure) bool { return f.Name != *only })
	}
	for _, o := range sorts {
		t.Run(o.name, func(t *testing.T) {
			d := distances{}
			rapid.Check(t, func(r *rapid.T) {
				f := rapid.SampledFrom(figures).Draw(r, "figure")
				s := o.drawSubject(r, f.Needs)
				p := &prover{f: &f, s: s, want: f.Range(s.Bounds), seed: int64(rapid.Uint32().Draw(r, "seed"))}
				if bad := p.run(*samples); bad != "" {
					r.Errorf("%s", bad)
				}
				d.add(p, t)
			})
			d.log(t)
		})
	}
}

// No run on the middle node passes an end of the time to recover by more than a wait for a relist, which the figure leaves out.
func TestNoRunPassesTheTimeToRecover(t *testing.T) {
	d := distances{}
	rapid.Check(t, func(r *rapid.T) {
		f := recovered(rapid.SampledFrom([]time.Duration{0, 0, 3 * time.Second, 20 * time.Second}).Draw(r, "start"))
		s := sort{usual: true, typical: true}.drawSubject(r, f.Needs)
		p := &prover{f: &f, s: s, want: f.Range(s.Bounds), seed: int64(rapid.Uint32().Draw(r, "seed")), over: 1200 * time.Millisecond}
		if bad := p.run(*samples / 4); bad != "" {
			r.Errorf("%s", bad)
		}
		f.Name = "recovered"
		d.add(p, t)
	})
	for i, which := range []string{"least", "greatest"} {
		if all := d["recovered"][i]; len(all) > 0 {
			slices.Sort(all)
			t.Logf("%d containers, from the %s end to the closest run: half %v, nine of ten %v, all %v", len(all), which, all[len(all)/2], all[len(all)*9/10], all[len(all)-1])
		}
	}
}

// allFigures returns the figures of all rows in all cases, and those that no row has.
func allFigures() []witness.Figure {
	var list []witness.Figure
	for _, c := range []bounds.StartCase{
		bounds.FirstInstance, bounds.YoungKubelet, bounds.AfterLivenessKill, bounds.AfterStartupKill, bounds.AfterCrash, bounds.AfterCrashWhileStarting,
	} {
		list = append(list, witness.Start(c))
	}
	for _, m := range []bounds.Misfortune{bounds.Hang, bounds.Stall, bounds.Refuse} {
		list = append(list, witness.Survives(m), witness.StaysReady(m), witness.Stopped(m), witness.Unready(m))
	}
	return append(list, witness.Ready(true, false), witness.Ready(true, true), witness.Ready(false, false), witness.Ready(false, true))
}

// prover draws runs of one container.
type prover struct {
	f    *witness.Figure
	s    *witness.Subject
	want bounds.Range
	seed int64
	over time.Duration // how far a run may pass an end
	runs int
	ends [2]end // the runs that come closest to the least and to the greatest value
}

// end is the run that comes closest to an end.
type end struct {
	phases *witness.Phases
	shown  time.Duration
	c      witness.Case
}

// run draws some runs. It describes the first one that passes an end.
func (p *prover) run(samples int) string {
	for i := range int64(samples) {
		phases := witness.NewPhases(p.seed*1_000_003 + i)
		if e := &p.ends[i%2]; i > int64(samples)/2 && e.phases != nil {
			phases = e.phases.Near(p.seed + i)
		}
		c, ok := p.f.Draw(p.s, phases)
		if !ok {
			continue
		}
		m, err := p.f.Measure(p.s, &c)
		if err != nil {
			continue
		}
		p.runs++
		over := p.over + rounding
		if m.Value < p.want.Least-over || m.Value > p.want.Greatest+over && p.want.Greatest != bounds.Never {
			return fmt.Sprintf("%s: a run shows %v, and the ends are %v to %v\n%s\n%s", p.f.Name, m.Value, p.want.Least, p.want.Greatest, show(p.s), showCase(c))
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
	ends := d[p.f.Name]
	for i, off := range []time.Duration{p.ends[0].shown - p.want.Least, p.want.Greatest - p.ends[1].shown} {
		if p.want.Greatest == bounds.Never {
			continue
		}
		ends[i] = append(ends[i], off)
		if off > *far {
			t.Logf("%s: far end %d off %v; %v to %v\n%s\n%s", p.f.Name, i, off, p.want.Least, p.want.Greatest, show(p.s), showCase(p.ends[i].c))
		}
	}
	d[p.f.Name] = ends
}

func (d distances) log(t *testing.T) {
	for _, f := range allFigures() {
		for i, which := range []string{"least", "greatest"} {
			if all := d[f.Name][i]; len(all) > 0 {
				slices.Sort(all)
				t.Logf("%-46s %4d containers, from the %s end to the closest run: half %v, nine of ten %v, all %v", f.Name, len(all), which, all[len(all)/2], all[len(all)*9/10], all[len(all)-1])
			}
		}
	}
}

func showCase(c witness.Case) string {
	out := fmt.Sprintf("uptime %v wall %v init %v event %v instance %d seed %d", c.Uptime, c.Wall, c.InitRuns, c.Event, c.Instance, c.Seed)
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
