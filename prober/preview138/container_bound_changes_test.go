package preview138

import (
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/prober"
	"probesim.dev/sim"
)

// change updates the probes of the pod, whose container runs as c1, and syncs it.
func (b *bound) change(at time.Duration, change func(*v1.Container)) {
	b.at(at, func(p *sim.Proc) {
		b.pod = b.pod.DeepCopy()
		change(&b.pod.Spec.Containers[0])
		b.ensure(p, prober.Instance{Name: "app", ContainerID: "c1", StartedAt: epoch})
		b.logf("%s", b.status("c1"))
	})
}

// With both gates, an update of a pod changes the probes of its running instances. Each row is one
// change at 12 s, or at 2 s of a run that is in progress.
func TestChangesOfBoundProbes(t *testing.T) {
	for _, test := range []struct {
		name   string
		before func(*v1.Container)
		took   time.Duration
		at     time.Duration // of the change, 12 s if 0
		change func(*v1.Container)
		until  time.Duration
		want   string // from the change on
	}{
		{
			name: "a shorter period counts from the end of the last run", before: readiness(0, 10), took: time.Second,
			change: func(c *v1.Container) { c.ReadinessProbe.PeriodSeconds = 3 }, until: 20 * time.Second,
			want: `
12s event ContainerProbeChanged: Container app: readiness probe updated
12s started=true ready=true
15s readiness probes c1
19s readiness probes c1`,
		},
		{
			name: "a period that has passed", before: readiness(0, 10),
			at:     18 * time.Second,
			change: func(c *v1.Container) { c.ReadinessProbe.PeriodSeconds = 5 }, until: 24 * time.Second,
			want: `
18s event ContainerProbeChanged: Container app: readiness probe updated
18s readiness probes c1
18s started=true ready=true
23s readiness probes c1`,
		},
		{
			name: "a shorter delay", before: readiness(60, 10),
			change: func(c *v1.Container) { c.ReadinessProbe.InitialDelaySeconds = 15 }, until: 20 * time.Second,
			want: `
12s event ContainerProbeChanged: Container app: readiness probe updated
12s started=true ready=false
15s readiness of c1 is Success
15s readiness probes c1`,
		},
		{
			name: "a delay after the first run", before: readiness(0, 10),
			change: func(c *v1.Container) { c.ReadinessProbe.InitialDelaySeconds = 60 }, until: 25 * time.Second,
			want: `
12s event ContainerProbeChanged: Container app: readiness probe updated
12s started=true ready=true
20s readiness probes c1`,
		},
		{
			name: "a timeout runs the probe at once and discards the run in progress", before: readiness(0, 10),
			took:   5 * time.Second,
			at:     2 * time.Second,
			change: func(c *v1.Container) { c.ReadinessProbe.TimeoutSeconds = 9 }, until: 20 * time.Second,
			want: `
2s event ContainerProbeChanged: Container app: readiness probe updated
2s readiness probes c1
2s started=true ready=false
7s readiness of c1 is Success
17s readiness probes c1`,
		},
		{
			name: "a readiness probe is added", before: func(*v1.Container) {},
			change: func(c *v1.Container) { c.ReadinessProbe = probeSpec(0, 10, 3) }, until: 20 * time.Second,
			want: `
12s event ContainerProbeChanged: Container app: readiness probe added
12s readiness of c1 is Failure
12s readiness of c1 is Success
12s readiness probes c1
12s started=true ready=false`,
		},
		{
			name: "a readiness probe is removed", before: readiness(60, 10),
			change: func(c *v1.Container) { c.ReadinessProbe = nil }, until: 80 * time.Second,
			want: `
12s event ContainerProbeChanged: Container app: readiness probe removed
12s started=true ready=true`,
		},
		{
			name: "a startup probe is removed", before: func(c *v1.Container) {
				c.StartupProbe, c.LivenessProbe = probeSpec(60, 10, 3), probeSpec(0, 20, 3)
			},
			change: func(c *v1.Container) { c.StartupProbe = nil }, until: 20 * time.Second,
			want: `
12s event ContainerProbeChanged: Container app: startup probe removed
12s liveness of c1 is Success
12s liveness probes c1
12s started=true ready=true`,
		},
		{
			name: "a startup probe is added to a started container", before: readiness(0, 10),
			change: func(c *v1.Container) { c.StartupProbe = probeSpec(0, 10, 3) }, until: 25 * time.Second,
			want: `
12s event ContainerProbeChanged: Container app: startup probe added
12s started=true ready=true
20s readiness probes c1`,
		},
		{
			name: "an update of something else", before: readiness(0, 10),
			change: func(c *v1.Container) { c.Image = "web:2" }, until: 25 * time.Second,
			want: `
12s started=true ready=true
20s readiness probes c1`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBound(t, boundOptions{mutable: true}, test.before)
			b.took = test.took
			b.at(0, func(p *sim.Proc) { b.start(p, "c1") })
			at := test.at
			if at == 0 {
				at = 12 * time.Second
			}
			b.until(at - 1)
			b.log = nil
			b.change(at, test.change)
			b.want(test.until, test.want)
		})
	}
}

// A threshold begins a new count and keeps the schedule: the failures are at 0, 10, 20 and 30 s.
func TestChangedThresholdCountsAnew(t *testing.T) {
	b := newBound(t, boundOptions{mutable: true}, func(c *v1.Container) { c.LivenessProbe = probeSpec(0, 10, 3) })
	b.results["liveness"] = "fail"
	b.at(0, func(p *sim.Proc) { b.start(p, "c1") })
	b.until(12 * time.Second)
	b.log = nil
	b.change(12*time.Second, func(c *v1.Container) { c.LivenessProbe.FailureThreshold = 2 })
	b.want(time.Minute, `
12s event ContainerProbeChanged: Container app: liveness probe updated
12s started=true ready=true
20s liveness probes c1
20s event Unhealthy: Liveness probe failed:
30s liveness probes c1
30s event Unhealthy: Liveness probe failed:
30s liveness of c1 is Failure`)
}

// A new instance begins with the probes as they are then.
func TestNewInstanceHasTheChangedProbe(t *testing.T) {
	b := newBound(t, boundOptions{mutable: true}, readiness(60, 10))
	b.at(0, func(p *sim.Proc) { b.start(p, "c1") })
	b.change(12*time.Second, func(c *v1.Container) { c.StartupProbe = probeSpec(3, 10, 3) })
	b.at(20*time.Second, func(p *sim.Proc) { b.start(p, "c2") })
	b.until(19 * time.Second)
	b.log = nil
	b.want(30*time.Second, `
20s startup of c2 is Unknown
23s startup probes c2
23s startup of c2 is Success
23s readiness of c2 is Failure`)
}
