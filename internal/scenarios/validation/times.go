package validation

import (
	"slices"
	"time"

	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
	"probesim.dev/scenarios/format"
)

// checkFor reports a length of time that can be 0s.
func checkFor(d *value.Draw, n *strict.Node) {
	n.ErrorIf(d != nil && d.Min <= 0, "must be longer than 0s, not %s", d)
}

// checkAt reports a time after the end of the run.
func checkAt(n *strict.Node, at *value.Draw, duration value.Duration) {
	n.ErrorIf(n.Written() && at.Min > duration.Time(), "%s is after the end of the run at %s", at, duration)
}

// maxDelay is the limit for one call.
const maxDelay = time.Hour

// podDelays are the delays of calls that apply to a pod. The image calls name the pod, not the
// container.
var podDelays = []string{"set", "runPodSandbox", "stopPodSandbox", "removePodSandbox", "listPodSandbox",
	"podSandboxStatus", "listContainers", "imageStatus", "imagePull", "volumeMount", "apiGet", "apiPatch", "apiDelete"}

// checkDelays reports delays above the limit, and an unknown set.
func checkDelays(n *strict.Node, delays *format.Delays) {
	if delays == nil {
		return
	}
	checkSet(n.Field("set"), delays.Set)
	for i := range n.Keys {
		var d value.Draw
		if err := d.UnmarshalText([]byte(n.Items[i].Value)); err == nil && d.Max > maxDelay {
			n.Items[i].Errorf("%s is longer than %s, the limit for one call", d, value.Format(maxDelay))
		}
	}
}

// checkSet reports an unknown set of delays.
func checkSet(n *strict.Node, name string) {
	if n.Written() {
		_, err := format.DelaySet(name)
		n.ErrorIf(err != nil, "%v", err)
	}
}

// checkContainerDelays also reports delays of calls that do not apply to a container.
func checkContainerDelays(n *strict.Node, delays *format.Delays) {
	checkDelays(n, delays)
	for i, key := range n.Keys {
		n.Items[i].ErrorIf(slices.Contains(podDelays, key.Name),
			"does not apply to a container: set it in the delays of the pod or of the scenario")
	}
}
