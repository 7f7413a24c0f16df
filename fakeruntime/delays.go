package fakeruntime

import (
	"math"
	"math/bits"
	"reflect"
	"slices"
	"time"

	"probesim.dev/sim/virtual"
)

// Delays are the latencies of runtime and API calls, and the times that programs take to answer. A
// nil field has the value of the next wider scope; of the run, the value of DefaultDelays.
type Delays struct {
	RunPodSandbox, StopPodSandbox, RemovePodSandbox, PodSandboxStatus, ListPodSandbox *Draw
	CreateContainer, StartContainer, StopContainer, RemoveContainer                   *Draw
	ListContainers, ContainerStatus                                                   *Draw
	ImageStatus, ImagePull, VolumeMount                                               *Draw
	APIGet, APIPatch, APIDelete                                                       *Draw
	Exec, HTTPGet, TCPSocket, GRPC                                                    *Draw
	// from the exit of a container to the return of StopContainer
	StopReturn *Draw
}

// DelayKind names one of the Delays.
type DelayKind int

// The kinds of Delays, in the order of its fields. New ones go to the end: the number of a kind is
// part of the key of its random values.
const (
	DelayRunPodSandbox DelayKind = iota
	DelayStopPodSandbox
	DelayRemovePodSandbox
	DelayPodSandboxStatus
	DelayListPodSandbox
	DelayCreateContainer
	DelayStartContainer
	DelayStopContainer
	DelayRemoveContainer
	DelayListContainers
	DelayContainerStatus
	DelayImageStatus
	DelayImagePull
	DelayVolumeMount
	DelayAPIGet
	DelayAPIPatch
	DelayAPIDelete
	DelayExec
	DelayHTTPGet
	DelayTCPSocket
	DelayGRPC
	DelayStopReturn
	DelayKinds // their number
)

// delayHTTPBody is the kind of the time between the header and the end of a body. It has no
// default: answers set it. Its number stays apart from the numbers of new kinds.
const delayHTTPBody DelayKind = 1 << 10

// listImages is the latency of ListImages. Scenario files cannot set it, because nothing waits for
// the call.
const listImages = 800 * time.Microsecond

// DefaultDelays returns the delays of a scenario that sets none. They are distinct and realistic,
// because equal or zero delays would cause ties that no real node has.
func DefaultDelays() Delays {
	us := func(n int) *Draw { d := Exactly(time.Duration(n) * time.Microsecond); return &d }
	ms := func(n int) *Draw { return us(1000 * n) }
	return Delays{
		RunPodSandbox: ms(211), StopPodSandbox: ms(41), RemovePodSandbox: ms(17),
		CreateContainer: ms(31), StartContainer: ms(57), StopContainer: ms(7), StopReturn: us(0),
		RemoveContainer: ms(13),
		ListPodSandbox:  us(2300), ListContainers: us(3100), PodSandboxStatus: us(1300), ContainerStatus: us(1700),
		ImageStatus: us(600), ImagePull: us(0), VolumeMount: us(0),
		APIGet: us(5300), APIPatch: us(7900), APIDelete: us(6100),
		Exec: ms(20), HTTPGet: ms(9), TCPSocket: ms(2), GRPC: ms(11),
	}
}

// defaultDelays are the delays of DefaultDelays by kind.
var defaultDelays = (&scope{delays: new([DelayKinds]Draw)}).narrower(key{}, DefaultDelays()).delays

// Ranges returns the delays by kind. A nil field has its default.
func (d Delays) Ranges() [DelayKinds]Draw {
	return *(&scope{delays: defaultDelays}).narrower(key{}, d).delays
}

// fields returns the delays by kind.
func (d *Delays) fields() [DelayKinds]*Draw {
	return [DelayKinds]*Draw{
		d.RunPodSandbox, d.StopPodSandbox, d.RemovePodSandbox, d.PodSandboxStatus, d.ListPodSandbox,
		d.CreateContainer, d.StartContainer, d.StopContainer, d.RemoveContainer,
		d.ListContainers, d.ContainerStatus, d.ImageStatus, d.ImagePull, d.VolumeMount,
		d.APIGet, d.APIPatch, d.APIDelete, d.Exec, d.HTTPGet, d.TCPSocket, d.GRPC, d.StopReturn,
	}
}

// scope is a level at which delays can be set, the run, a pod or a container: all its delays, and
// the key of its random values.
type scope struct {
	key    key
	delays *[DelayKinds]Draw // shared with the wider scope if this scope sets none; immutable
	// override contains the delays of SetDelays, which replace the delays of every scope.
	override *[DelayKinds]*Draw
}

// narrower returns a scope below s that can override some delays.
func (s *scope) narrower(k key, override Delays) scope {
	narrow := scope{key: k, delays: s.delays, override: s.override}
	if override == (Delays{}) {
		return narrow
	}
	own := *s.delays
	for kind, d := range override.fields() {
		if d != nil {
			own[kind] = *d
		}
	}
	narrow.delays = &own
	return narrow
}

// delay returns the latency of a call that begins now. The time is part of the key of the random
// value. A counter would not do, because one additional call would then change all later values.
func (s *scope) delay(now virtual.Time, kind DelayKind) time.Duration {
	return s.draw(now, kind, 0, s.current(kind))
}

// current returns the range of a delay, with the effect of SetDelays.
func (s *scope) current(kind DelayKind) Draw {
	if d := s.override[kind]; d != nil {
		return *d
	}
	return s.delays[kind]
}

// SetDelays replaces delays of the run, the pods and the containers from now on. Of several delays
// of one kind, the last applies. Delays that the list does not set return to their original values.
// Calls in progress keep their latency.
func (r *Runtime) SetDelays(list ...Delays) {
	clear(r.scope.override[:])
	for _, delays := range list {
		for kind, d := range delays.fields() {
			if d != nil {
				r.scope.override[kind] = d
			}
		}
	}
}

// draw returns a random latency from d. The requester distinguishes requests that begin at one
// instant.
func (s *scope) draw(now virtual.Time, kind DelayKind, from requester, d Draw) time.Duration {
	if d.Min != d.Max {
		return max(0, s.key.with(int64(kind)).with(int64(from)).with(int64(now)).draw(d))
	}
	return max(0, d.Min)
}

// Delay returns a latency that the runtime does not use itself, such as DelayAPIGet, for an
// operation that begins now. The range is the range of the container; of the pod if container is
// empty; of the run if the pod is unknown.
func (r *Runtime) Delay(now virtual.Time, kind DelayKind, podUID, container string) time.Duration {
	return r.scopeOf(find(r.pods, podUID), container).delay(now, kind)
}

// Draw returns a latency from a range for an operation that begins now and is not part of a node,
// such as a call of a controller. The key names the operation.
func (r *Runtime) Draw(now virtual.Time, key string, d Draw) time.Duration {
	return max(0, r.scope.key.named(key).with(int64(now)).draw(d))
}

// MountDelay returns how long the volumes of a pod take to mount, in addition to the time of an
// emptyDir. Each mount of a pod takes the same time unless SetDelays changes the range, because the
// time at which a mount begins is up to the volume manager.
func (r *Runtime) MountDelay(podUID string) time.Duration {
	return r.Delay(0, DelayVolumeMount, podUID, "")
}

func (r *Runtime) scopeOf(p *pod, container string) *scope {
	switch {
	case p == nil:
		return &r.scope
	case container == "":
		return &p.scope
	}
	return &p.container(container).scope
}

// later returns t+d, or never if the sum overflows.
func later(t virtual.Time, d time.Duration) virtual.Time {
	if sum := t.Add(d); d < 0 || sum >= t {
		return sum
	}
	return never
}

// DelaySet returns the delays of a kind of node: fast, typical or slow. It sets all of them, as the
// ranges in which the latencies of such nodes lie. fakeruntime/README.md says how they were
// measured. It returns false for other names.
func DelaySet(name string) (Delays, bool) {
	set := slices.Index(delaySets, name)
	if set < 0 {
		return Delays{}, false
	}
	// The bounds are in milliseconds, for each kind of node.
	between := func(bounds ...[2]float64) *Draw {
		ms := func(n float64) time.Duration { return time.Duration(n * float64(time.Millisecond)) }
		return &Draw{Min: ms(bounds[set][0]), Max: ms(bounds[set][1])}
	}
	type ms = [2]float64
	return Delays{
		RunPodSandbox:    between(ms{100, 350}, ms{100, 1500}, ms{1000, 8000}),
		StopPodSandbox:   between(ms{20, 100}, ms{20, 600}, ms{200, 3000}),
		RemovePodSandbox: between(ms{10, 50}, ms{10, 200}, ms{50, 1000}),
		CreateContainer:  between(ms{12, 60}, ms{12, 300}, ms{100, 5000}),
		StartContainer:   between(ms{40, 120}, ms{40, 300}, ms{150, 2500}),
		RemoveContainer:  between(ms{5, 30}, ms{5, 200}, ms{20, 1000}),
		StopContainer:    between(ms{1, 10}, ms{1, 20}, ms{5, 200}),
		StopReturn:       between(ms{10, 50}, ms{10, 150}, ms{50, 1000}),
		ListPodSandbox:   between(ms{0.4, 3}, ms{0.4, 30}, ms{10, 80}),
		ListContainers:   between(ms{0.4, 3}, ms{0.4, 30}, ms{10, 80}),
		PodSandboxStatus: between(ms{0.3, 2}, ms{0.3, 30}, ms{5, 200}),
		ContainerStatus:  between(ms{0.3, 2}, ms{0.3, 30}, ms{5, 200}),
		ImageStatus:      between(ms{0.3, 2}, ms{0.3, 10}, ms{2, 80}),
		ImagePull:        between(ms{250, 500}, ms{250, 5000}, ms{2000, 20000}),
		VolumeMount:      between(ms{0, 20}, ms{0, 300}, ms{100, 10000}),
		APIGet:           between(ms{1, 8}, ms{1, 30}, ms{20, 1000}),
		APIPatch:         between(ms{2, 8}, ms{2, 50}, ms{20, 1000}),
		APIDelete:        between(ms{4, 16}, ms{4, 50}, ms{20, 1000}),
		Exec:             between(ms{20, 60}, ms{20, 200}, ms{100, 500}),
		HTTPGet:          between(ms{0.1, 2}, ms{0.1, 20}, ms{1, 200}),
		TCPSocket:        between(ms{0.1, 1}, ms{0.1, 5}, ms{0.5, 50}),
		GRPC:             between(ms{0.5, 5}, ms{0.5, 20}, ms{1, 200}),
	}, true
}

// DelaySets returns the names of the sets, the fastest first.
func DelaySets() []string { return slices.Clone(delaySets) }

// A fast node is idle, with local disks and a simple network plugin. A typical one is in ordinary
// use. The disk, the CPU or the network plugin of a slow one is at its limit: after a boot, or
// while many pods start.
var delaySets = []string{"fast", "typical", "slow"}

// Over returns the delays of d, and those of base that d leaves nil.
func (d Delays) Over(base Delays) Delays {
	own, under := reflect.ValueOf(&d).Elem(), reflect.ValueOf(base)
	for i := range own.NumField() {
		if own.Field(i).IsNil() {
			own.Field(i).Set(under.Field(i))
		}
	}
	return d
}

// ControlDelays are the latencies of a control plane.
type ControlDelays struct {
	Watch    Latency // from a change in the API server until a controller or a router sees it
	Call     Latency // of a call of a controller to the API server
	Schedule Latency // until the scheduler has bound a pod
	Sync     Latency // until kube-proxy has written its rules
}

// Latency is a latency of a control plane. How slow a control plane is belongs to the cluster and
// the hour: each run draws the longest of its latencies once, in 19 of 20 runs between Min and
// Usual, and in one between Usual and Max. Each call draws its own, from Min on; short ones are
// more frequent.
type Latency struct{ Min, Usual, Max time.Duration }

// Median returns the longest latency of the median run.
func (l Latency) Median() time.Duration { return l.Min + (l.Usual-l.Min)*1000/6859 } // (10/19)^3 of the way

// ControlDelaySet returns the latencies of a control plane beside a kind of node: fast, typical or
// slow. docs/nodes.md says what they are taken from. It returns false for other names.
func ControlDelaySet(name string) (ControlDelays, bool) {
	set := slices.Index(delaySets, name)
	if set < 0 {
		return ControlDelays{}, false
	}
	type ms = [3]int // Min, Usual and Max
	latency := func(of ...ms) Latency {
		at := func(i int) time.Duration { return time.Duration(of[set][i]) * time.Millisecond }
		return Latency{at(0), at(1), at(2)}
	}
	return ControlDelays{
		Watch:    latency(ms{2, 20, 80}, ms{2, 180, 500}, ms{30, 800, 2000}),
		Call:     latency(ms{2, 8, 40}, ms{2, 60, 500}, ms{20, 300, 2000}),
		Schedule: latency(ms{2, 20, 80}, ms{2, 60, 500}, ms{30, 800, 2000}),
		Sync:     latency(ms{10, 50, 50}, ms{20, 200, 200}, ms{100, 2800, 2800}),
	}, true
}

// Latency returns a random latency of an operation that begins now and is not part of a node, such
// as a call of a controller. The key names the operation. It returns false without a seed.
func (r *Runtime) Latency(now virtual.Time, key string, l Latency) (time.Duration, bool) {
	k := r.scope.key.named(key).with(int64(now))
	if !k.seeded {
		return 0, false
	}
	return k.skewed(l.Min, l.longest(r.scope.key.named("slowness")), 2), true
}

// longest returns the longest latency of the run with the key.
func (l Latency) longest(run key) time.Duration {
	if run.hash%20 == 0 {
		return run.with(0).skewed(l.Usual, l.Max, 3)
	}
	return run.with(0).skewed(l.Min, l.Usual, 3)
}

// skewed returns a random duration between two: a power of a fraction of the way.
func (k key) skewed(least, most time.Duration, power int) time.Duration {
	fraction := k.hash // of 2^64
	for range power - 1 {
		fraction, _ = bits.Mul64(fraction, k.hash)
	}
	above, _ := bits.Mul64(fraction, uint64(most-least)+1)
	return least + time.Duration(above)
}

// key identifies one random value: a hash of the seed and of the purpose of the value. Keys are
// immutable, and the order in which they are used has no effect.
type key struct {
	hash   uint64
	seeded bool // false: ranges yield their middle
}

func newKey(seed *int64) key {
	if seed == nil {
		return key{}
	}
	return key{hash: mix(uint64(*seed)), seeded: true}
}

// with returns the key of part n of k.
func (k key) with(n int64) key {
	if k.seeded {
		k.hash = mix(k.hash*0x9fb21c651e98df25 + uint64(n))
	}
	return k
}

// named returns the key of the part of k with a name.
func (k key) named(name string) key {
	if !k.seeded {
		return k
	}
	k.hash = ^k.hash // distinguishes names from numbers
	for i := range len(name) {
		k.hash = (k.hash ^ uint64(name[i])) * 0x100000001b3 // FNV-1a
	}
	return k.with(int64(len(name)))
}

// mix is one step of SplitMix64: each bit of n affects about half of the bits of the result.
func mix(n uint64) uint64 {
	n += 0x9e3779b97f4a7c15
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}

// draw returns a uniform random duration from d, both ends included, or without a seed the middle.
func (k key) draw(d Draw) time.Duration {
	if d.Max <= d.Min {
		return d.Min
	}
	span := uint64(d.Max) - uint64(d.Min)
	if !k.seeded {
		return d.Min + time.Duration(span/2)
	}
	if span == math.MaxUint64 {
		return time.Duration(k.hash)
	}
	n, _ := bits.Mul64(k.hash, span+1)
	return d.Min + time.Duration(n)
}

// happens reports whether a chance from 0 to 1 comes true. Without a seed, it never does.
func (k key) happens(chance float64) bool {
	return k.seeded && float64(k.hash>>11)/(1<<53) < chance
}

// Drawn returns a uniform random duration from d, both ends included. The seed, name and ordinal
// determine it, whatever other values are drawn. Without a seed, it is the middle of the range.
func (d Draw) Drawn(seed *int64, name string, ordinal int64) time.Duration {
	return newKey(seed).named(name).with(ordinal).draw(d)
}
