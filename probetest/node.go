package probetest

import (
	"maps"
	"slices"
	"time"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/check"
	"probesim.dev/internal/value"
	"probesim.dev/kube/kubeletconfig"
	"probesim.dev/kube/profile"
	"probesim.dev/node"
	"probesim.dev/report"
	"probesim.dev/trace"
)

// NodeOptions say what a node is like. The zero value is a node of the newest known version of Kubernetes on which
// nothing is drawn.
type NodeOptions struct {
	// Kubernetes is a version that profile.Names lists, such as v1.37.0; empty: the newest.
	Kubernetes string
	// Seed draws what is to be drawn, the jitter of the kubelet and the order of what happens at one instant. Nil: the
	// middle of every range, no chance comes up, the canonical order.
	Seed *int64
	// Uptime is the age of the kubelet at t=0, with which its tickers are in phase; nil: node.DefaultUptime.
	Uptime *time.Duration
	// Delays are the latencies of the calls to the container runtime and the API server, as far as they are not the
	// usual ones.
	Delays fakeruntime.Delays
	// Config is the part of the kubelet's configuration that has an effect.
	Config kubeletconfig.Config
}

// Node is a simulated node: a kubelet, an API server and a container runtime on a virtual clock, which stands still
// but for Advance. It must be used from one goroutine.
//
// What the test has wrong, such as a pod that the API server would not create, fails the test through Gomega, as
// Expect does.
type Node struct {
	sim     *node.Node
	profile profile.Profile
	options NodeOptions
	log     *log
	pods    map[string]*Pod // the last of each namespace/name
	added   map[string]int  // how many of that name were added
}

// NewNode returns a node at t=0, without pods. It is to be closed in the end:
//
//	n := ginkgokit.NewNode(ginkgokit.NodeOptions{})
//	DeferCleanup(n.Close)
func NewNode(o NodeOptions) *Node {
	known := profile.Newest()
	if o.Kubernetes != "" {
		var ok bool
		if known, ok = profile.Named(o.Kubernetes); !ok {
			fail(0, "%s", unknownVersion(o.Kubernetes))
		}
	}
	for _, gate := range slices.Sorted(maps.Keys(o.Config.FeatureGates)) {
		var err error
		if known, err = known.SetGate(gate, o.Config.FeatureGates[gate]); err != nil {
			fail(0, "%s %v", gate, err)
		}
	}
	n := &Node{profile: known, options: o, pods: map[string]*Pod{}, added: map[string]int{}}
	n.options.Kubernetes = known.Version
	n.log = &log{kubernetes: known.Version, seed: o.Seed, internal: true}
	// Back-offs are internal: the status and the events do not have their length.
	recorder := &trace.Recorder{Internal: true, Sink: n.log.add}
	n.sim = node.New(node.Options{Profile: known, Uptime: o.Uptime, Seed: o.Seed, Delays: o.Delays, Config: o.Config, Trace: recorder})
	return n
}

// Close ends the node and frees what it holds. Its pods can still be asked about.
func (n *Node) Close() { n.sim.Close() }

// Now returns the virtual time since t=0, also while it passes: to a handler, say, or to what At calls.
func (n *Node) Now() time.Duration { return max(0, n.sim.Now()) }

// MaxTime is how far a node goes: 30 days, as the longest scenario.
const MaxTime = value.MaxDuration

// Advance lets so much virtual time pass, and everything happen that happens within it and at its end. It takes no real
// time to speak of.
func (n *Node) Advance(by time.Duration) {
	if by > MaxTime {
		by = MaxTime + 1 // which is refused, as no sum of times is too large for its type
	}
	n.advanceTo(n.Now()+by, "Advance", by)
}

// AdvanceTo lets virtual time pass until t.
func (n *Node) AdvanceTo(t time.Duration) { n.advanceTo(t, "AdvanceTo", t) }

func (n *Node) advanceTo(t time.Duration, what string, arg time.Duration) {
	switch {
	case t < n.Now():
		fail(1, "time does not go back: %s(%s) at %s", what, value.Format(arg), trace.FormatTime(n.Now()))
		return
	case t > MaxTime:
		fail(1, "%s goes beyond %s, where a node ends", what, value.Format(MaxTime))
		return
	}
	err := n.sim.RunUntil(t)
	n.log.end = n.Now()
	if err != nil {
		fail(1, "the run ended early: %s", err)
	}
}

// At has something done to the node when the virtual time is t, or as soon as time passes if that is past: whatever
// the node can do, such as StopKubelet or KillContainer.
func (n *Node) At(t time.Duration, do func(*node.Node)) {
	n.sim.At(max(t, n.Now()), func() { do(n.sim) })
}

// Do has something done to the node now, that is, before any more time passes.
func (n *Node) Do(do func(*node.Node)) { n.At(n.Now(), do) }

// String shows the run as far as it has come: the timeline of all pods, and the events. As a report entry it goes with a
// spec that fails, or with each with -v:
//
//	AddReportEntry("node", n, ReportEntryVisibilityFailureOrVerbose)
func (n *Node) String() string {
	observable := slices.DeleteFunc(slices.Clone(n.log.records), func(r trace.Record) bool { return !r.Kind.Observable() })
	return n.log.String() + "\n\n" + check.TimelineAndEvents(&report.Run{Records: observable, Until: n.log.end})
}
