package probetest

import (
	"fmt"
	"slices"
	"time"

	"probesim.dev/internal/value"
	"probesim.dev/trace"
)

// HaveBackedOffFor succeeds if the crash-loop back-offs of the container are exactly these, in
// order. A back-off is the time from the end of an instance until the kubelet may start the next
// one. It counts at the time when the kubelet first refuses to start the container because of it. A
// pod stands for its only container; a pod with several is an error.
//
//	Expect(web).To(HaveBackedOffFor(10*time.Second, 20*time.Second, 40*time.Second))
//	Expect(web).To(HaveBackedOffFor(5 * time.Minute).Between(20*time.Minute, 25*time.Minute))
//	Expect(web).To(HaveBackedOffFor()) // no back-off
func HaveBackedOffFor(list ...time.Duration) *HaveBackedOffForMatcher {
	words := ""
	if len(list) > 0 {
		words = "for " + listOf(list, value.Format)
	}
	return newList("HaveBackedOffFor", "backed off", words, func(s *subject, w window) (bool, *finding, error) {
		return compareBackOffs(list, s, w)
	})
}

// HaveBackedOffForMatcher is the type of HaveBackedOffFor.
type HaveBackedOffForMatcher = ListMatcher

// maxBackOff is the longest back-off of any configuration of the kubelet.
const maxBackOff = 5 * time.Minute

// backOff is the back-off before one instance.
type backOff struct {
	occurrence
	length time.Duration
}

func compareBackOffs(expected []time.Duration, s *subject, w window) (bool, *finding, error) {
	if err := s.requireOneContainer(); err != nil {
		return false, nil, err
	}
	for _, b := range expected {
		if b < time.Second || b > maxBackOff {
			return false, nil, fmt.Errorf("a back-off is from 1s to %s, and never %s", value.Format(maxBackOff), b)
		}
	}
	from, to, err := w.span(s)
	if err != nil {
		return false, nil, err
	}
	all := slices.DeleteFunc(s.backOffs(), func(b backOff) bool { return b.t < from || b.t > to })
	same, center := true, to
	var marks []int
	for i, b := range all {
		if same && (i >= len(expected) || expected[i] != b.length) {
			same, center = false, b.t
		}
		marks = append(marks, b.record)
	}
	got := "It never did"
	if len(all) > 0 {
		got = "It did for " + listOf(all,
			func(b backOff) string { return value.Format(b.length) + " at " + trace.FormatTime(b.t) })
	}
	return same && len(all) == len(expected), s.finding(got, center, marks...), nil
}

// backOffs returns the back-offs of a container. The kubelet records each of them in several syncs.
func (s *subject) backOffs() []backOff {
	var list []backOff
	waiting := false
	for _, i := range s.pod.indexes() {
		r := s.record(i)
		switch {
		case !s.about(r):
		case r.Kind == trace.ContainerStarted:
			waiting = false
		case r.Kind == trace.BackOff && !waiting:
			waiting = true
			list = append(list, backOff{occurrence{t: r.T, record: i}, r.Took})
		}
	}
	return list
}
