package kubelet

import (
	"fmt"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/sim"
)

// podWithInit returns a pod with the regular container app and init containers as words say; those with a + are
// sidecars with a startup and a liveness probe, those with a * sidecars without probes.
func podWithInit(policy v1.RestartPolicy, init string) *v1.Pod {
	always := v1.ContainerRestartPolicyAlways
	pod := &v1.Pod{Spec: v1.PodSpec{RestartPolicy: policy, Containers: []v1.Container{{Name: "app"}}}}
	for word := range strings.FieldsSeq(init) {
		c := v1.Container{Name: strings.TrimRight(word, "+*")}
		if c.Name != word {
			c.RestartPolicy = &always
		}
		if strings.HasSuffix(word, "+") {
			c.StartupProbe, c.LivenessProbe = &v1.Probe{}, &v1.Probe{}
		}
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, c)
	}
	return pod
}

// What a sync does about init containers, by what the sandbox has of them (computeInitContainerActions in
// pkg/kubelet/kuberuntime/kuberuntime_container.go). Containers are written NAME STATE; those of another
// sandbox have a -.
func TestInitContainerActions(t *testing.T) {
	const always, onFailure, never = v1.RestartPolicyAlways, v1.RestartPolicyOnFailure, v1.RestartPolicyNever
	for _, c := range []struct {
		policy     v1.RestartPolicy
		init       string
		containers string
		want       string
	}{
		{always, "a b", "", "start a"},
		{always, "a b", "a created", "start a"},
		{always, "a b", "a running", "nothing"},
		{always, "a b", "a exit 0", "start b"},
		{always, "a b", "a exit 1", "start a"},
		{onFailure, "a b", "a exit 1", "start a"},
		{never, "a b", "a exit 1", "kill the pod"},
		{always, "a b", "a exit 0, b running", "nothing"},
		{never, "a b", "a exit 0, b exit 0", "start app"},
		{always, "a b", "b exit 0", "start app"}, // a has been removed: b comes after it
		{always, "a b", "a exit 0, b exit 0, app running", "nothing"},
		{always, "a b", "app exit 1", "start app"},
		{always, "a b", "-app exit 1", "start a"}, // of a sandbox that is gone

		{always, "a* b", "a running", "start b"},
		{always, "a* b", "a exit 1", "start a"},
		{never, "a* b", "a exit 0", "start a"},
		{always, "a* b", "a exit 1, b running", "start a"},
		{always, "a* b", "b running", "start a"}, // it has been removed
		{always, "a* b*", "a running, b exit 0", "start b"},
		{always, "a* b*", "a running, b running", "start app"},
		{always, "a*", "a exit 1, app running", "start a"},
		{never, "a*", "a running, app exit 0", "kill the pod"},
		{never, "a*", "a exit 1, app exit 0", "kill the pod"},

		{always, "a+ b", "a running", "nothing"},
		{always, "a+ b", "a running startup=Unknown", "nothing"},
		{always, "a+ b", "a running startup=Success", "start b"},
		{always, "a+ b", "a running startup=Failure", "kill a for StartupProbe (Init container a failed startup probe), start a"},
		{always, "a+ b", "a running startup=Success liveness=Failure", "kill a for LivenessProbe (Init container a failed liveness probe), start a b"},
		{always, "a+ b", "a running startup=Unknown liveness=Failure", "nothing"},
		{never, "a+", "a running startup=Failure, app running", "kill a for StartupProbe (Init container a failed startup probe), start a"},
		{always, "a* b+", "a exit 1, b running startup=Failure", "kill b for StartupProbe (Init container b failed startup probe), start a b"},
	} {
		t.Run(fmt.Sprint(c.policy, ", ", c.init, ", ", c.containers), func(t *testing.T) {
			w := newBackOffWorld(t)
			s := &podStatus{sandboxes: []fakeruntime.Sandbox{{ID: "s", Ready: true}}}
			for part := range strings.SplitSeq(c.containers, ", ") {
				name, words, ok := strings.Cut(part, " ")
				if !ok {
					continue
				}
				w.addContainer(s, strings.TrimPrefix(name, "-"), words)
				if strings.HasPrefix(name, "-") {
					s.containers[len(s.containers)-1].SandboxID = "gone"
				}
			}
			if got := w.computePodActions(podWithInit(c.policy, c.init), s, false).text(); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// Before 1.37 a pod is initialized while a regular container runs: the restart of a sidecar holds up one that crashed.
func TestInitializedWhileOneRuns(t *testing.T) {
	for containers, want := range map[string][2]string{
		"a running, app exit 1":  {"nothing", "start app"},
		"a exit 1, app exit 1":   {"start a", "start a app"},
		"a exit 1, app running":  {"start a", "start a"},
		"a exit 1, app created":  {"start a app", "start a app"},
		"a running, app running": {"nothing", "nothing"},
	} {
		for i, initializedBySandbox := range []bool{false, true} {
			w := newBackOffWorld(t)
			w.profile.InitializedBySandbox = initializedBySandbox
			s := &podStatus{sandboxes: []fakeruntime.Sandbox{{ID: "s", Ready: true}}}
			for part := range strings.SplitSeq(containers, ", ") {
				name, words, _ := strings.Cut(part, " ")
				w.addContainer(s, name, words)
			}
			if got := w.computePodActions(podWithInit(v1.RestartPolicyAlways, "a+"), s, false).text(); got != want[i] {
				t.Errorf("%s, InitializedBySandbox %v: got %s, want %s", containers, initializedBySandbox, got, want[i])
			}
		}
	}
}

// A new sandbox begins with the first init container, unless everything has been done.
func TestSandboxOfAPodWithInitContainers(t *testing.T) {
	for app, want := range map[string]string{
		"exit 1": "kill the pod, create sandbox 1, start a",
		"exit 0": "kill the pod",
	} {
		w := newBackOffWorld(t)
		s := &podStatus{sandboxes: []fakeruntime.Sandbox{{ID: "s"}}}
		w.addContainer(s, "a", "exit 0")
		w.addContainer(s, "app", app)
		if got := w.computePodActions(podWithInit(v1.RestartPolicyOnFailure, "a b"), s, false).text(); got != want {
			t.Errorf("app %s: got %s, want %s", app, got, want)
		}
	}
}

// The phase of a pod by its init containers (getPhase in pkg/kubelet/kubelet_pods.go), in the words of
// TestPhaseOf; started is a sidecar that has.
func TestPhaseOfInitContainers(t *testing.T) {
	for _, c := range []struct {
		policy           v1.RestartPolicy
		init             string
		states           string // of the init containers and of app
		initialized, end bool
		want             v1.PodPhase
	}{
		{v1.RestartPolicyAlways, "a b", "waiting waiting waiting", false, false, v1.PodPending},
		{v1.RestartPolicyAlways, "a b", "done running waiting", false, false, v1.PodPending},
		{v1.RestartPolicyAlways, "a b", "failed waiting waiting", false, false, v1.PodPending},
		{v1.RestartPolicyAlways, "a b", "crashed waiting waiting", false, false, v1.PodPending},
		{v1.RestartPolicyNever, "a b", "failed waiting waiting", false, false, v1.PodFailed},
		{v1.RestartPolicyOnFailure, "a b", "failed waiting waiting", false, false, v1.PodPending},
		{v1.RestartPolicyAlways, "a b", "done done running", true, false, v1.PodRunning},
		{v1.RestartPolicyAlways, "a*", "running running", false, false, v1.PodPending},
		{v1.RestartPolicyAlways, "a*", "running running", true, false, v1.PodRunning},
		{v1.RestartPolicyAlways, "a*", "started running", false, false, v1.PodRunning},
		{v1.RestartPolicyAlways, "a*", "waiting running", true, false, v1.PodPending},
		{v1.RestartPolicyAlways, "a*", "crashed running", true, false, v1.PodRunning},
		{v1.RestartPolicyNever, "a*", "started done", true, false, v1.PodRunning},
		{v1.RestartPolicyNever, "a*", "failed done", true, false, v1.PodSucceeded},
		{v1.RestartPolicyNever, "a*", "failed failed", true, true, v1.PodFailed},
	} {
		pod := podWithInit(c.policy, c.init)
		var all []v1.ContainerStatus
		words := strings.Fields(c.states)
		for i, name := range append(strings.FieldsFunc(c.init, func(r rune) bool { return strings.ContainsRune(" +*", r) }), "app") {
			all = append(all, stateWith(name, words[i]))
		}
		n := len(all) - 1
		s := &v1.PodStatus{InitContainerStatuses: all[:n], ContainerStatuses: all[n:]}
		if got := getPhase(pod, s, c.end, c.initialized); got != c.want {
			t.Errorf("%s, %s: %s: %s, want %s", c.policy, c.init, c.states, got, c.want)
		}
	}
}

func stateWith(name, word string) v1.ContainerStatus {
	c := v1.ContainerStatus{Name: name}
	failed := &v1.ContainerStateTerminated{ExitCode: 1}
	switch word {
	case "waiting":
		c.State.Waiting = &v1.ContainerStateWaiting{}
	case "done":
		c.State.Terminated = &v1.ContainerStateTerminated{}
	case "failed":
		c.State.Terminated = failed
	case "crashed":
		c.State.Waiting, c.LastTerminationState.Terminated = &v1.ContainerStateWaiting{}, failed
	default:
		started := word == "started"
		c.State.Running, c.Started = &v1.ContainerStateRunning{}, &started
	}
	return c
}

// A sidecar is stopped when the regular containers and the sidecars after it are gone, or when its grace period
// is over (pkg/kubelet/kuberuntime/kuberuntime_termination_order.go).
func TestTerminationOrder(t *testing.T) {
	for _, c := range []struct {
		init  string
		ends  map[string]time.Duration // when a running container is gone, after its turn has come
		grace int64
		want  string // when the turns come, and the seconds that count against the grace period
	}{
		{"a* b*", map[string]time.Duration{"app": 5500 * time.Millisecond, "a": time.Second, "b": 2 * time.Second}, 30, "app 0s 0, b 5.5s 5, a 7.5s 7"},
		{"a* b*", map[string]time.Duration{"app": 5500 * time.Millisecond, "a": time.Second}, 30, "app 0s 0, a 5.5s 5"},
		{"a* b*", map[string]time.Duration{"a": time.Second, "b": 2 * time.Second}, 30, "b 0s 0, a 2s 2"},
		{"a*", map[string]time.Duration{"app": time.Minute, "a": time.Second}, 30, "app 0s 0, a 30s 30"},
		{"a*", map[string]time.Duration{"app": 30 * time.Second, "a": time.Second}, 30, "app 0s 0, a 30s 30"},
		{"a*", map[string]time.Duration{"app": time.Minute, "a": time.Second}, 0, "app 0s 0, a 0s 0"},
		{"a b*", map[string]time.Duration{"a": time.Minute, "b": time.Second}, 30, "a 0s 0, b 0s 0"},
		{"a", map[string]time.Duration{"app": time.Minute, "a": time.Second}, 30, "app 0s 0, a 0s 0"},
	} {
		w := sim.New(sim.Options{})
		var running []fakeruntime.Container
		var got []string
		for _, name := range []string{"app", "a", "b"} {
			if c.ends[name] > 0 {
				running = append(running, fakeruntime.Container{Name: name})
			}
		}
		order := newTerminationOrder(podWithInit(v1.RestartPolicyAlways, c.init), running)
		for _, r := range running {
			w.Go("killer of "+r.Name, func(p *sim.Proc) {
				waited := order.waitForTurn(p, r.Name, c.grace)
				got = append(got, fmt.Sprint(r.Name, " ", p.Now(), " ", waited))
				p.Sleep(c.ends[r.Name])
				order.terminated(r.Name)
			})
		}
		if err := w.RunUntil(time.Hour); err != nil {
			t.Fatal(err)
		}
		w.Close()
		if text := strings.Join(got, ", "); text != c.want {
			t.Errorf("%s, grace period %d: %s, want %s", c.init, c.grace, text, c.want)
		}
	}
}
