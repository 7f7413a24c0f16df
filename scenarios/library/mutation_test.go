package library

import (
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/long"
	"probesim.dev/internal/show/report"
	"probesim.dev/scenarios/format"
)

// mutations are changes of scenarios that should make expectations fail.
var mutations = []mutation{
	{name: "every probe succeeds", rule: answering(fakeruntime.Answer{Word: fakeruntime.Answers})},
	{name: "every probe fails", rule: answering(fakeruntime.Answer{Word: fakeruntime.Refuses, Code: 1})},
	{name: "every startup probe succeeds",
		rule: &fakeruntime.Rule{Startup: always(fakeruntime.Answer{Word: fakeruntime.Answers})}},
	{name: "every hook fails", rule: &fakeruntime.Rule{
		PostStart: always(fakeruntime.Answer{Word: fakeruntime.Refuses, Code: 1}),
		PreStop:   always(fakeruntime.Answer{Word: fakeruntime.Refuses, Code: 1}),
	}},
	{name: "every program crashes after 3s", rule: &fakeruntime.Rule{
		Clock: fakeruntime.AfterStart, From: fakeruntime.Exactly(3 * time.Second), Exit: &fakeruntime.Exit{Code: 1},
	}},
	{name: "every program exits immediately after the stop signal", rule: &fakeruntime.Rule{
		Clock: fakeruntime.AfterSigterm, Exit: &fakeruntime.Exit{},
	}},
	{name: "no program exits by itself", withoutExits: true},
	{name: "there are no probes", change: func(pod *v1.Pod) {
		for _, c := range containersOf(pod) {
			c.LivenessProbe, c.ReadinessProbe, c.StartupProbe = nil, nil, nil
		}
	}},
	{name: "there are no hooks", change: func(pod *v1.Pod) {
		for _, c := range containersOf(pod) {
			c.Lifecycle = nil
		}
	}},
	{name: "there are no readiness gates", change: func(pod *v1.Pod) { pod.Spec.ReadinessGates = nil }},
	{name: "containers mount nothing", change: func(pod *v1.Pod) {
		for _, c := range containersOf(pod) {
			c.VolumeMounts = nil
		}
	}},
	{name: "containers mount all volumes of their pod", change: func(pod *v1.Pod) {
		for _, c := range containersOf(pod) {
			for _, v := range pod.Spec.Volumes {
				c.VolumeMounts = append(c.VolumeMounts, v1.VolumeMount{Name: v.Name, MountPath: "/" + v.Name})
			}
		}
	}},
	{name: "no image is pulled", change: pulling(v1.PullIfNotPresent)},
	{name: "every image is pulled", change: pulling(v1.PullAlways)},
	{name: "every pod restarts its containers", change: func(pod *v1.Pod) {
		pod.Spec.RestartPolicy = v1.RestartPolicyAlways
	}},
	{name: "there are no init containers", change: func(pod *v1.Pod) { pod.Spec.InitContainers = nil }},
	{name: "nothing is deleted", withoutSteps: true},
	{name: "nothing is patched", withoutPatches: true},
	{name: "no container is added", withoutDebug: true},
	{name: "nothing is resized", withoutResizes: true},
	{name: "no Deployment changes", withoutRollout: true},
	{name: "Deployments stop and start all pods at once, without limits",
		deployment: func(spec *appsv1.DeploymentSpec) {
			all := intstr.FromString("100%")
			spec.Strategy = appsv1.DeploymentStrategy{RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: &all,
				MaxUnavailable: &all}}
			spec.MinReadySeconds, spec.ProgressDeadlineSeconds, spec.RevisionHistoryLimit = 0, nil, new(int32(0))
		}},
	{name: "Deployments are paused", deployment: func(spec *appsv1.DeploymentSpec) { spec.Paused = true }},
	{name: "containers request nothing", change: func(pod *v1.Pod) {
		for _, c := range containersOf(pod) {
			c.Resources = v1.ResourceRequirements{}
		}
	}},
	{name: "no pod is in the network of the node", change: func(pod *v1.Pod) { pod.Spec.HostNetwork = false }},
	{name: "nothing goes down", nothingDown: true},
	{name: "static pods have no API server", alone: true},
	{name: "the wall clock does not step", steadyClock: true},
	{name: "no call is slow", quick: true},
	{name: "the node has room", room: true},
	{name: "containers have no security context", change: func(pod *v1.Pod) {
		for _, c := range containersOf(pod) {
			c.SecurityContext = nil
		}
	}},
	{name: "probes ask port 8080", change: func(pod *v1.Pod) {
		for _, c := range containersOf(pod) {
			for _, p := range []*v1.Probe{c.StartupProbe, c.LivenessProbe, c.ReadinessProbe} {
				if p != nil && p.HTTPGet != nil {
					p.HTTPGet.Port = intstr.FromInt32(8080)
				}
			}
		}
	}},
	{name: "no single call fails", noFaults: true},
}

func answering(a fakeruntime.Answer) *fakeruntime.Rule {
	return &fakeruntime.Rule{Liveness: always(a), Readiness: always(a), Startup: always(a)}
}

func pulling(policy v1.PullPolicy) func(*v1.Pod) {
	return func(pod *v1.Pod) {
		for _, c := range containersOf(pod) {
			c.ImagePullPolicy = policy
		}
	}
}

func always(a fakeruntime.Answer) *fakeruntime.Series {
	return &fakeruntime.Series{Items: []fakeruntime.Item{{Answer: a, Count: 1}}}
}

// TestExpectationsCanFail runs the scenarios with mutations until each expectation has failed.
func TestExpectationsCanFail(t *testing.T) {
	for i, s := range load(t) {
		if i%long.Sample(10, 1) != 0 {
			continue
		}
		t.Run(s.Metadata.Name, func(t *testing.T) {
			left := slices.Clone(s.Spec.Expect) // those that have not failed yet
			for _, m := range mutations {
				for _, version := range versions(s) {
					if len(left) == 0 {
						return
					}
					for _, result := range simulate(t, s.Plan(version, nil), options{mutation: m}).results {
						if result.Outcome == report.Failed || result.Outcome == report.Unmet {
							left = slices.DeleteFunc(left, func(e *format.Expect) bool { return e == result.Expect })
						}
					}
				}
			}
			for _, e := range left {
				t.Errorf("%s:%d: %s holds with every mutation", e.File, e.Line, e.Name)
			}
		})
	}
}
