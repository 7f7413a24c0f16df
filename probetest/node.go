package probetest

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/scenarios/verdict"
	"probesim.dev/internal/show/report"
	"probesim.dev/internal/value"
	"probesim.dev/kube/kubeletconfig"
	"probesim.dev/kube/profile"
	"probesim.dev/node"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// NodeOptions configure a node. The zero value is a node of the newest supported version of
// Kubernetes without randomness.
type NodeOptions struct {
	// Kubernetes is one of the versions in profile.Names, such as "v1.37". Empty: the newest
	// version.
	Kubernetes string
	// Seed determines all random choices: the kubelet's jitter, the ranges and chances in
	// behaviors, and the order of events at one instant. Nil: ranges yield their middle, chances
	// never come true, and the order is canonical.
	Seed *int64
	// Uptime is the age of the kubelet at t=0, which sets the phase of its periodic work. Nil:
	// node.DefaultUptime.
	Uptime *time.Duration
	// Delays are the latencies of calls to the container runtime and the API server. A nil field:
	// the default.
	Delays fakeruntime.Delays
	// Config is the part of the kubelet configuration that affects probes and restarts.
	Config kubeletconfig.Config
	// ControlPlane adds the Deployment, ReplicaSet and EndpointSlice controllers and kube-proxy,
	// for AddDeployment and AddService. Its zero value has the default delays. Nil: there are none.
	ControlPlane *ControlPlane
	// HandlerTimeout limits the real time that an http.Handler of a Rule may take to respond to one
	// request; the test fails when a handler takes longer. Zero: node.DefaultHandlerTimeout, which
	// is 10 s. Negative: no limit, as a debugger needs.
	HandlerTimeout time.Duration
}

// ControlPlane configures the controllers and routers beside a node.
type ControlPlane = node.ControlPlane

// MaxTime is the virtual time at which every node ends: 30 days after t=0.
const MaxTime = 30 * 24 * time.Hour

// Node is a simulated node: a kubelet, an API server and a container runtime on a virtual clock
// that only Advance and AdvanceTo move. Create nodes with NewNode; the zero value is not usable.
//
// Mistakes in a test, such as a pod that the API server would reject, fail the test with t.Fatalf.
// So do calls after the test, which has closed the node; matchers can still examine the run.
//
// Use a node from one goroutine: a method panics with node.ErrInUse when it notices another one.
// Handlers and the functions of At and Do run while time passes, and may call all methods except
// Advance and AdvanceTo. If one of them panics, the test fails with its frames.
type Node struct {
	t       testing.TB
	sim     *node.Node
	profile profile.Profile
	options NodeOptions
	log     *log
	pods    map[string]*Pod // the last pod of each namespace/name
	added   map[string]int  // the number of pods that were added, by namespace/name
	rolled  []*Deployment
	failure string      // why the run ended early; empty: it did not
	due     []*action   // actions that have not happened, for the present time
	logged  int         // notes of the log that the test has logged
	running atomic.Bool // Advance or AdvanceTo runs
}

// action is a call of Do, Delete or Kill that has not happened yet.
type action struct{ what string }

// NewNode returns a node at t=0 without pods. The node is closed when the test ends. In a Ginkgo
// spec, pass GinkgoTB():
//
//	n := NewNode(GinkgoTB(), NodeOptions{})
//
// An unknown version or feature gate fails the test.
func NewNode(t testing.TB, o NodeOptions) *Node {
	requireTest(t, "NewNode")
	t.Helper()
	known := profile.Newest()
	if o.Kubernetes != "" {
		var ok bool
		if known, ok = profile.Named(o.Kubernetes); !ok {
			t.Fatalf("NewNode: %s", unknownVersion(o.Kubernetes))
			return nil
		}
	}
	for _, gate := range slices.Sorted(maps.Keys(o.Config.FeatureGates)) {
		var err error
		if known, err = known.SetGate(gate, o.Config.FeatureGates[gate]); err != nil {
			t.Fatalf("NewNode: feature gate %s: %v", gate, err)
			return nil
		}
	}
	if on, off := known.CheckGates(); on != "" {
		t.Fatalf("NewNode: the feature gate %s needs %s, which is off in %s: set both", on, off, known.Version)
		return nil
	}
	n := &Node{t: t, profile: known, options: o, pods: map[string]*Pod{}, added: map[string]int{}}
	n.options.Kubernetes = known.Version
	n.log = &log{kubernetes: known.Version, seed: o.Seed}
	options := node.Options{
		Profile: known, Uptime: o.Uptime, Seed: o.Seed, Delays: o.Delays, Config: o.Config,
		HandlerTimeout: o.HandlerTimeout, SlowHandler: n.log.note, ControlPlane: o.ControlPlane,
		Trace: &trace.Recorder{Internal: true, Sink: n.record},
	}
	if err := options.Validate(); err != nil {
		t.Fatalf("NewNode: %s", err)
		return nil
	}
	n.sim = node.New(options)
	t.Cleanup(n.sim.Close)
	return n
}

// requireTest panics if a test is nil, since there is no test to fail.
func requireTest(t testing.TB, function string) {
	if v := reflect.ValueOf(t); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		panic("probetest: " + function + ": the test is nil")
	}
}

func (n *Node) tb() testing.TB {
	if n == nil || n.sim == nil {
		panic("probetest: this is not a node: create it with NewNode")
	}
	return n.t
}

// usable reports whether the node can be used now. If the node is closed, it fails the test. It
// panics if another goroutine uses the node, since only the goroutine of the test can fail the
// test.
func (n *Node) usable() bool {
	n.t.Helper()
	err := n.sim.Usable()
	switch {
	case errors.Is(err, node.ErrInUse):
		panic(err)
	case err != nil:
		n.t.Fatalf("%s", err)
	}
	return err == nil
}

// record keeps a record, unless the run has ended early.
func (n *Node) record(r *trace.Record) {
	if n.failure == "" {
		n.log.add(r)
		for _, d := range n.rolled {
			d.replicaSetChanged(r)
		}
	}
}

// Now returns the virtual time since t=0. Handlers and functions that At runs can call it too.
func (n *Node) Now() time.Duration {
	n.tb()
	return n.now()
}

func (n *Node) now() time.Duration { return max(0, n.sim.Now()).Offset() }

// Clock returns the wall clock of the node, for a handler that takes a clock in place of package
// time. It shows virtual time, which moves only during Advance and AdvanceTo.
func (n *Node) Clock() clock.PassiveClock {
	n.tb()
	return n.sim.Clock()
}

// Advance lets virtual time pass, in almost no real time. Everything that is due until then
// happens, including the events of the last instant. Advance(0) runs what is due now. A negative
// duration and a time later than MaxTime fail the test.
func (n *Node) Advance(by time.Duration) {
	n.tb().Helper()
	if by > MaxTime {
		by = MaxTime + 1 // avoids an overflow of the sum
	}
	n.advanceTo(n.Now()+by, "Advance", by)
}

// AdvanceTo lets virtual time pass until t, which counts from t=0. It fails the test if t is in the
// past or later than MaxTime.
func (n *Node) AdvanceTo(t time.Duration) {
	n.tb().Helper()
	n.advanceTo(t, "AdvanceTo", t)
}

// chunk is the virtual time after which advanceTo checks for a failure.
const chunk = time.Minute

func (n *Node) advanceTo(t time.Duration, call string, arg time.Duration) {
	n.t.Helper()
	switch {
	case !n.usable():
		return
	case n.failure != "":
		n.t.Fatalf("the run has ended early: %s", n.failure)
		return
	case t < n.now():
		n.t.Fatalf("%s(%s): virtual time cannot go back: the node is at %s", call, value.Format(arg),
			trace.FormatTime(virtual.At(n.now())))
		return
	case t > MaxTime:
		n.t.Fatalf("%s: every node ends at %s of virtual time", call, value.Format(MaxTime))
		return
	}
	if !n.running.CompareAndSwap(false, true) { // a call from a function that the run has called
		panic(cmp.Or(n.sim.RunUntil(n.sim.Now()), node.ErrInUse))
	}
	defer n.running.Store(false)
	for {
		if err := n.sim.RunUntil(virtual.At(min(t, n.now()+chunk))); err != nil {
			n.fail("%s", err)
		}
		if n.failure != "" {
			n.t.Fatalf("%s", n.failure)
			return
		}
		if n.now() >= t {
			break
		}
	}
	for ; n.logged < len(n.log.notes); n.logged++ {
		n.t.Logf("Note: %s", n.log.notes[n.logged])
	}
}

// fail ends the run at the current virtual time. Code that the simulation calls must use it in
// place of t.Fatalf, which would report a line of the simulator as the place of the failure.
func (n *Node) fail(format string, args ...any) {
	if n.failure == "" {
		n.failure = fmt.Sprintf(format, args...)
	}
}

// At calls do when the virtual time is t, or when time next passes if t is in the past. Use it for
// actions that Node has no method for, such as StopKubelet, at an exact time. A time later than
// MaxTime fails the test.
func (n *Node) At(t time.Duration, do func(*node.Node)) {
	n.tb().Helper()
	n.at(t, "At", do)
}

// Do calls do at the current virtual time: when Advance is called next, before time passes.
func (n *Node) Do(do func(*node.Node)) {
	n.tb().Helper()
	n.at(n.now(), "Do", do)
}

func (n *Node) at(t time.Duration, what string, do func(*node.Node)) {
	n.t.Helper()
	switch {
	case !n.usable():
		return
	case do == nil:
		n.t.Fatalf("%s: the function is nil", what)
		return
	case t > MaxTime:
		n.t.Fatalf("%s(%s): every node ends at %s of virtual time", what, value.Format(t), value.Format(MaxTime))
		return
	}
	a := &action{what}
	if t <= n.now() {
		n.due = append(n.due, a)
	}
	n.sim.At(virtual.At(max(t, n.now())), func() {
		n.due = slices.DeleteFunc(n.due, func(o *action) bool { return o == a })
		do(n.sim)
	})
}

// String shows the run so far: the timeline of all pods, and the events. To see it when a test
// fails:
//
//	t.Cleanup(func() {
//		if t.Failed() {
//			t.Log(n)
//		}
//	})
//
// In a Ginkgo spec, add it to the report:
//
//	AddReportEntry("node", n, ReportEntryVisibilityFailureOrVerbose)
func (n *Node) String() string {
	if n == nil || n.sim == nil {
		return "<no node>"
	}
	n.reached()
	observable := slices.DeleteFunc(slices.Clone(n.log.records),
		func(r trace.Record) bool { return !r.Kind.Observable() })
	return n.log.String() + "\n\n" + verdict.TimelineAndEvents(&report.Run{Records: observable, Until: n.log.end})
}

// reached updates the time that the log has reached.
func (n *Node) reached() { n.log.end = virtual.At(n.now()) }
