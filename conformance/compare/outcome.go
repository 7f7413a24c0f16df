package compare

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"probesim.dev/conformance/realkubelet"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// Records returns the number of compared records.
func (o *Outcome) Records() int {
	n := 0
	for i := range o.want {
		if o.want[i].Kind.Observable() && o.want[i].T < virtual.At(o.Plan.Duration) {
			n++
		}
	}
	return n
}

// Text shows the records of both sides around the divergence. It panics if there is no divergence.
func (o *Outcome) Text() string {
	text := o.Divergence.Text(o.want)
	if !realkubelet.Overlay {
		text += "built without the overlay: on a busy machine Go interrupts the kubelet, and the search may not find " +
			"the order; see conformance/README.md\n"
	}
	return text
}

// Signature summarizes the divergence without times and names: the first record that only one side
// has, for example "-ProbeExecuted readiness success". It is empty if nothing differs.
func (o *Outcome) Signature() string {
	switch d := o.Divergence; {
	case d == nil:
		return ""
	case len(d.Want) > 0:
		return "-" + summarize(&d.Want[0])
	case len(d.Got) > 0:
		return "+" + summarize(&d.Got[0])
	default:
		return fmt.Sprint(d.Err)
	}
}

func summarize(r *trace.Record) string {
	words := []string{string(r.Kind), string(r.Probe), string(r.Result)}
	if r.Kind == trace.Event || r.Kind == trace.ContainerStopping {
		words = append(words, r.Reason)
	}
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
}

// Number of calls that Calls shows before and after the divergence.
const (
	callsBefore = 25
	callsAfter  = 15
)

// Calls shows the calls to the container runtime and the API server around the divergence, in the
// format of Text. There must be a divergence, and Options.Internal must have been set.
func (o *Outcome) Calls() string {
	lines := mergeCalls(calls(o.Real), calls(o.Divergence.Simulated))
	at, _ := slices.BinarySearchFunc(lines, o.Divergence.At,
		func(l callLine, t virtual.Time) int { return cmp.Compare(l.t, t) })
	var b strings.Builder
	b.WriteString("calls around the difference (- real kubelet, + simulator)\n")
	for _, l := range lines[max(0, at-callsBefore):min(len(lines), at+callsAfter)] {
		fmt.Fprintf(&b, "%s %12s  %s\n", l.mark, trace.FormatTime(l.t), l.text)
	}
	return b.String()
}

// callLine is a call of one side or both.
type callLine struct {
	t          virtual.Time
	text, mark string
}

// calls returns the calls of a trace, ordered by time and then by text, because the order at one
// instant has no meaning.
func calls(records []trace.Record) []callLine {
	var lines []callLine
	for i := range records {
		if r := &records[i]; r.Kind == trace.CRICall {
			lines = append(lines, callLine{t: r.T, text: r.Subject() + "  " +
				strings.TrimPrefix(r.Summary(), string(trace.CRICall)+" ")})
		}
	}
	slices.SortStableFunc(lines, byTimeAndText)
	return lines
}

func byTimeAndText(a, b callLine) int {
	if a.t != b.t {
		return cmp.Compare(a.t, b.t)
	}
	return strings.Compare(a.text, b.text)
}

// mergeCalls merges the calls of both sides, and marks those that only one side has.
func mergeCalls(real, simulated []callLine) []callLine {
	var lines []callLine
	for len(real) > 0 || len(simulated) > 0 {
		order := len(simulated) - len(real) // if one side is empty, the other one comes next
		if len(real) > 0 && len(simulated) > 0 {
			order = byTimeAndText(real[0], simulated[0])
		}
		var l callLine
		switch {
		case order == 0:
			l, real, simulated = real[0], real[1:], simulated[1:]
			l.mark = " "
		case len(simulated) == 0 || len(real) > 0 && order < 0:
			l, real = real[0], real[1:]
			l.mark = "-"
		default:
			l, simulated = simulated[0], simulated[1:]
			l.mark = "+"
		}
		lines = append(lines, l)
	}
	return lines
}
