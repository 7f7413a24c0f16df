package play

import (
	"fmt"
	"strings"
	"time"

	"probesim.dev/fakeruntime"
)

// Node is how long the calls of the starts of containers took, least and greatest, in the events of
// the kubelet as a watch sees them. A zero draw was not seen.
type Node struct {
	Sandbox, Create, Start fakeruntime.Draw
}

// fit returns the ranges of samples.
func fit(samples []sample) Node {
	var n Node
	for _, s := range samples {
		n.Sandbox, n.Create, n.Start = widen(n.Sandbox, s.sandbox), widen(n.Create, s.create), widen(n.Start, s.start)
	}
	return n
}

// widen widens a range to a time, unless it is unknown.
func widen(d fakeruntime.Draw, t time.Duration) fakeruntime.Draw {
	switch {
	case t <= 0:
		return d
	case d == fakeruntime.Draw{}:
		return fakeruntime.Exactly(t)
	}
	return fakeruntime.Draw{Min: min(d.Min, t), Max: max(d.Max, t)}
}

// merge returns the ranges that contain those of two nodes.
func (n Node) merge(o Node) Node {
	for _, of := range []struct {
		to   *fakeruntime.Draw
		from fakeruntime.Draw
	}{{&n.Sandbox, o.Sandbox}, {&n.Create, o.Create}, {&n.Start, o.Start}} {
		*of.to = widen(widen(*of.to, of.from.Min), of.from.Max)
	}
	return n
}

// named are the fitted delays by their names in a scenario.
func (n *Node) named() []struct {
	name string
	draw *fakeruntime.Draw
} {
	return []struct {
		name string
		draw *fakeruntime.Draw
	}{{"runPodSandbox", &n.Sandbox}, {"createContainer", &n.Create}, {"startContainer", &n.Start}}
}

// String returns the delays as the field delays of a scenario.
func (n Node) String() string {
	var parts []string
	for _, of := range n.named() {
		if *of.draw != (fakeruntime.Draw{}) {
			parts = append(parts, fmt.Sprintf("%s: %s..%s", of.name, of.draw.Min.Truncate(time.Millisecond),
				(of.draw.Max+time.Millisecond-1).Truncate(time.Millisecond)))
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// Delays returns the delays for simulated runs. A played pod has no volumes to wait for, and the
// image is on the node.
func (n Node) Delays() fakeruntime.Delays {
	d := fakeruntime.Delays{VolumeMount: new(fakeruntime.Draw), ImagePull: new(fakeruntime.Draw)}
	for i, to := range []**fakeruntime.Draw{&d.RunPodSandbox, &d.CreateContainer, &d.StartContainer} {
		if draw := n.named()[i].draw; *draw != (fakeruntime.Draw{}) {
			*to = draw
		}
	}
	return d
}
