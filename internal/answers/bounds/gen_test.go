package bounds_test

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/answers/check"
	"probesim.dev/kube/profile"
	"probesim.dev/trace"
)

// long reports whether large samples are drawn.
var long = os.Getenv("PROBESIM_LONG") != ""

// The same examples are drawn each time; .ci/nightly draws new ones with -rapid.seed.
var _ = flag.Set("rapid.seed", "1")
var _ = flag.Set("rapid.nofailfile", "true")
var _ = flag.Set("rapid.checks", map[bool]string{false: "15", true: "3000"}[long])

// Sorts of containers and nodes.
type sort struct {
	name    string
	usual   bool // numbers that published manifests have
	grpc    bool // gRPC probes only
	varied  bool // other containers, hooks, restart policies and the preview of v1.38
	typical bool // typical nodes only
}

var sorts = []sort{
	{name: "usual", usual: true, typical: true},
	{name: "unusual"},
	{name: "unusual numbers", typical: true},
	{name: "grpc", grpc: true},
	{name: "varied", varied: true},
	{name: "varied usual", varied: true, usual: true, typical: true},
}

// drawProbe draws a probe with any handler. Its numbers are small, and its timeout can exceed its
// period, unless they are usual.
func (o sort) drawProbe(t *rapid.T, name string) *v1.Probe {
	number := func(field string, lo, hi int32, published ...int32) int32 {
		if o.usual {
			return rapid.SampledFrom(published).Draw(t, name+" "+field)
		}
		return rapid.Int32Range(lo, hi).Draw(t, name+" "+field)
	}
	p := &v1.Probe{
		PeriodSeconds:    number("period", 1, 10, 5, 10, 10, 15, 20, 30),
		FailureThreshold: number("threshold", 1, 5, 1, 3, 3, 3, 5, 6),
		TimeoutSeconds:   number("timeout", 1, 4, 1, 1, 1, 3, 5),
	}
	if rapid.Bool().Draw(t, name+" has delay") {
		p.InitialDelaySeconds = number("delay", 1, 15, 5, 10, 15, 20, 30, 60)
	}
	handler := "grpc"
	if !o.grpc {
		handler = rapid.SampledFrom([]string{"http", "tcp", "exec", "https"}).Draw(t, name)
	}
	switch handler {
	case "http":
		p.HTTPGet = &v1.HTTPGetAction{Port: intstr.FromInt32(80)}
	case "https":
		p.HTTPGet = &v1.HTTPGetAction{Port: intstr.FromInt32(80), Scheme: v1.URISchemeHTTPS}
	case "tcp":
		p.TCPSocket = &v1.TCPSocketAction{Port: intstr.FromInt32(80)}
	case "exec":
		p.Exec = &v1.ExecAction{Command: []string{"check"}}
	case "grpc":
		p.GRPC = &v1.GRPCAction{Port: 80}
	}
	return p
}

// onlyLiveness is what a figure needs of a container that has at most a liveness probe.
const onlyLiveness trace.Probe = "at most liveness"

// drawSubject draws a container, which has a probe of at least one type unless a figure needs at
// most a liveness probe, and its nodes.
func (o sort) drawSubject(t *rapid.T, needs trace.Probe) *Subject {
	// pulled always if there is no tag
	c := v1.Container{Name: "app", Image: rapid.SampledFrom([]string{"app:1", "app"}).Draw(t, "image")}
	for _, one := range []struct {
		probe trace.Probe
		field **v1.Probe
	}{{trace.Startup, &c.StartupProbe}, {trace.Liveness, &c.LivenessProbe}, {trace.Readiness, &c.ReadinessProbe}} {
		if needs == onlyLiveness && one.probe != trace.Liveness {
			continue
		}
		if rapid.Bool().Draw(t, "has "+string(one.probe)) || one.probe == needs {
			*one.field = o.drawProbe(t, string(one.probe))
		}
	}
	if needs == "" && c.StartupProbe == nil && c.ReadinessProbe == nil {
		c.ReadinessProbe = o.drawProbe(t, "readiness")
	}
	if c.ReadinessProbe != nil && !o.usual {
		c.ReadinessProbe.SuccessThreshold = rapid.SampledFrom([]int32{1, 1, 1, 2, 3}).Draw(t, "successes")
	}
	versions := profile.Names()
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: v1.PodSpec{Containers: []v1.Container{c}}}
	if o.varied {
		vary(t, pod)
		versions = profile.NamesWithPreviews()
	}
	p, _ := profile.Named(rapid.SampledFrom(versions).Draw(t, "version"))
	admitted, err := check.Admit(pod, p)
	if err != nil {
		t.Fatal(err)
	}
	delays := o.drawNodes(t)
	b, err := admitted.Bounds("app", delays)
	if err != nil {
		t.Fatal(err)
	}
	return &Subject{Admitted: admitted, Container: "app", Delays: delays, Bounds: b}
}

// spans are the greatest delays that a drawn node has.
var spans = map[string]time.Duration{
	"RunPodSandbox": 6 * time.Second, "ImagePull": 20 * time.Second, "CreateContainer": time.Second,
	"StartContainer": time.Second,
	"StopContainer":  time.Second, "APIGet": 200 * time.Millisecond, "APIPatch": 300 * time.Millisecond,
	"ListPodSandbox": 50 * time.Millisecond, "ListContainers": 50 * time.Millisecond,
	"PodSandboxStatus": 50 * time.Millisecond, "ContainerStatus": 50 * time.Millisecond,
	"Exec": 600 * time.Millisecond, "HTTPGet": 600 * time.Millisecond, "TCPSocket": 600 * time.Millisecond,
}

// drawNodes draws nodes. About half of their delays have a range.
func (o sort) drawNodes(t *rapid.T) fakeruntime.Delays {
	var d fakeruntime.Delays
	if o.typical {
		d, _ = fakeruntime.DelaySet("typical")
		return d
	}
	all := reflect.ValueOf(&d).Elem()
	for i := range all.NumField() {
		name := all.Type().Field(i).Name
		span := spans[name]
		if span == 0 || !rapid.Bool().Draw(t, "range of "+name) {
			continue
		}
		lo := time.Duration(rapid.Int64Range(0, int64(span)).Draw(t, "least "+name))
		hi := time.Duration(rapid.Int64Range(int64(lo), int64(span)).Draw(t, "greatest "+name))
		all.Field(i).Set(reflect.ValueOf(&fakeruntime.Draw{Min: lo, Max: hi}))
	}
	return d
}

// vary adds to a pod what its container can have beside its probes: other containers, hooks, and
// another restart policy.
func vary(t *rapid.T, pod *v1.Pod) {
	spec := &pod.Spec
	spec.RestartPolicy = rapid.SampledFrom([]v1.RestartPolicy{v1.RestartPolicyAlways, v1.RestartPolicyAlways,
		v1.RestartPolicyOnFailure, v1.RestartPolicyNever}).Draw(t, "policy")
	drawHooks(t, &spec.Containers[0])
	other := func(name string) v1.Container {
		c := v1.Container{Name: name, Image: rapid.SampledFrom([]string{"other:1", "other"}).Draw(t, "image of "+name)}
		drawHooks(t, &c)
		if rapid.IntRange(0, 3).Draw(t, "probes of "+name) == 0 {
			c.ReadinessProbe = &v1.Probe{
				PeriodSeconds:       rapid.Int32Range(1, 10).Draw(t, "period of "+name),
				InitialDelaySeconds: rapid.Int32Range(0, 10).Draw(t, "delay of "+name),
				ProbeHandler:        v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Port: intstr.FromInt32(80)}},
			}
		}
		return c
	}
	switch rapid.SampledFrom([]string{"none", "before", "after", "both", "init", "sidecar", "itself a sidecar"}).
		Draw(t, "others") {
	case "before":
		spec.Containers = append([]v1.Container{other("first")}, spec.Containers...)
	case "after":
		spec.Containers = append(spec.Containers, other("last"))
	case "both":
		spec.Containers = append([]v1.Container{other("first")}, append(spec.Containers, other("last"))...)
	case "init":
		spec.InitContainers = []v1.Container{{Name: "init", Image: "init:1"}}
	case "sidecar":
		sidecar := other("sidecar")
		sidecar.RestartPolicy = new(v1.ContainerRestartPolicyAlways)
		spec.InitContainers = []v1.Container{sidecar}
	case "itself a sidecar":
		spec.InitContainers, spec.Containers = spec.Containers, []v1.Container{other("last")}
		spec.InitContainers[0].RestartPolicy = new(v1.ContainerRestartPolicyAlways)
	}
}

// drawHooks gives a container hooks of any kind, or none.
func drawHooks(t *rapid.T, c *v1.Container) {
	hook := func(field string) *v1.LifecycleHandler {
		switch rapid.SampledFrom([]string{"none", "none", "exec", "http", "sleep", "script"}).
			Draw(t, field+" of "+c.Name) {
		case "exec":
			return &v1.LifecycleHandler{Exec: &v1.ExecAction{Command: []string{"warm-up"}}}
		case "script":
			return &v1.LifecycleHandler{Exec: &v1.ExecAction{Command: []string{"sleep", "3"}}}
		case "http":
			return &v1.LifecycleHandler{HTTPGet: &v1.HTTPGetAction{Port: intstr.FromInt32(80)}}
		case "sleep":
			return &v1.LifecycleHandler{Sleep: &v1.SleepAction{Seconds: rapid.Int64Range(1, 8).
				Draw(t, field+" seconds")}}
		}
		return nil
	}
	if after, stop := hook("postStart"), hook("preStop"); after != nil || stop != nil {
		c.Lifecycle = &v1.Lifecycle{PostStart: after, PreStop: stop}
	}
}

// show describes a container.
func show(s *Subject) string {
	out := fmt.Sprintf("%s, restart policy %s", s.Profile.Version, s.Pod.Spec.RestartPolicy)
	for _, c := range append(s.Pod.Spec.InitContainers[:len(s.Pod.Spec.InitContainers):len(s.Pod.Spec.InitContainers)],
		s.Pod.Spec.Containers...) {
		out += fmt.Sprintf("\n%s pulls %s", c.Name, c.ImagePullPolicy)
		if c.Lifecycle != nil {
			out += fmt.Sprintf(" %v", c.Lifecycle)
		}
		for _, p := range []*v1.Probe{c.StartupProbe, c.LivenessProbe, c.ReadinessProbe} {
			if p != nil {
				out += fmt.Sprintf("\n  delay %d period %d threshold %d timeout %d success %d %v",
					p.InitialDelaySeconds, p.PeriodSeconds, p.FailureThreshold, p.TimeoutSeconds, p.SuccessThreshold,
					p.ProbeHandler)
			}
		}
	}
	return out
}
