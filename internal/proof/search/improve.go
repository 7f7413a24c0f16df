package search

import (
	"math"
	"slices"
	"strings"
	"time"

	"probesim.dev/kubelet"
	"probesim.dev/prober"
	"probesim.dev/sim/choose"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// improve searches for a run that agrees with the trace for longer. It tries, in this order:
//
//   - one of the likely choices, or, if the end of a wait for volumes differs, first the next ones
//   - up to three choices about the volumes of the pod that differs
//   - one choice, and a second one that only comes up after it
//   - one of the other choices, of which there may be thousands
//   - two or three choices of the worker whose probe differs
//   - all choices of one instant, drawn from a seed
//   - pairs: with the end of a race, of one instant, then any
func (f *follower) improve(best attempt) (attempt, bool) {
	options := f.alternatives(best)
	ways := []func(attempt, []option) (attempt, bool){f.likely, f.ofVolumes, f.dependent, f.unlikely, f.ofWorker,
		f.shake, f.pairs}
	if slices.ContainsFunc(f.differing(best), func(r trace.Record) bool { return r.Kind == trace.VolumeWaitEnded }) {
		ways[0], ways[1] = f.ofVolumes, f.likely
	}
	for _, way := range ways {
		if a, ok := way(best, options); ok {
			return a, true
		}
	}
	return attempt{}, false
}

// mostLikely is the number of alternatives, in their order, that count as likely.
const mostLikely = 500

func (f *follower) likely(best attempt, options []option) (attempt, bool) {
	return f.one(best, options[:min(mostLikely, len(options))])
}

func (f *follower) unlikely(best attempt, options []option) (attempt, bool) {
	return f.one(best, options[min(mostLikely, len(options)):])
}

// one tries each choice alone. If a choice only moves the first difference by a little, for example
// past the next housekeeping, it may block progress later, so one also looks for a choice that
// leads much further.
func (f *follower) one(best attempt, options []option) (attempt, bool) {
	for i, o := range options {
		a, ok := f.further(best, o.made)
		if !ok {
			continue
		}
		a = f.lookAhead(best, a)
		for _, other := range options[i+1 : min(i+1+mostOthers, len(options))] {
			if a.parts > best.parts.Add(aLittle) || f.runs >= f.Budget {
				break
			}
			if b, ok := f.further(best, other.made); ok {
				if b = f.lookAhead(best, b); b.parts > a.parts {
					a = b
				}
			}
		}
		return a, true
	}
	return attempt{}, false
}

// Bounds on the search for a better choice after one that leads only a little further.
const (
	aLittle    = 12 * time.Millisecond
	ahead      = 2 * time.Second
	mostOthers = 200
)

// lookAhead repeats an attempt with more time, to measure how much further it leads than best.
func (f *follower) lookAhead(best, a attempt) attempt {
	return f.try(a.made, min(best.parts.Add(ahead), f.end), false)
}

// mostOfWorker is the maximum number of choices of a worker that ofWorker combines.
const mostOfWorker = 14

// ofWorker tries pairs and triples of the latest choices of the worker whose probe record differs.
// What a worker does depends on the ticks and triggers that it took before.
func (f *follower) ofWorker(best attempt, options []option) (attempt, bool) {
	var own []choose.Made
	for _, o := range options {
		if len(own) < mostOfWorker && slices.ContainsFunc(f.differing(best), func(r trace.Record) bool {
			return r.Kind == trace.ProbeExecuted &&
				strings.HasSuffix(o.made.Key, prober.WorkerName(r.Probe, r.Pod, r.Container))
		}) {
			own = append(own, o.made)
		}
	}
	return f.together(best, own)
}

// Bounds on the choices about volumes that ofVolumes combines.
const (
	mostOfVolumes = 8 // choices
	chainOfLoops  = 3 // choices that come up one after the other
)

// ofVolumes tries the latest choices about the volumes of the pod whose record differs, alone and
// with others, which may only come up after them. The loops of the volume manager decide together
// when a mount begins, which can be long before it ends and the containers start. A mount that
// takes no time needs three choices: the populator, then the reconciler, then the poll.
func (f *follower) ofVolumes(best attempt, _ []option) (attempt, bool) {
	return f.chainOfVolumes(best, best, chainOfLoops)
}

// chainOfVolumes adds up to n choices about volumes to those of a run that does not get further
// than best.
func (f *follower) chainOfVolumes(best, run attempt, n int) (attempt, bool) {
	until := min(best.parts.Add(margin), f.end)
	for _, choice := range f.aboutVolumes(run) {
		if f.runs >= f.Budget {
			break
		}
		after := f.try(append(slices.Clone(run.made), choice), until, false)
		if after.parts > best.parts {
			return after, true
		}
		if n > 1 {
			if a, ok := f.chainOfVolumes(best, after, n-1); ok {
				return a, true
			}
		}
	}
	return attempt{}, false
}

// aboutVolumes returns the latest other choices about the volumes of the pod whose record differs,
// or of any pod if only a hidden fact differs.
func (f *follower) aboutVolumes(best attempt) []choose.Made {
	differing := f.differing(best)
	var own []choose.Made
	for _, d := range slices.Backward(best.decisions) {
		if d.t > best.parts || d.choice.Kind != choose.Race || len(own) >= mostOfVolumes {
			continue
		}
		if len(differing) == 0 && kubelet.IsRaceOfVolumes(d.choice.Key, "") ||
			slices.ContainsFunc(differing, func(r trace.Record) bool {
				return kubelet.IsRaceOfVolumes(d.choice.Key, r.Pod)
			}) {
			for _, o := range d.others() {
				own = append(own, o.made)
			}
		}
	}
	return own
}

// together tries pairs and triples of choices.
func (f *follower) together(best attempt, own []choose.Made) (attempt, bool) {
	for i := range own {
		for j := range i {
			if a, ok := f.further(best, own[i], own[j]); ok {
				return a, true
			}
			for k := range j {
				if a, ok := f.further(best, own[i], own[j], own[k]); ok {
					return a, true
				}
			}
		}
	}
	return attempt{}, false
}

// shake draws at this many of the latest instants, and makes this many draws for each choice that
// comes up.
const (
	mostShaken = 16
	shakes     = 6
)

// shake draws all choices of one instant together. One order may need several choices, and some
// choices come up only after others.
func (f *follower) shake(best attempt, options []option) (attempt, bool) {
	var shaken []virtual.Time
	for _, o := range options {
		if len(shaken) == mostShaken || f.runs >= f.Budget {
			break
		}
		if slices.Contains(shaken, o.t) {
			continue
		}
		shaken = append(shaken, o.t)
		if a, ok := f.shakeAt(best, o.t); ok {
			return a, true
		}
	}
	return attempt{}, false
}

// shakeAt draws all choices of an instant, including those that best has fixed.
func (f *follower) shakeAt(best attempt, t virtual.Time) (attempt, bool) {
	made := slices.DeleteFunc(slices.Clone(best.made), func(m choose.Made) bool {
		return slices.ContainsFunc(best.decisions, func(d decision) bool { return d.t == t && d.about(m.Choice) })
	})
	until := min(best.parts.Add(margin), f.end)
	for n, seed := shakes, 0; seed < n && f.runs < f.Budget; seed++ {
		c := f.chooser(slices.Clone(made))
		c.shaken = &shake{choose.Seeded(seed), t}
		a := f.run(c, until, false)
		if a.parts > best.parts {
			if a = f.try(a.made, until, false); a.parts > best.parts {
				return a, true
			}
		}
		n = shakes * (len(a.made) - len(made))
	}
	return attempt{}, false
}

// pairs tries two choices together, pairs with the end of a race first.
func (f *follower) pairs(best attempt, options []option) (attempt, bool) {
	isRace := func(o option) bool { return o.made.Kind == choose.Race }
	for _, related := range []func(a, b option) bool{
		func(a, b option) bool { return isRace(a) != isRace(b) },
		func(a, b option) bool { return isRace(a) == isRace(b) && a.t == b.t },
		func(a, b option) bool { return isRace(a) == isRace(b) && a.t != b.t },
	} {
		for i, o := range options {
			if f.runs >= f.Budget { // thousands of options have millions of pairs
				return attempt{}, false
			}
			for _, second := range options[:i] {
				if !related(o, second) {
					continue
				}
				if a, ok := f.further(best, o.made, second.made); ok {
					return a, true
				}
			}
		}
	}
	return attempt{}, false
}

// margin is how long a trial runs beyond the first difference: long enough to show that it got past
// it.
const margin = 10 * time.Millisecond

func (f *follower) further(best attempt, more ...choose.Made) (attempt, bool) {
	if f.runs >= f.Budget {
		return attempt{}, false
	}
	until := min(best.parts.Add(margin), f.end)
	a := f.try(append(slices.Clone(best.made), more...), until, false)
	return a, a.parts > best.parts
}

// justBefore is the maximum time from a choice to a first difference that it causes directly.
const justBefore = 50 * time.Millisecond

// bands are ranges of the time from the relevant choice to the first difference, likeliest first:
// the choice lies just before the difference; one requeue before it, since a requeue comes 60 to 90
// s after the sync that drew its jitter; between these two; or earlier, for example if the sync
// loop slept in between.
var bands = []band{
	{justBefore, 3 * time.Second},
	{59 * time.Second, 92 * time.Second},
	{3 * time.Second, 59 * time.Second},
	{92 * time.Second, math.MaxInt64},
}

// band is a range of times before the first difference.
type band struct{ from, to time.Duration }

// option is a choice that a run could have made at a time.
type option struct {
	t    virtual.Time
	made choose.Made
}

// alternatives lists the choices that the run could have made differently before its first
// difference from the trace: choices just before it; start delays that no other worker got; choices
// just before the start of an operation whose record differs; then the others, latest first within
// each band.
func (f *follower) alternatives(a attempt) []option {
	var list []option
	within := func(b band) {
		for _, d := range slices.Backward(a.decisions) {
			if ago := a.parts.Sub(d.t); !d.start && b.from <= ago && ago < b.to {
				list = append(list, d.others()...)
			}
		}
	}
	within(band{0, justBefore})
	for _, d := range a.decisions {
		if !d.start || d.t > a.parts {
			continue
		}
		for _, o := range d.others() {
			if !taken(a, d, o.made.Value) {
				list = append(list, o)
			}
		}
	}
	for _, took := range f.took(a) {
		within(band{took, took + justBefore})
	}
	for _, band := range bands {
		within(band)
	}
	return list
}

// took returns how long the differing operations took, if they began more than justBefore before
// the first difference.
func (f *follower) took(a attempt) []time.Duration {
	var list []time.Duration
	for _, r := range f.differing(a) {
		if r.Took > justBefore && !slices.Contains(list, r.Took) {
			list = append(list, r.Took)
		}
	}
	return list
}

// differing returns the records at the first difference that only one side has.
func (f *follower) differing(a attempt) []trace.Record {
	return slices.Concat(f.differingSides(a))
}

// dependent tries pairs of choices whose second comes up only after the first. For example, a
// worker that is overtaken finds two ready cases in its select instead of one. Both choices lie
// just before the first difference; otherwise there are too many pairs.
func (f *follower) dependent(best attempt, options []option) (attempt, bool) {
	known := map[choose.Made]bool{}
	for _, o := range options {
		known[o.made] = true
	}
	for _, first := range options {
		if best.parts.Sub(first.t) >= justBefore || f.runs >= f.Budget {
			continue
		}
		made := append(slices.Clone(best.made), first.made)
		for _, second := range f.news(f.try(made, min(best.parts.Add(margin), f.end), false), best, known) {
			if a, ok := f.further(best, first.made, second.made); ok {
				return a, true
			}
		}
	}
	return attempt{}, false
}

// news lists the alternatives just before the first difference that come up in a and are not known
// yet.
func (f *follower) news(a, best attempt, known map[choose.Made]bool) []option {
	var list []option
	for _, d := range a.decisions {
		if ago := best.parts.Sub(d.t); d.start || ago < 0 || ago >= justBefore {
			continue
		}
		for _, o := range d.others() {
			if !known[o.made] {
				known[o.made] = true
				list = append(list, o)
			}
		}
	}
	return list
}
