package main

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	podutil "k8s.io/kubernetes/pkg/api/pod"
	"k8s.io/kubernetes/pkg/apis/core"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"

	"probesim.dev/internal/world/apiserver/admission"
	"probesim.dev/kube/profile"
)

// TestGates checks that the API server and package admission drop the same fields of random pods
// under several feature gates, and accept the same pods.
func TestGates(t *testing.T) {
	for _, gates := range []featuregatetesting.FeatureOverrides{
		nil,
		{"RestartAllContainersOnContainerExits": false},
		{"RestartAllContainersOnContainerExits": false, "ContainerRestartRules": false},
		{"GRPCContainerProbeTLS": true},
		{"H2CContainerProbe": true},
		{"ContainerStopSignals": true},
	} {
		t.Run(fmt.Sprint(gates), func(t *testing.T) {
			p := profile.V1_37
			for name, on := range gates {
				var err error
				if p, err = p.SetGate(string(name), on); err != nil {
					t.Fatal(err)
				}
			}
			featuregatetesting.SetFeatureGatesDuringTest(t,
				utilfeature.DefaultFeatureGate.(featuregate.MutableVersionedFeatureGate), gates)
			valid, different := 0, 0
			for seed := uint64(0); seed < 3000 && different < 5; seed++ {
				pod := withGatedFields(seed)
				ours, theirs := pod.DeepCopy(), dropped(t, pod)
				admission.DropDisabled(p, &ours.Spec)
				if diff := cmp.Diff(indented(t, theirs), indented(t, ours)); diff != "" {
					different++
					t.Errorf("seed %d: after dropping disabled fields (- API server, + admission):\n%s", seed, diff)
				}
				want, got := upstreamErrors(t, theirs), admissionErrors(ours)
				for _, err := range admission.ValidateGated(p, ours) {
					got = append(got, err.Error())
				}
				if (len(want) == 0) != (len(got) == 0) {
					different++
					t.Errorf("seed %d: errors (- API server, + admission):\n%s", seed, cmp.Diff(want, comparable(got)))
				}
				if len(want) == 0 {
					valid++
				}
			}
			if valid == 0 {
				t.Error("none of the pods is valid")
			}
		})
	}
}

// withGatedFields returns a random pod in which some fields depend on feature gates.
func withGatedFields(seed uint64) *v1.Pod {
	r := newRandomPods(seed)
	pod := defaulted(r.pod())
	pod.Spec.OS = one(r, nil, &v1.PodOS{Name: v1.Linux})
	for _, containers := range [][]v1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range containers {
			c := &containers[i]
			if c.Lifecycle != nil {
				c.Lifecycle.StopSignal = one(r, nil, nil, new(v1.SIGUSR1), new(v1.SIGRTMAXMINUS14), new(v1.SIGKILL),
					new(v1.Signal("SIGUSR3")), new(v1.Signal("TERM")))
			}
			for _, p := range []*v1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
				if p != nil && p.GRPC != nil {
					p.GRPC.Mode = one(r, nil, new(v1.GRPCProbeModeTLS), new(v1.GRPCProbeModePlaintext),
						new(v1.GRPCProbeMode("tls")))
				}
				if p != nil && p.HTTPGet != nil {
					p.HTTPGet.Protocol = one(r, nil, new(v1.HTTPProtocolHTTP1), new(v1.HTTPProtocolHTTP2),
						new(v1.HTTPProtocol("h2")))
				}
			}
		}
	}
	return pod
}

// dropped returns the pod without the fields that the API server drops.
func dropped(t *testing.T, pod *v1.Pod) *v1.Pod {
	t.Helper()
	in, out := &core.Pod{}, &v1.Pod{}
	if err := corev1.Convert_v1_Pod_To_core_Pod(pod.DeepCopy(), in, nil); err != nil {
		t.Fatal(err)
	}
	podutil.DropDisabledPodFields(in, nil)
	if err := corev1.Convert_core_Pod_To_v1_Pod(in, out, nil); err != nil {
		t.Fatal(err)
	}
	out.TypeMeta = pod.TypeMeta
	return out
}
