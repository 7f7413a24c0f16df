package compare

import (
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

// Change describes the divergence as the change of a kubelet that the simulator does not have,
// without times and names.
func (o *Outcome) Change() string {
	switch d := o.Divergence; {
	case len(d.Want) > 0 && len(d.Got) > 0:
		return summarize(&d.Want[0]) + " instead of " + summarize(&d.Got[0])
	case len(d.Want) > 0:
		return summarize(&d.Want[0]) + ", which the release does not have then"
	case len(d.Got) > 0:
		return "no " + summarize(&d.Got[0]) + ", which the release has then"
	default:
		return fmt.Sprint(d.Err)
	}
}

// Want returns the records of the real kubelet that were compared.
func (o *Outcome) Want() []trace.Record { return o.want }

func summarize(r *trace.Record) string {
	words := []string{string(r.Kind), string(r.Probe), string(r.Result)}
	if r.Kind == trace.Event || r.Kind == trace.ContainerStopping {
		words = append(words, r.Reason)
	}
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
}

// Calls shows the calls to the container runtime and the API server around the divergence, in the
// format of Text. There must be a divergence, and Options.Internal must have been set.
func (o *Outcome) Calls() string { return o.Divergence.Calls(o.Real) }
