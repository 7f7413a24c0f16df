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
// turns in the same way.

// guessStarts returns the choices of start delays that this order gives, for the workers for which nothing has been
// chosen.
func (f *follower) guessStarts(a attempt) []choose.Made {
	var guess []choose.Made
	drawn := make([]int, len(f.Starts))
	for batch := range batches(a.decisions) {
		for _, d := range goOrder(batch) {
			drawn[d.kubelet]++
			if value := drawn[d.kubelet]; value < d.n && !chosen(a.made, d) {
				guess = append(guess, choose.Made{Choice: d.choice, Value: value})
			}
		}
	}
	return guess
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

// goOrder puts the workers that start at one instant, in order of creation, in the order in which Go runs them.
func goOrder(batch []decision) []decision {
	var pods [][]decision
	for _, d := range batch {
		if n := len(pods); n > 0 && podOf(pods[n-1][0]) == podOf(d) {
			pods[n-1] = append(pods[n-1], d)
		} else {
			pods = append(pods, []decision{d})
		}
	}
	pods = lastFirst(pods)
	var order []decision
	for _, workers := range pods {
		order = append(order, workers[len(workers)-1])
	}
	for _, workers := range pods {
		order = append(order, workers[:len(workers)-1]...)
	}
	return order
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
