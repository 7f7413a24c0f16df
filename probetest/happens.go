package probetest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"probesim.dev/trace"
)

// Happens is what matchers have in common that look for something that happens: the window, and how often. Without
// Times or AtLeast it must happen at least once.
type Happens[M any] struct {
	Window[M]
	least, most *int // nil: 1, any

	subject *subject    // of the last Match
	before  []happening // before the window
	inside  []happening
	behind  []happening
}

// happening is something that happened, and the record of it.
type happening struct {
	t      time.Duration
	record int
}

// Times has the matcher look for exactly so many of them.
func (h *Happens[M]) Times(n int) *M {
	h.least, h.most = &n, &n
	return h.matcher
}

// AtLeast has the matcher look for so many of them or more.
func (h *Happens[M]) AtLeast(n int) *M {
	h.least, h.most = &n, nil
	return h.matcher
}

// look sorts what happened to a subject, and reports whether it did as often as it must.
func (h *Happens[M]) look(s *subject, all []happening) (bool, error) {
	from, to, err := h.span(s)
	if err == nil && h.least != nil && *h.least < 0 {
		err = fmt.Errorf("nothing happens %d times", *h.least)
	}
	if err != nil {
		return false, err
	}
	h.subject, h.before, h.inside, h.behind = s, nil, nil, nil
	for _, it := range all {
		switch {
		case it.t < from:
			h.before = append(h.before, it)
		case it.t > to:
			h.behind = append(h.behind, it)
		default:
			h.inside = append(h.inside, it)
		}
	}
	n := len(h.inside)
	least := 1
	if h.least != nil {
		least = *h.least
	}
	return n >= least && (h.most == nil || n <= *h.most), nil
}

// message tells what was expected to happen, as in "to have restarted", and what did.
func (h *Happens[M]) message(expected string) string {
	f := finding{subject: h.subject}
	_, f.center, _ = h.span(h.subject)
	switch {
	case len(h.inside) > 0:
		f.center = h.inside[0].t
	case len(h.behind) > 0:
		f.center = h.behind[0].t
	case len(h.before) > 0:
		f.center = h.before[len(h.before)-1].t
	}
	for _, it := range slices.Concat(h.before, h.inside, h.behind) {
		f.marks = append(f.marks, it.record)
	}
	return f.message(expected+h.times()+h.window.words(), h.happened())
}

func (h *Happens[M]) times() string {
	if h.least == nil {
		return ""
	}
	text := fmt.Sprintf(" %d times", *h.least)
	if *h.least == 1 {
		text = " once"
	}
	if h.most == nil {
		text = " at least" + text
	}
	return text
}

// happened tells when it happened, and when outside of the window.
func (h *Happens[M]) happened() string {
	text := "It did not"
	switch n := len(h.inside); {
	case n == 1:
		text = "It did once, at " + listTimes(h.inside)
	case n > 1:
		text = fmt.Sprintf("It did %d times, at %s", n, listTimes(h.inside))
	}
	if len(h.before) > 0 {
		text += "; earlier at " + listTimes(h.before)
	}
	if len(h.behind) > 0 {
		text += "; later at " + listTimes(h.behind)
	}
	return text
}

// few is how many times are listed.
const few = 6

// listTimes lists when something happened, the first few times.
func listTimes(list []happening) string {
	var words []string
	for i, it := range list {
		if i == few {
			words = append(words, fmt.Sprintf("and %d more", len(list)-few))
			break
		}
		words = append(words, trace.FormatTime(it.t))
	}
	return strings.Join(words, ", ")
}
