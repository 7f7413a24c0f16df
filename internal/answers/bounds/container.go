package bounds

import (
	"errors"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/podutil"
	"probesim.dev/internal/value"
	"probesim.dev/kube/profile"
	"probesim.dev/prober"
	"probesim.dev/trace"
)

// The latencies that can change a bound.
const (
	runPodSandbox    = fakeruntime.DelayRunPodSandbox
	imageStatus      = fakeruntime.DelayImageStatus
	imagePull        = fakeruntime.DelayImagePull
	createContainer  = fakeruntime.DelayCreateContainer
	startContainer   = fakeruntime.DelayStartContainer
	stopContainer    = fakeruntime.DelayStopContainer
	stopPodSandbox   = fakeruntime.DelayStopPodSandbox
	stopReturn       = fakeruntime.DelayStopReturn
	apiGet           = fakeruntime.DelayAPIGet
	apiPatch         = fakeruntime.DelayAPIPatch
	listPodSandbox   = fakeruntime.DelayListPodSandbox
	listContainers   = fakeruntime.DelayListContainers
	podSandboxStatus = fakeruntime.DelayPodSandboxStatus
	containerStatus  = fakeruntime.DelayContainerStatus
	execAnswer       = fakeruntime.DelayExec
	httpAnswer       = fakeruntime.DelayHTTPGet
	tcpAnswer        = fakeruntime.DelayTCPSocket
	grpcAnswer       = fakeruntime.DelayGRPC
)

// node has the range of each latency of the nodes.
type node [fakeruntime.DelayKinds]Range

func newNode(d fakeruntime.Delays) (n node) {
	for kind, draw := range d.Ranges() {
		n[kind] = Range{draw.Min, draw.Max}
	}
	return n
}

// atMiddle returns the one node in the middle of the latencies.
func (n node) atMiddle() node {
	for i, d := range n {
		n[i] = exactly(d.middle())
	}
	return n
}

// sum returns the range of the sum of some latencies.
func (n *node) sum(list ...fakeruntime.DelayKind) (sum Range) {
	for _, of := range list {
		sum = sum.plus(n[of])
	}
	return sum
}

// answers returns the latency of the answers to a probe or a hook.
func (n *node) answers(h *v1.ProbeHandler) Range {
	switch {
	case h.Exec != nil:
		return n[execAnswer]
	case h.TCPSocket != nil:
		return n[tcpAnswer]
	case h.GRPC != nil:
		return n[grpcAnswer]
	}
	return n[httpAnswer]
}

// lists returns the time of a list of all that runs. A relist begins with it (Relist in
// pkg/kubelet/pleg/generic.go at v1.37.0).
func (n *node) lists() Range { return n.sum(listPodSandbox, listContainers) }

// looks returns the least and the greatest time of a relist that inspects one instance of one
// container.
func (n *node) looks() Range {
	return n.sum(listPodSandbox, listContainers, podSandboxStatus, containerStatus)
}

// write returns the time of a status update: the status manager reads the pod and patches its
// status (syncPod in pkg/kubelet/status/status_manager.go at v1.37.0).
func (n *node) write() Range { return n.sum(apiGet, apiPatch) }

// relistPeriod is the time from the end of a relist to the begin of the next one
// (genericPlegRelistPeriod in pkg/kubelet/kubelet.go at v1.37.0).
const relistPeriod = time.Second

// relistsApart is the longest time from the end of a relist that finds no change to that of the
// next one.
func (n *node) relistsApart() time.Duration { return relistPeriod + n.lists().Greatest }

// longestWait is the longest time from an event to its sync. The sync waits for a relist that has
// begun after the sync before it. So the longest wait is that after a sync which ends just after a
// relist begins: until the end of the next relist, which begins a second after the end of that one.
// If the sync loop takes the results of two probes later, since it lists what runs for its
// housekeeping, the result of the other probe can lead to the sync before (podWorkerLoop in
// pkg/kubelet/pod_workers.go and syncLoopIteration in pkg/kubelet/kubelet.go at v1.37.0).
func (n *node) longestWait() time.Duration { return relistPeriod + 3*n.lists().Greatest }

// Never is the value of an end that nothing reaches: nothing happens, however long the misfortune
// lasts.
const Never = value.Never

// LongestLimit is the greatest limit or time that bounds determine. A probe that needs longer to
// stop a container counts as none.
const LongestLimit = value.LongestLimit

// Range is the range of a time over everything that varies.
//
// A limit is a Range too: what stays below Least always goes well, and what exceeds Greatest never
// does.
type Range struct {
	Least, Greatest time.Duration // or Never
}

// Or returns the range over the cases of both.
func (a Range) Or(b Range) Range {
	return Range{min(a.Least, b.Least), max(a.Greatest, b.Greatest)}
}

// never is the range of what does not happen.
var never = Range{Never, Never}

func exactly(d time.Duration) Range { return Range{d, d} }

// plus returns the range of the sum of times. Nothing comes after what never happens.
func (a Range) plus(list ...Range) Range {
	for _, b := range list {
		a.Least, a.Greatest = later(a.Least, b.Least), later(a.Greatest, b.Greatest)
	}
	return a
}

// later returns the sum of two times, or Never.
func later(a, b time.Duration) time.Duration {
	if a == Never || b == Never {
		return Never
	}
	return a + b
}

// most returns the range of a time that something limits.
func (a Range) most(d time.Duration) Range { return Range{min(a.Least, d), min(a.Greatest, d)} }

// middle returns the middle of the range.
func (a Range) middle() time.Duration { return a.Least + (a.Greatest-a.Least)/2 }

// modulo returns the remainder of a division, which is at least 0.
func modulo(a, b time.Duration) time.Duration { return (a%b + b) % b }

// ceil returns the least multiple of a period that is at least a time.
func ceil(d, period time.Duration) time.Duration { return d + modulo(-d, period) }

// nextTick returns the range of the time from a start to the first tick that is at least some time
// after it. The start comes some time after a tick.
func nextTick(after Range, period time.Duration, start Range) Range {
	return Range{leastTick(after.Least, period, start), greatestTick(after.Greatest, period, start)}
}

func leastTick(after, period time.Duration, start Range) time.Duration {
	if ceil(start.Least+after, period) <= start.Greatest+after { // some start meets a tick
		return after
	}
	return ceil(start.Greatest+after, period) - start.Greatest
}

func greatestTick(after, period time.Duration, start Range) time.Duration {
	if ceil(start.Least+after, period) <= start.Greatest+after { // some start just misses a tick
		return after + period
	}
	return ceil(start.Least+after, period) - start.Least
}

// lastFrom returns the greatest time of the first tick from a moment on. The ticks begin in a range
// of times before.
func lastFrom(moment, period time.Duration, begin Range) time.Duration {
	periods := max(0, (moment-begin.Greatest+period-1)/period)
	if moment-periods*period > begin.Least {
		return moment + period
	}
	return begin.Greatest + periods*period
}

// divisor returns the greatest common divisor of two periods.
func divisor(a, b time.Duration) time.Duration {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}

// probe is a probe of the container, with the times that decide when its runs begin and end.
type probe struct {
	*v1.Probe
	delay, period, timeout time.Duration
	failures, successes    time.Duration // its thresholds
	answer                 Range         // of a program that answers at once
	again                  bool          // a run connects again while the program refuses it
}

func (c *Container) newProbe(p *v1.Probe) *probe {
	if p == nil {
		return nil
	}
	seconds := func(s int32) time.Duration { return time.Duration(s) * time.Second }
	return &probe{
		Probe: p, delay: seconds(p.InitialDelaySeconds), period: seconds(p.PeriodSeconds),
		timeout:  seconds(p.TimeoutSeconds),
		failures: time.Duration(p.FailureThreshold), successes: max(1, time.Duration(p.SuccessThreshold)),
		answer: c.node.answers(&p.ProbeHandler),
		again:  p.GRPC != nil && !c.settings.Profile.GRPCConnectsOnce,
	}
}

// delayed returns the time from a start until initialDelaySeconds has passed. It counts from the
// whole second before the start, because the API has the start in whole seconds (doProbe in
// pkg/kubelet/prober/worker.go at v1.37.0).
func (p *probe) delayed() Range {
	if p.delay == 0 {
		return Range{}
	}
	return Range{p.delay - time.Second, p.delay}
}

// stopsWithin is about how long the probe takes to stop the container.
func (p *probe) stopsWithin() time.Duration { return p.delay + p.failures*max(p.period, p.timeout) }

// tooSlow reports whether the probe takes longer than LongestLimit to stop the container. It counts
// as one that never does.
func (p *probe) tooSlow() bool { return p.stopsWithin() > LongestLimit }

// leastTook is a time that a run takes at least while the program refuses it. Up to 1.37 a grpc
// probe connects again until its timeout.
func (p *probe) leastTook() time.Duration {
	if p.reconnects() {
		return p.timeout
	}
	return 0
}

// took is the longest time that a run takes while the program refuses it.
func (p *probe) took() time.Duration { return max(p.answered(), p.leastTook()) }

// answered is the longest time that a run takes which the program answers or refuses at once.
func (p *probe) answered() time.Duration { return min(p.answer.Greatest, p.timeout) }

// step is the time from one run to the next while the program refuses it: a run that takes longer
// than the period is followed by the next one at once (the ticker of run in
// pkg/kubelet/prober/worker.go at v1.37.0 keeps one tick).
func (p *probe) step() Range { return Range{max(p.period, p.leastTook()), max(p.period, p.took())} }

// later returns the time from a run to the one that comes some runs later.
func (p *probe) later(runs time.Duration) Range {
	step := p.step()
	return Range{runs * step.Least, runs * step.Greatest}
}

// failsOften reports whether the probe can fail a number of times within a time because of an exit.
// A command cannot run in a container that has exited, which is no failure, so only the run that is
// going on at the exit fails (Probe in pkg/probe/exec/exec.go at v1.37.0).
func (p *probe) failsOften(times, within time.Duration) bool {
	return times == 1 || p.Exec == nil && (times-1)*p.period <= within
}

// left returns how many periods are left until the threshold after a crash, if the probe fails
// because of the exit for some time. These failures count for the next instance too (resultRun in
// pkg/kubelet/prober/worker.go at v1.37.0).
func (p *probe) left(within time.Duration) time.Duration {
	left := p.failures - 1
	for failed := time.Duration(1); left > 0 && p.failsOften(failed, within); failed++ {
		left--
	}
	return left
}

// fails reports whether a misfortune makes the probe fail. The kernel of the node accepts
// connections for a program that stands still, is slow, or answers with a failure.
func (p *probe) fails(m Misfortune) bool {
	return p != nil && (p.TCPSocket == nil || m == Hang || m == Refuse)
}

// tookDuring returns how long a run takes during a misfortune. Up to 1.37 a grpc probe connects
// again until its timeout (pkg/probe/grpc/grpc.go at v1.37.0 and v1.38.0-beta.0). An https probe
// gives up a TLS handshake after 10 s (the transport of pkg/probe/http/http.go at v1.37.0).
func (p *probe) tookDuring(m Misfortune) Range {
	if m == Fail || m == Refuse && !p.reconnects() {
		return p.answer.most(p.timeout)
	}
	if p.HTTPGet != nil && p.HTTPGet.Scheme == v1.URISchemeHTTPS && m != Slow { // a slow program still shakes hands
		return exactly(min(p.timeout, prober.TLSHandshakeTimeout))
	}
	return exactly(p.timeout)
}

// failure returns the time from a misfortune of a healthy container until the probe has failed as
// often as its threshold says. The misfortune begins just after a run at the latest. Then the first
// run that fails begins a period later.
func (p *probe) failure(m Misfortune) Range {
	took := p.tookDuring(m)
	first, later := max(p.period, p.answered())-1, p.failures-1
	return Range{later*max(p.period, took.Least) + took.Least, first + later*max(p.period, took.Greatest) +
		took.Greatest}
}

// lasts returns how long a misfortune of a healthy container may last without as many failures of
// the probe as its threshold says. The last run that the threshold needs decides: it still succeeds
// if the misfortune is over when it begins, or when its last connection does. After a stall, the
// program answers it late, so it succeeds if its answer still comes before the timeout.
func (p *probe) lasts(m Misfortune) Range {
	failed, took := p.failure(m), p.tookDuring(m)
	if m == Stall {
		answer := p.answer.most(p.timeout)
		return Range{failed.Least - answer.Greatest, failed.Greatest - answer.Least}
	}
	last := p.lastConnection(m)
	return Range{failed.Least - took.Least + last.Least, failed.Greatest - took.Greatest + last.Greatest}
}

// Up to 1.37 a gRPC probe that the program refuses connects again and again until its timeout
// (pkg/probe/grpc/grpc.go at v1.37.0 and v1.38.0-beta.0). So a program that comes up during the
// last run that the threshold needs is in time if it does so before the last connection of this
// run.

// reconnects reports whether a run that the program refuses lasts until its timeout.
func (p *probe) reconnects() bool { return p != nil && p.again }

// lastConnection returns the time from the begin of a run during a misfortune, which is no stall,
// to the last connection that the program could have answered in time. It is 0 for a run with one
// connection. The client gives up a connection that the program does not answer.
func (p *probe) lastConnection(m Misfortune) (last Range) {
	if !p.reconnects() || m == Slow || m == Fail || m == Hang && p.timeout <= prober.MinConnectTimeout {
		return last
	}
	var at Range   // of a connection
	inTime := true // this connection always is
	for i := 0; ; i++ {
		var backOff Range
		backOff.Least, backOff.Greatest = prober.ConnectBackOff(i)
		ends := p.answer
		if m == Hang {
			ends = Range{max(prober.MinConnectTimeout, backOff.Least), max(prober.MinConnectTimeout, backOff.Greatest)}
		}
		next := at.plus(ends, backOff)
		switch {
		case next.Least+p.answer.Least > p.timeout:
			return last
		case next.Greatest+p.answer.Greatest <= p.timeout:
			last.Least = next.Least
		case inTime: // it is not in time if the one before it is late, or its back-off is long
			late := p.timeout - p.answer.Greatest - ends.Greatest - backOff.Greatest
			last.Least, inTime = min(max(at.Least, late), next.Least), false
		}
		at, last.Greatest = next, min(next.Greatest, p.timeout-p.answer.Least)
	}
}

// lastChance is lastConnection of a program that is not up yet.
func (p *probe) lastChance() Range { return p.lastConnection(Refuse) }

// Settings are those that decide the bounds of a container.
type Settings struct {
	Pod       *v1.Pod         // as the API server stores it, with its defaults
	Programs  fakeruntime.Pod // how long the commands of hooks sleep
	Container string          // the name
	Profile   profile.Profile
	Delays    fakeruntime.Delays // the latencies of the nodes; a nil field is the default of its delay
}

// Container is a container whose bounds to compute. The other containers of its pod are healthy,
// and none of them exits. A Container does not change, so goroutines can share it.
type Container struct {
	settings                     Settings
	pod                          *v1.PodSpec
	spec                         *v1.Container
	node                         node
	startup, liveness, readiness *probe // nil: none
}

// LongestTime is the maximum, in seconds, of the times in the settings of a probe.
const LongestTime = 3600

// LongestGracePeriod is the maximum, in seconds, of a terminationGracePeriodSeconds: a week.
const LongestGracePeriod = 7 * 24 * 3600

// Of returns the container of some settings. The error says that the pod has no such container,
// that a time in the settings is too long, or that the bounds do not know a feature gate.
func Of(s Settings) (*Container, error) {
	spec := podutil.Find(s.Pod, s.Container)
	switch {
	case spec == nil:
		return nil, fmt.Errorf("the pods of %s have no container %q", s.Pod.Name, s.Container)
	case s.Profile.MutableContainerProbes:
		return nil, errors.New("bounds do not know the feature gate MutableContainerProbes")
	}
	c := &Container{settings: s, pod: &s.Pod.Spec, node: newNode(s.Delays)}
	if err := tooLongGrace(s.Pod.Spec.TerminationGracePeriodSeconds, "the pod"); err != nil {
		return nil, err
	}
	for _, of := range trace.ProbeTypes {
		if err := c.checkTimes(of, prober.ProbeOf(spec, of)); err != nil {
			return nil, err
		}
	}
	return c.with(spec), nil
}

// With returns the container with other probes, each with its defaults. Nil is no probe.
func (c *Container) With(startup, liveness, readiness *v1.Probe) *Container {
	spec := *c.spec
	spec.StartupProbe, spec.LivenessProbe, spec.ReadinessProbe = startup, liveness, readiness
	return c.with(&spec)
}

// Without returns the container without some of its probes, such as those that can never run.
func (c *Container) Without(probes ...trace.Probe) *Container {
	left := func(of trace.Probe) *v1.Probe {
		if slices.Contains(probes, of) {
			return nil
		}
		return c.Probe(of)
	}
	return c.With(left(trace.Startup), left(trace.Liveness), left(trace.Readiness))
}

// AtMiddle returns the container on the one node in the middle of the latencies.
func (c *Container) AtMiddle() *Container {
	middle := *c
	middle.node = c.node.atMiddle()
	return middle.with(c.spec)
}

func (c *Container) with(spec *v1.Container) *Container {
	next := *c
	next.spec = spec
	next.startup, next.liveness, next.readiness = c.newProbe(spec.StartupProbe), c.newProbe(spec.LivenessProbe),
		c.newProbe(spec.ReadinessProbe)
	return &next
}

// Probe returns the container's probe of a type, or nil.
func (c *Container) Probe(of trace.Probe) *v1.Probe { return prober.ProbeOf(c.spec, of) }

// Pod returns the pod of the settings. The container in it has the probes of the settings. Do not
// change it.
func (c *Container) Pod() *v1.Pod { return c.settings.Pod }

// checkTimes returns an error if a time of a probe is too long.
func (c *Container) checkTimes(of trace.Probe, p *v1.Probe) error {
	if p == nil {
		return nil
	}
	name := c.settings.Container
	if err := tooLongGrace(p.TerminationGracePeriodSeconds,
		fmt.Sprintf("the %s probe of container %s", of, name)); err != nil {
		return err
	}
	for _, field := range []struct {
		name    string
		seconds int32
	}{{"periodSeconds", p.PeriodSeconds}, {"timeoutSeconds", p.TimeoutSeconds},
		{"initialDelaySeconds", p.InitialDelaySeconds}} {
		if field.seconds > LongestTime {
			return fmt.Errorf("container %s: %s of the %s probe is %d; bounds need at most %d", name, field.name, of,
				field.seconds, LongestTime)
		}
	}
	return nil
}

func tooLongGrace(grace *int64, of string) error {
	if grace != nil && *grace > LongestGracePeriod {
		return fmt.Errorf("terminationGracePeriodSeconds of %s is %d; bounds need at most %d", of, *grace,
			LongestGracePeriod)
	}
	return nil
}

// grace is the time that the kubelet gives the program between the begin of a stop and SIGKILL.
func (c *Container) grace() time.Duration {
	if g := c.pod.TerminationGracePeriodSeconds; g != nil {
		return time.Duration(*g) * time.Second
	}
	return 30 * time.Second
}

// killer returns the probe that stops the container if it does not come up, or nil.
func (c *Container) killer() *probe {
	if c.startup != nil {
		return c.startup
	}
	return c.liveness
}

// waiting returns the probe that first decides when the container becomes ready, or nil.
func (c *Container) waiting() *probe {
	if c.startup != nil {
		return c.startup
	}
	return c.readiness
}

// restarts reports whether an instance that fails is followed by another one.
func (c *Container) restarts() bool { return podutil.ContainerShouldRestart(c.spec, c.pod, failed) }

// failed is the exit code of a program that fails.
const failed = 1

// scoped reports whether a probe belongs to one instance of the container, as with
// ContainerScopedProbes of 1.38.
func (c *Container) scoped() bool { return c.settings.Profile.ContainerScopedProbes }

// alone reports whether no other container of the pod runs beside the container, and nothing else
// decides when the pod is ready.
func (c *Container) alone() bool {
	for i := range c.pod.InitContainers {
		if podutil.IsRestartableInitContainer(&c.pod.InitContainers[i]) {
			return false
		}
	}
	return len(c.pod.Containers) == 1 && len(c.pod.ReadinessGates) == 0
}

// hooked reports whether a hook runs when the container has started. The kubelet shows the start
// after the hook.
func (c *Container) hooked() bool {
	return c.spec.Lifecycle != nil && c.spec.Lifecycle.PostStart != nil
}

// alwaysRestarts reports whether an instance that ends is followed by another one, whatever its
// exit code.
func (c *Container) alwaysRestarts() bool { return c.pod.RestartPolicy == v1.RestartPolicyAlways }

// sidecar reports whether the container is an init container that goes on. The next container
// starts once it has started.
func (c *Container) sidecar() bool { return podutil.IsRestartableInitContainer(c.spec) }

// Version returns the version of Kubernetes.
func (c *Container) Version() string { return c.settings.Profile.Version }

// Misfortune is what happens to a healthy program.
type Misfortune string

const (
	// Hang is a program that does not answer. Requests that arrive in the meantime get no answer at
	// all.
	Hang Misfortune = "hang"
	// Stall is a program that stands still, as in a garbage collection, and answers the requests
	// that have arrived in the meantime when it goes on.
	Stall Misfortune = "stall"
	// Slow is a program that answers each request, but later than the timeout of the probe. It
	// still accepts connections at once.
	Slow Misfortune = "slow"
	// Refuse is a program that refuses connections, or whose commands fail.
	Refuse Misfortune = "down"
	// Fail is a program that answers each request at once, with a failure: status 503, NOT_SERVING,
	// or an exit code.
	Fail Misfortune = "fail"
)
