package bounds

import (
	"errors"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/podutil"
	"probesim.dev/kube/profile"
	"probesim.dev/prober"
	"probesim.dev/trace"
)

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
