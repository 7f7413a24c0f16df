package explore

import (
	"slices"
	"strings"
	"time"

	"probesim.dev/sim/choose"
)

// Which worker drew which start delay is not known, but who draws first is no accident: of the goroutines that one
// starts at an instant, Go runs the last one first and then the others in order (runqput in runtime/proc.go). So the
// workers of a pod draw in the order last, first, second, and so on, and pods that are synced at one instant take
// turns in the same way. But a pod worker that does not stop there calls the runtime, which readies another
// goroutine: its last probe worker has to wait like the others.

// mostOrders bounds the orders of one attempt that are tried.
const mostOrders = 1 << 4

// guessStarts goes on with the best of the choices of start delays that such orders give, one for each set of pods
// whose workers do not stop, if it leads further.
func (f *follower) guessStarts(best attempt) (attempt, bool) {
	further := best
	for goOn := range min(1<<mostPods(best), mostOrders) {
		if guess := f.startsIn(best, goOn); len(guess) > 0 && f.runs < f.Budget {
			if a := f.try(append(slices.Clone(best.made), guess...), f.Duration, false); a.parts > further.parts {
				further = a
			}
		}
	}
	return further, further.parts > best.parts
}

// startsIn returns the choices of start delays in one order, for the workers that have drawn before the run parted
// from the trace and for which nothing has been chosen. The bits of goOn say which pods' workers do not stop.
func (f *follower) startsIn(a attempt, goOn int) []choose.Made {
	var guess []choose.Made
	drawn := make([]int, len(f.Starts))
	for batch := range batches(a.decisions) {
		for _, d := range goOrder(podsOf(batch), goOn) {
			drawn[d.kubelet]++
			if value := drawn[d.kubelet]; value < d.n && d.t <= a.parts && !chosen(a.made, d) {
				guess = append(guess, choose.Made{Choice: d.choice, Value: value})
			}
		}
	}
	return guess
}

// mostPods returns how many pods at most started workers at one instant.
func mostPods(a attempt) int {
	most := 0
	for batch := range batches(a.decisions) {
		most = max(most, len(podsOf(batch)))
	}
	return most
}

// batches yields the decisions about start delays of one kubelet at one instant.
func batches(decisions []decision) func(func([]decision) bool) {
	return func(yield func([]decision) bool) {
		var batch []decision
		for _, d := range decisions {
			if !d.start {
				continue
			}
			if len(batch) > 0 && batch[0].t != d.t && !yield(batch) {
				return
			} else if len(batch) > 0 && batch[0].t != d.t {
				batch = nil
			}
			batch = append(batch, d)
		}
		if len(batch) > 0 {
			yield(batch)
		}
	}
}

// podsOf groups the workers that start at one instant by pod.
func podsOf(batch []decision) [][]decision {
	var pods [][]decision
	for _, d := range batch {
		if n := len(pods); n > 0 && podOf(pods[n-1][0]) == podOf(d) {
			pods[n-1] = append(pods[n-1], d)
		} else {
			pods = append(pods, []decision{d})
		}
	}
	return pods
}

// goOrder puts workers, by pod and in order of creation, in the order in which Go runs them.
func goOrder(pods [][]decision, goOn int) []decision {
	var first, rest []decision
	for i, workers := range lastFirst(pods) {
		last := len(workers) - 1
		if goOn>>i&1 == 0 {
			first = append(first, workers[last])
			workers = workers[:last]
		}
		rest = append(rest, workers...)
	}
	return append(first, rest...)
}

func lastFirst[T any](items []T) []T {
	last := len(items) - 1
	return append([]T{items[last]}, items[:last]...)
}

// podOf returns the pod whose worker a decision is about: its key ends in namespace/pod/container.
func podOf(d decision) string {
	worker := d.choice.Key[strings.LastIndex(d.choice.Key, " ")+1:]
	return worker[:strings.LastIndex(worker, "/")]
}

// chosen reports whether a start delay was chosen for the worker.
func chosen(made []choose.Made, d decision) bool {
	return slices.ContainsFunc(made, func(m choose.Made) bool { return m.Choice == d.choice })
}

// taken reports whether a start delay was chosen for another worker of the same kubelet.
func taken(a attempt, d decision, value int) bool {
	return slices.ContainsFunc(a.decisions, func(o decision) bool {
		return o.start && o.kubelet == d.kubelet && o.choice != d.choice && o.picked == value && value > 0
	})
}

// atOnce is how long before a parting a choice lies that led to it directly.
const atOnce = 50 * time.Millisecond
