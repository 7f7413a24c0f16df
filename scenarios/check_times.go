package scenarios

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
)

// checkFor reports a length of time that can be 0s.
func checkFor(d *value.Draw, n *strict.Node) {
	if d != nil && !n.Bad() && d.Min <= 0 {
		n.Errorf("must be longer than 0s, not %s", d)
	}
}

// checkAt reports a time after the end of the run.
func checkAt(n *strict.Node, at *value.Draw, duration value.Duration) {
	if n.Written() && !n.Bad() && at.Min > duration.Time() {
		n.Errorf("%s is after the end of the run at %s", at, duration)
	}
}

// maxDelay is the limit for one call.
const maxDelay = time.Hour

// podDelays are the delays of calls that apply to a pod. The image calls name the pod, not the container.
var podDelays = []string{"set", "runPodSandbox", "stopPodSandbox", "removePodSandbox", "listPodSandbox", "podSandboxStatus",
	"listContainers", "imageStatus", "imagePull", "volumeMount", "apiGet", "apiPatch", "apiDelete"}

// checkDelays reports delays above the limit, and an unknown set.
func checkDelays(n *strict.Node, delays *Delays) {
	if delays == nil {
		return
	}
	if set := n.Field("set"); set.Written() && !set.Bad() {
		if _, err := DelaySet(delays.Set); err != nil {
			set.Errorf("%s", err)
		}
	}
	for i := range n.Keys {
		var d value.Draw
		if err := d.UnmarshalText([]byte(n.Items[i].Value)); err == nil && d.Max > maxDelay {
			n.Items[i].Errorf("%s is longer than %s, the limit for one call", d, value.Format(maxDelay))
		}
	}
}

// DelaySet returns the delays of a kind of node: fast, typical or slow. The error lists the names.
func DelaySet(name string) (fakeruntime.Delays, error) {
	set, ok := fakeruntime.DelaySet(name)
	if !ok {
		names := fakeruntime.DelaySets()
		return set, fmt.Errorf("there is no set of delays %s%s: use %s", strict.Quote(name), strict.DidYouMean(name, names), strings.Join(names, ", "))
	}
	return set, nil
}

// checkContainerDelays also reports delays of calls that do not apply to a container.
func checkContainerDelays(n *strict.Node, delays *Delays) {
	checkDelays(n, delays)
	for i, key := range n.Keys {
		if slices.Contains(podDelays, key.Name) {
			n.Items[i].Errorf("does not apply to a container: set it in the delays of the pod or of the scenario")
		}
	}
}
