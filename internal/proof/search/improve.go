package search

import (
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
