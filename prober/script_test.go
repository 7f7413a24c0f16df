package prober

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"probesim.dev/internal/podutil"
	"probesim.dev/kube/profile"
	"probesim.dev/sim"
	"probesim.dev/sim/virtual"
)

func TestScripts(t *testing.T) { RunScripts(t, "testdata", NewManager) }

// RunScripts runs the scripts in a directory, which document the behavior of workers and of their
// manager. The command is
//
//	run [CONTAINER.]PROBE=(FIELD:N, FIELD:N...) [FIELD=VALUE...] until=T
//
// The default CONTAINER is app. The container sidecar is a restartable init container. The fields
// of a probe are period, delay, success, failure and timeout. A probe runs a command, unless it has
// the field http, https, tcp or grpc with a port number or port name. The kubelet adds the pod at 0
// s. Each line of the input is an action at a time:
//
//	T CONTAINER running ID [at=T] [started] [ready]   store a status in which the container runs
//	T CONTAINER waiting [ID]        store a status in which the container waits
//	T CONTAINER exited ID CODE      store a status in which the container has terminated
//	T phase PHASE                   store a phase
//	T no status                     remove the stored status
//	T answers PROBE ANSWER...       set the outcomes of the next runs; the last outcome repeats. A command has ok, fail,
//	                                timeout or error. A network probe has ok, CODE, CODE>LOCATION, refused, timeout,
//	                                hang, silent, closed, reset or broken. /TIME sets the duration.
//	T sync                          generate the pod's status and store it
//	T add                           call ReconcilePod again, as each sync does
//	T probe [CONTAINER.]PROBE (FIELD:N,...)|none   change, add or remove a probe and call ReconcilePod; no spaces within ()
//	T stop                          call StopLivenessAndStartup
//	T remove                        call RemovePod
//	T workers                       print the workers and the stored results
//
// The output has the probe runs when they end, the results when the sync loop receives them, and
// the events. With verbose it also has the reasons why a worker skips a probe.
func RunScripts(t *testing.T, dir string, newManager func(Options) Manager) {
	datadriven.Walk(t, dir, func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd != "run" {
				d.Fatalf(t, "unknown command %q; there is only run", d.Cmd)
			}
			return runScript(t, d, newManager)
		})
	})
}

func runScript(t *testing.T, d *datadriven.TestData, newManager func(Options) Manager) string {
	w := newWorld(worldOptions{
		t: t, pod: podOf(t, d), uptime: duration(t, d, "uptime", time.Hour), profile: profileOf(t, d),
		verbose:    d.HasArg("verbose"),
		newManager: newManager,
	})
	defer w.sim.Close()
	w.sim.At(0, "add", w.reconcile)
	// At the same instant, the actions run before the workers.
	for line := range strings.Lines(d.Input) {
		f := strings.Fields(line)
		at, err := time.ParseDuration(f[0])
		if err != nil {
			d.Fatalf(t, "%q: begin with a time", line)
		}
		w.sim.At(virtual.At(at), "line", func() { w.do(f[1:]) })
	}
	w.runUntil(duration(t, d, "until", 0))
	return w.out.String()
}

// do executes one line of a script, without its time.
func (w *world) do(f []string) {
	switch f[0] {
	case "phase":
		w.status.Phase = v1.PodPhase(f[1])
	case "no":
		w.known = false
	case "answers":
		w.answers[f[1]] = f[2:]
	case "sync":
		w.syncPod()
	case "add":
		w.reconcile()
	case "probe":
		w.changeProbe(f[1], f[2])
	case "stop":
		w.managed.StopLivenessAndStartup(nil, w.pod)
	case "remove":
		w.managed.RemovePod(nil, w.pod)
	case "workers":
		w.log("%s", w.workers())
	default:
		w.setContainer(f[0], f[1], f[2:])
	}
}

// reconcile calls ReconcilePod. A manager of mutable probes stores results, so it needs a process.
func (w *world) reconcile() {
	if w.manager != nil {
		w.manager.ReconcilePod(nil, w.pod)
		return
	}
	w.sim.Go("pod worker", func(p *sim.Proc) {
		if w.managed.ReconcilePod(p, w.pod) {
			w.log("the status can change")
		}
	})
}

// changeProbe adds, changes or removes a probe, as an update of the pod does.
func (w *world) changeProbe(probe, spec string) {
	name, probe, ok := strings.Cut(probe, ".")
	if !ok {
		name, probe = "app", name
	}
	pod := w.pod.DeepCopy()
	to := probeField(containerOf(pod, name), probe)
	*to = nil
	if spec != "none" {
		*to = probeOf(w.t, strings.FieldsFunc(spec, func(c rune) bool { return strings.ContainsRune("(,)", c) }))
	}
	w.pod = pod
	w.reconcile()
}

func probeField(c *v1.Container, probe string) **v1.Probe {
	return map[string]**v1.Probe{"startup": &c.StartupProbe, "readiness": &c.ReadinessProbe,
		"liveness": &c.LivenessProbe}[probe]
}

// setContainer stores a status of a container.
func (w *world) setContainer(name, state string, args []string) {
	w.known = true
	c := FindContainerStatus(&w.status, name)
	if c == nil {
		list := &w.status.ContainerStatuses
		if name == "sidecar" {
			list = &w.status.InitContainerStatuses
		}
		*list = append(*list, v1.ContainerStatus{Name: name})
		c = FindContainerStatus(&w.status, name)
	}
	*c = v1.ContainerStatus{Name: name}
	if len(args) > 0 {
		c.ContainerID = args[0]
	}
	switch state {
	case "running":
		start := w.sim.Now().Offset()
		for _, a := range args[1:] {
			if at, ok := strings.CutPrefix(a, "at="); ok {
				start, _ = time.ParseDuration(at)
			}
		}
		started := slices.Contains(args, "started")
		c.Started, c.Ready = &started, slices.Contains(args, "ready")
		c.State.Running = &v1.ContainerStateRunning{StartedAt: w.second(start)}
	case "waiting":
		c.State.Waiting = &v1.ContainerStateWaiting{}
	case "exited":
		code, _ := strconv.Atoi(args[1])
		c.State.Terminated = &v1.ContainerStateTerminated{ExitCode: int32(code)}
	default:
		w.t.Fatalf("container %s: unknown state %q", name, state)
	}
}

// podOf returns a pod with the probes in the arguments.
func podOf(t *testing.T, d *datadriven.TestData) *v1.Pod {
	pod := &v1.Pod{}
	pod.Namespace, pod.Name, pod.UID = "ns", "web", "uid"
	for _, arg := range d.CmdArgs {
		name, probe, ok := strings.Cut(arg.Key, ".")
		if !ok {
			name, probe = "app", arg.Key
		}
		if !slices.Contains([]string{"startup", "readiness", "liveness"}, probe) {
			continue
		}
		c := containerOf(pod, name)
		*probeField(c, probe) = probeOf(t, arg.Vals)
	}
	if d.HasArg("restart") {
		d.ScanArgs(t, "restart", (*string)(&pod.Spec.RestartPolicy))
	}
	if d.HasArg("deleted") {
		at := epochTime()
		pod.DeletionTimestamp = &at
	}
	if d.HasArg("podready") {
		ready := v1.PodCondition{Type: v1.PodReady}
		d.ScanArgs(t, "podready", (*string)(&ready.Status))
		pod.Status.Conditions = []v1.PodCondition{ready}
	}
	return pod
}

func containerOf(pod *v1.Pod, name string) *v1.Container {
	if c := podutil.Find(pod, name); c != nil {
		return c
	}
	list, c := &pod.Spec.Containers, v1.Container{Name: name}
	if name == "sidecar" {
		list, c.RestartPolicy = &pod.Spec.InitContainers, new(v1.ContainerRestartPolicyAlways)
	}
	*list = append(*list, c)
	return &(*list)[len(*list)-1]
}

// probeOf returns a probe with the defaults of the API and the given fields, each FIELD:N.
func probeOf(t testing.TB, fields []string) *v1.Probe {
	p := &v1.Probe{PeriodSeconds: 10, SuccessThreshold: 1, FailureThreshold: 3, TimeoutSeconds: 1}
	p.Exec = &v1.ExecAction{Command: []string{"check"}}
	for _, f := range fields {
		name, number, _ := strings.Cut(f, ":")
		if handler := networkHandler(name, intstr.Parse(number)); handler != nil {
			p.ProbeHandler = *handler
			continue
		}
		n, err := strconv.Atoi(number)
		to, ok := map[string]*int32{
			"period": &p.PeriodSeconds, "delay": &p.InitialDelaySeconds, "success": &p.SuccessThreshold,
			"failure": &p.FailureThreshold, "timeout": &p.TimeoutSeconds,
		}[name]
		if !ok || err != nil {
			t.Fatalf("unknown field %q of a probe", f)
		}
		*to = int32(n)
	}
	return p
}

// networkHandler returns a network handler for a port, nil if the name is not a network handler.
func networkHandler(name string, port intstr.IntOrString) *v1.ProbeHandler {
	switch name {
	case "http", "https":
		return &v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{
			Path: "/up?now", Port: port, Scheme: v1.URIScheme(strings.ToUpper(name)),
		}}
	case "tcp":
		return &v1.ProbeHandler{TCPSocket: &v1.TCPSocketAction{Port: port}}
	case "grpc":
		return &v1.ProbeHandler{GRPC: &v1.GRPCAction{Port: port.IntVal}}
	}
	return nil
}

// profileOf returns the newest profile, with the fields in the arguments "with" and "without" set
// to true and false.
func profileOf(t *testing.T, d *datadriven.TestData) profile.Profile {
	p := profile.Newest()
	for key, on := range map[string]bool{"with": true, "without": false} {
		if d.HasArg(key) {
			var name string
			d.ScanArgs(t, key, &name)
			reflect.ValueOf(&p).Elem().FieldByName(name).SetBool(on)
		}
	}
	return p
}

func duration(t *testing.T, d *datadriven.TestData, key string, otherwise time.Duration) time.Duration {
	if !d.HasArg(key) {
		return otherwise
	}
	var text string
	d.ScanArgs(t, key, &text)
	v, err := time.ParseDuration(text)
	if err != nil {
		d.Fatalf(t, "%s: %v", key, err)
	}
	return v
}

func (w *world) log(format string, args ...any) {
	fmt.Fprintf(&w.out, "%-6v "+format+"\n", append([]any{w.sim.Now()}, args...)...)
}
