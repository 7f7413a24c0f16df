package invariants_test

import (
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"probesim.dev/internal/answers/invariants"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// shop has a container with all probes, and a sidecar.
func shop() *v1.Pod {
	probe := func(failures, delay int32) *v1.Probe {
		return &v1.Probe{FailureThreshold: failures, SuccessThreshold: 1, PeriodSeconds: 10, InitialDelaySeconds: delay}
	}
	twice := probe(1, 0)
	twice.SuccessThreshold = 2
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "shop"},
		Spec: v1.PodSpec{
			RestartPolicy: v1.RestartPolicyAlways,
			InitContainers: []v1.Container{{Name: "migrate"},
				{Name: "proxy", RestartPolicy: new(v1.ContainerRestartPolicyAlways), LivenessProbe: probe(1, 0)}},
			Containers: []v1.Container{{Name: "app", LivenessProbe: probe(2, 0), ReadinessProbe: probe(1, 0),
				StartupProbe: probe(1, 3)}, {Name: "plain", LivenessProbe: probe(2, 0)},
				{Name: "twice", ReadinessProbe: twice}, {Name: "slow", StartupProbe: probe(1, 0)},
				{Name: "patient", ReadinessProbe: probe(3, 0)},
				{Name: "always", RestartPolicy: new(v1.ContainerRestartPolicyAlways), LivenessProbe: probe(2, 0)}},
		},
	}
}

// at returns the record of a container at a second.
func at(second float64, kind trace.Kind, container string, change func(*trace.Record)) trace.Record {
	r := trace.Record{T: virtual.At(time.Duration(second * float64(time.Second))), Kind: kind, Container: container}
	if container != "" || kind == trace.StatusPatched || kind == trace.PodAdded {
		r.Pod = "default/shop"
	}
	if change != nil {
		change(&r)
	}
	return r
}

func start(second float64, container string, instance int) trace.Record {
	return at(second, trace.ContainerStarted, container,
		func(r *trace.Record) { r.Instance = instance; r.Cause = 1000 })
}

func exit(second float64, container string, instance int) trace.Record {
	return at(second, trace.ContainerExited, container, func(r *trace.Record) { r.Instance = instance })
}

func stop(second float64, container string, instance int, reason string) trace.Record {
	return at(second, trace.ContainerStopping, container,
		func(r *trace.Record) { r.Instance, r.Reason = instance, reason })
}

func probe(second float64, container string, instance int, p trace.Probe, result trace.Result) trace.Record {
	return at(second, trace.ProbeExecuted, container, func(r *trace.Record) {
		r.Instance, r.Probe, r.Result, r.Took = instance, p, result, 10*time.Millisecond
	})
}

// long returns a success that took a time.
func long(second float64, took time.Duration, container string, p trace.Probe) trace.Record {
	r := probe(second, container, 0, p, trace.Success)
	r.Took = took
	return r
}

func event(second float64, container string, instance int, reason string) trace.Record {
	return at(second, trace.Event, container,
		func(r *trace.Record) { r.Pod, r.Instance, r.Reason = "default/shop", instance, reason })
}

// status publishes the state of one container: its restarts, and words of started, ready and ended.
func status(second float64, container string, restarts int32, words ...string) trace.Record {
	return at(second, trace.StatusPatched, "", func(r *trace.Record) {
		c := trace.ContainerStatus{Name: container, State: "running", RestartCount: restarts,
			Started: slices.Contains(words, "started"), Ready: slices.Contains(words, "ready")}
		if slices.Contains(words, "ended") {
			c.State = "terminated"
		}
		r.Status = &trace.PodStatus{Phase: "Running", Containers: []trace.ContainerStatus{c}}
	})
}

func TestCheck(t *testing.T) {
	success, failure := trace.Success, trace.Failure
	for _, test := range []struct {
		name    string
		records []trace.Record
		want    []string // the invariants that are broken, with the bug if it is known
	}{
		{"a run that obeys all", []trace.Record{
			start(1, "app", 0), probe(5, "app", 0, trace.Startup, success), status(6, "app", 0, "started"),
			probe(7, "app", 0, trace.Readiness, success),
			status(7.1, "app", 0, "started", "ready"), probe(10, "app", 0, trace.Liveness, failure),
			probe(20, "app", 0, trace.Liveness, failure),
			stop(21, "app", 0, "LivenessProbe"), exit(22, "app", 0), status(22.1, "app", 0, "ended"),
			start(23, "app", 1), status(23.1, "app", 1),
			probe(27, "app", 1, trace.Startup, success), status(27.1, "app", 1, "started"),
			probe(30, "app", 1, trace.Readiness, success), status(30.1, "app", 1, "started", "ready"),
		}, nil},
		{"a kill after too few failures",
			[]trace.Record{start(1, "app", 0), probe(10, "app", 0, trace.Liveness, failure),
				stop(11, "app", 0, "LivenessProbe")}, []string{"kill-needs-failures"}},
		{"a kill without a failure", []trace.Record{start(1, "app", 0), stop(11, "app", 0, "LivenessProbe")},
			[]string{"kill-needs-failures"}},
		{"a success between failures", []trace.Record{
			start(1, "app", 0), probe(10, "app", 0, trace.Liveness, failure),
			probe(11, "app", 0, trace.Liveness, success), probe(12, "app", 0, trace.Liveness, failure),
			stop(13, "app", 0, "LivenessProbe"),
		}, []string{"kill-needs-failures"}},
		{"an error between failures", []trace.Record{
			start(1, "app", 0), probe(10, "app", 0, trace.Liveness, failure),
			probe(11, "app", 0, trace.Liveness, trace.Error), probe(12, "app", 0, trace.Liveness, failure),
			stop(13, "app", 0, "LivenessProbe"),
		}, nil},
		{"failures of the instance before count", []trace.Record{
			start(1, "app", 0), probe(10, "app", 0, trace.Liveness, failure), exit(11, "app", 0), start(12, "app", 1),
			probe(20, "app", 1, trace.Liveness, failure), stop(21, "app", 1, "LivenessProbe"),
		}, []string{"kill-needs-failures B22"}},
		{"failures count over an instance without a probe", []trace.Record{
			start(1, "app", 0), probe(10, "app", 0, trace.Liveness, failure), exit(11, "app", 0), start(12, "app", 1),
			exit(13, "app", 1), start(14, "app", 2), probe(20, "app", 2, trace.Liveness, failure),
			stop(21, "app", 2, "LivenessProbe"),
		}, []string{"kill-needs-failures B22"}},
		{"a failure of the instance before that ends after the start", []trace.Record{
			start(1, "app", 0), exit(11, "app", 0), start(12, "app", 1), probe(13, "app", 0, trace.Liveness, failure),
			probe(20, "app", 1, trace.Liveness, failure), stop(21, "app", 1, "LivenessProbe"),
		}, []string{"kill-needs-failures B22"}},
		{"a kill ends the count", []trace.Record{
			start(1, "app", 0), probe(10, "app", 0, trace.Liveness, failure),
			probe(11, "app", 0, trace.Liveness, failure), stop(12, "app", 0, "LivenessProbe"), exit(13, "app", 0),
			start(14, "app", 1), probe(20, "app", 1, trace.Liveness, failure), stop(21, "app", 1, "LivenessProbe"),
		}, []string{"kill-needs-failures"}},
		{"failures before a restart of the kubelet count", []trace.Record{
			start(1, "app", 0), probe(10, "app", 0, trace.Liveness, failure), at(11, trace.KubeletStopped, "", nil),
			at(12, trace.KubeletStarted, "", nil),
			probe(20, "app", 0, trace.Liveness, failure), stop(21, "app", 0, "LivenessProbe"),
		}, nil},
		{"a stop for another reason", []trace.Record{start(1, "app", 0), stop(11, "app", 0, "ImageChanged")}, nil},
		{"started without a success", []trace.Record{start(1, "app", 0), status(2, "app", 0, "started")},
			[]string{"started-needs-success"}},
		{"started as the instance before", []trace.Record{
			start(1, "app", 0), probe(5, "app", 0, trace.Startup, success), status(6, "app", 0, "started"),
			exit(7, "app", 0), start(8, "app", 1), status(9, "app", 1, "started"),
		}, []string{"started-needs-success B18 #141155"}},
		{"started since a restart of the kubelet", []trace.Record{
			start(1, "app", 0), status(2, "app", 0), at(3, trace.KubeletStopped, "", nil),
			at(4, trace.KubeletStarted, "", nil), status(5, "app", 0, "started"),
		}, []string{"started-needs-success B19 #142305"}},
		{"started after the deadline of the pod", []trace.Record{
			start(1, "app", 0), at(2, trace.Event, "app", func(r *trace.Record) {
				r.Reason = "DeadlineExceeded"
			}), status(3, "app", 0, "started"),
		}, []string{"started-needs-success explored/started-after-its-deadline"}},
		{"started without a startup probe",
			[]trace.Record{start(1, "plain", 0), status(2, "plain", 0, "started", "ready")}, nil},
		{"ready and not started", []trace.Record{start(1, "app", 0), probe(5, "app", 0, trace.Startup, success),
			status(6, "app", 0, "ready"), status(7, "app", 0, "ready", "started")}, []string{"ready-needs-started"}},
		{"ready and not started, as the instance before", []trace.Record{
			start(1, "app", 0), probe(5, "app", 0, trace.Startup, success), status(6, "app", 0, "started"),
			exit(7, "app", 0), start(8, "app", 1), status(9, "app", 1, "ready"),
		}, []string{"ready-needs-started B18 #141155"}},
		{"ready while killed for liveness", []trace.Record{
			start(1, "plain", 0), status(2, "plain", 0, "started"), probe(5, "plain", 0, trace.Liveness, failure),
			probe(6, "plain", 0, trace.Liveness, failure),
			stop(7, "plain", 0, "LivenessProbe"), status(8, "plain", 0, "started", "ready"),
		}, []string{"no-ready-while-stopping C16 #131690"}},
		{"ready while killed for startup", []trace.Record{
			start(1, "app", 0), status(2, "app", 0), probe(6, "app", 0, trace.Startup, failure),
			stop(7, "app", 0, "StartupProbe"), probe(7.1, "app", 0, trace.Startup, success),
			status(8, "app", 0, "started", "ready"),
		}, []string{"no-ready-while-stopping"}},
		{"ready while killed for startup, after a restart of the kubelet", []trace.Record{
			start(1, "app", 0), status(2, "app", 0), probe(6, "app", 0, trace.Startup, failure),
			stop(7, "app", 0, "StartupProbe"),
			at(7.5, trace.KubeletStopped, "", nil), at(7.6, trace.KubeletStarted, "", nil),
			status(8, "app", 0, "started", "ready"),
		}, []string{"started-needs-success B19 #142305", "no-ready-while-stopping B19 #142305"}},
		{"not started since a restart of the kubelet, and ready", []trace.Record{
			start(1, "app", 0), probe(5, "app", 0, trace.Startup, success), status(6, "app", 0, "started", "ready"),
			at(7, trace.KubeletStopped, "", nil), at(8, trace.KubeletStarted, "", nil), status(9, "app", 0, "ready"),
			status(10, "app", 0),
		}, []string{"ready-needs-started explored/ready-and-not-started-after-a-restart"}},
		{"the first liveness probe of a young kubelet, after the end of the pod began", []trace.Record{
			at(0, trace.KubeletStopped, "", nil), at(0.5, trace.KubeletStarted, "", nil), start(1, "plain", 0),
			stop(5, "plain", 0, "Deleted"), probe(6, "plain", 0, trace.Liveness, failure),
		}, []string{"no-probe-while-terminating explored/stopped-worker-probes-once"}},
		{"the second liveness probe of a young kubelet, after the end of the pod began", []trace.Record{
			at(0, trace.KubeletStopped, "", nil), at(0.5, trace.KubeletStarted, "", nil), start(1, "plain", 0),
			probe(4, "plain", 0, trace.Liveness, failure), stop(5, "plain", 0, "Deleted"),
			probe(14, "plain", 0, trace.Liveness, failure),
		}, []string{"no-probe-while-terminating"}},
		{"ready after it is stopped, because of a success before", []trace.Record{
			start(1, "app", 0), probe(5, "app", 0, trace.Startup, success), status(6, "app", 0, "started"),
			probe(7, "app", 0, trace.Readiness, success), stop(7.01, "app", 0, "Deleted"),
			status(7.02, "app", 0, "started", "ready"),
		}, nil},
		{"ready before it is killed, and still", []trace.Record{
			start(1, "plain", 0), status(2, "plain", 0, "started", "ready"), stop(7, "plain", 0, "Deleted"),
			status(8, "plain", 0, "started", "ready"),
		}, nil},
		{"a probe early by the fraction of the second of the start",
			[]trace.Record{start(1.6, "app", 0), probe(4.1, "app", 0, trace.Startup, failure)},
			[]string{"no-probe-before-initial-delay B8"}},
		{"a probe early by more than the fraction of the second of the start",
			[]trace.Record{start(1.6, "app", 0), probe(3.9, "app", 0, trace.Startup, failure)},
			[]string{"no-probe-before-initial-delay"}},
		{"a probe less than a second early, on a clock that was set by a fraction", []trace.Record{
			at(1, trace.Step, "", func(r *trace.Record) {
				r.Reason = "stepClock"
			}), start(1.6, "app", 0), probe(3.9, "app", 0, trace.Startup, failure),
		}, []string{"no-probe-before-initial-delay B8"}},
		{"a probe that is a second early",
			[]trace.Record{start(1, "app", 0), probe(3, "app", 0, trace.Startup, failure)},
			[]string{"no-probe-before-initial-delay"}},
		{"a probe after the clock was set forward", []trace.Record{
			start(1, "app", 0), at(2, trace.Step, "", func(r *trace.Record) {
				r.Reason = "stepClock"
			}), probe(2.5, "app", 0, trace.Startup, failure),
		}, nil},
		{"a liveness probe after the end of the pod began",
			[]trace.Record{start(1, "app", 0), stop(5, "app", 0, "Deleted"),
				probe(6, "app", 0, trace.Liveness, failure)}, []string{"no-probe-while-terminating"}},
		{"a probe that began before the end of the pod",
			[]trace.Record{start(1, "app", 0), stop(5, "app", 0, "Deleted"),
				probe(5.005, "app", 0, trace.Liveness, failure)}, nil},
		{"a liveness probe of a pod whose eviction the kubelet has forgotten", []trace.Record{
			start(1, "app", 0), stop(5, "app", 0, "Evicted"), at(5.1, trace.KubeletStopped, "", nil),
			at(5.2, trace.KubeletStarted, "", nil), probe(60, "app", 0, trace.Liveness, success),
		}, nil},
		{"a liveness probe of a pod that a kubelet evicted as it ended", []trace.Record{
			start(1, "app", 0), at(5, trace.KubeletStopped, "", nil), stop(5, "app", 0, "Evicted"),
			at(5.2, trace.KubeletStarted, "", nil), probe(60, "app", 0, trace.Liveness, success),
		}, nil},
		{"a liveness probe right after one that began before the end of the pod", []trace.Record{
			start(1, "app", 0), probe(3, "app", 0, trace.Liveness, success), stop(5, "app", 0, "Deleted"),
			long(15, 12*time.Second, "app", trace.Liveness), probe(15.02, "app", 0, trace.Liveness, success),
		}, []string{"no-probe-while-terminating explored/stopped-worker-takes-a-tick"}},
		{"a liveness probe right after one that was late", []trace.Record{
			start(1, "app", 0), long(14.5, 11*time.Second, "app", trace.Liveness), stop(15, "app", 0, "Deleted"),
			long(24, 9490*time.Millisecond, "app", trace.Liveness), probe(24.02, "app", 0, trace.Liveness, success),
		}, []string{"no-probe-while-terminating explored/stopped-worker-takes-a-tick"}},
		{"a liveness probe right after a short one that began before the end of the pod", []trace.Record{
			start(1, "app", 0), probe(3, "app", 0, trace.Liveness, success), stop(5, "app", 0, "Deleted"),
			probe(5.005, "app", 0, trace.Liveness, success), probe(5.1, "app", 0, trace.Liveness, success),
		}, []string{"no-probe-while-terminating"}},
		{"a liveness probe long after the first of a young kubelet", []trace.Record{
			at(0, trace.KubeletStopped, "", nil), at(0.5, trace.KubeletStarted, "", nil), start(1, "plain", 0),
			stop(5, "plain", 0, "Deleted"), probe(21, "plain", 0, trace.Liveness, failure),
		}, []string{"no-probe-while-terminating"}},
		{"the first liveness probe of an instance on a young kubelet, whose worker has run before", []trace.Record{
			at(0, trace.KubeletStopped, "", nil), at(0.5, trace.KubeletStarted, "", nil), start(1, "plain", 0),
			probe(2, "plain", 0, trace.Liveness, trace.Error), exit(3, "plain", 0), start(4, "plain", 1),
			stop(5, "plain", 1, "Deleted"), probe(6, "plain", 1, trace.Liveness, failure),
		}, []string{"no-probe-while-terminating"}},
		{"a readiness probe after the end of the pod began",
			[]trace.Record{start(1, "app", 0), stop(5, "app", 0, "Deleted"),
				probe(6, "app", 0, trace.Readiness, failure)}, nil},
		{"a liveness probe of a sidecar",
			[]trace.Record{start(1, "proxy", 0), start(2, "app", 0), stop(5, "app", 0, "Deleted"),
				probe(6, "proxy", 0, trace.Liveness, success)}, []string{"no-probe-while-terminating B36 #141766"}},
		{"a liveness probe of a container with a restartPolicy",
			[]trace.Record{start(1, "always", 0), start(2, "app", 0), stop(5, "app", 0, "Deleted"),
				probe(6, "always", 0, trace.Liveness, success)}, []string{"no-probe-while-terminating"}},
		{"a probe after the status says that the instance has ended",
			[]trace.Record{start(1, "plain", 0), exit(5, "plain", 0), status(6, "plain", 0, "ended"),
				probe(7, "plain", 0, trace.Liveness, failure)}, []string{"no-probe-after-exit"}},
		{"a probe before the kubelet has seen the exit",
			[]trace.Record{start(1, "plain", 0), exit(5, "plain", 0), probe(5.5, "plain", 0, trace.Liveness, failure),
				status(6, "plain", 0, "ended")}, nil},
		{"a restart count that falls",
			[]trace.Record{start(1, "plain", 1), status(2, "plain", 1, "started"), status(3, "plain", 0, "started")},
			[]string{"restart-count-grows"}},
		{"a restart count that falls in an eviction, because an instance never started", []trace.Record{
			start(1, "plain", 1), status(2, "plain", 1, "started"),
			at(3, trace.ContainerStopping, "plain",
				func(r *trace.Record) { r.Instance, r.Reason, r.Cause = 1, "Evicted", 4 }),
			at(3.1, trace.KubeletStopped, "", nil), at(3.2, trace.KubeletStarted, "", nil),
			status(4, "plain", 0, "ended"),
		}, []string{"restart-count-grows explored/restart-count-falls"}},
		{"a restart count that falls in an eviction, after a restart of the kubelet", []trace.Record{
			at(0.1, trace.KubeletStopped, "", nil), at(0.2, trace.KubeletStarted, "", nil), start(0.5, "plain", 0),
			start(1, "plain", 1), status(2, "plain", 1, "started"),
			at(3, trace.ContainerStopping, "plain", func(r *trace.Record) {
				r.Instance, r.Reason, r.Cause = 1, "Evicted", 4
			}), status(4, "plain", 0, "ended"),
		}, []string{"restart-count-grows"}},
		{"a restart count that falls after an eviction that a restart of the kubelet interrupts", []trace.Record{
			start(1, "plain", 0), status(2, "plain", 0, "started", "ready"),
			at(3, trace.ContainerStopping, "plain", func(r *trace.Record) {
				r.Reason, r.Cause = "Evicted", 4
			}), exit(3.1, "plain", 0),
			at(4, trace.KubeletStopped, "", nil), at(5, trace.KubeletStarted, "", nil), status(6, "plain", 1, "ended"),
			start(7, "plain", 1), status(8, "plain", 0, "ended"),
		}, []string{"restart-count-grows explored/restart-count-falls"}},
		{"started without a success, after a stop of the pod has failed", []trace.Record{
			start(1, "app", 0), event(5, "", 0, "FailedKillPod"), status(6, "app", 0, "started"),
		}, []string{"started-needs-success B70 #135248"}},
		{"started like the instance before, which was not published", []trace.Record{
			start(1, "app", 0), probe(5, "app", 0, trace.Startup, success), exit(6, "app", 0), start(7, "app", 1),
			status(8, "app", 1, "started"),
		}, []string{"started-needs-success B18 #141155"}},
		{"started like the instance before, which is published as started later", []trace.Record{
			start(1, "app", 0), exit(6, "app", 0), start(7, "app", 1), status(7.5, "app", 0, "started"),
			status(8, "app", 1, "started"),
		}, []string{"started-needs-success B18 #141155"}},
		{"started, and not published as ready for a long time", []trace.Record{
			start(1, "plain", 0), status(2, "plain", 0, "started"), probe(20, "plain", 0, trace.Liveness, success),
		}, []string{"settled-status-agrees"}},
		{"an init container that runs", []trace.Record{start(1, "migrate", 0), status(2, "migrate", 0, "started")},
			nil},
		{"started and not published as ready while another container stops", []trace.Record{
			start(1, "app", 0), start(1, "slow", 0), event(2, "app", 0, "Killing"),
			probe(2, "slow", 0, trace.Startup, success), status(2, "slow", 0, "started"),
			probe(20, "plain", 0, trace.Liveness, success), exit(30, "app", 0),
			status(31, "slow", 0, "started", "ready"),
		}, []string{"settled-status-agrees explored/ready-waits-for-a-stop"}},
		{"started and not published as ready while another container pulls its image", []trace.Record{
			start(1, "slow", 0), event(2, "app", 0, "Pulling"), probe(2, "slow", 0, trace.Startup, success),
			status(2, "slow", 0, "started"), probe(20, "plain", 0, trace.Liveness, success),
			event(30, "app", 0, "Pulled"),
			status(31, "slow", 0, "started", "ready"),
		}, []string{"settled-status-agrees explored/ready-waits-for-a-stop"}},
		{"started and not published as ready while the postStart hook of another container runs", []trace.Record{
			start(1, "slow", 0), start(2, "twice", 0), probe(2, "slow", 0, trace.Startup, success),
			status(2, "slow", 0, "started"), probe(20, "plain", 0, trace.Liveness, success),
			status(31, "twice", 0, "started"), status(31, "slow", 0, "started", "ready"),
		}, []string{"settled-status-agrees explored/ready-waits-for-a-stop"}},
		{"started without a startup probe and not published as ready while another container stops", []trace.Record{
			start(1, "app", 0), start(1, "plain", 0), event(2, "app", 0, "Killing"), status(2, "plain", 0, "started"),
			probe(20, "plain", 0, trace.Liveness, success), exit(30, "app", 0),
		}, []string{"settled-status-agrees"}},
		{"a readiness success from before the start, while another container stops", []trace.Record{
			start(1, "app", 0), start(1, "plain", 0), event(2, "plain", 0, "Killing"),
			probe(3, "app", 0, trace.Readiness, success), probe(5, "app", 0, trace.Startup, success),
			status(6, "app", 0, "started"), probe(20, "app", 0, trace.Readiness, success),
		}, []string{"settled-status-agrees explored/ready-waits-for-a-stop"}},
		{"a readiness success from before the second start, while another container stops", []trace.Record{
			start(1, "app", 0), start(1, "plain", 0), probe(5, "app", 0, trace.Startup, success),
			status(5.5, "app", 0, "started"), at(6, trace.KubeletStopped, "", nil),
			at(6.1, trace.KubeletStarted, "", nil),
			probe(7, "app", 0, trace.Readiness, success), event(8, "plain", 0, "Killing"),
			probe(9, "app", 0, trace.Startup, success), status(9.5, "app", 0, "started"),
			probe(25, "app", 0, trace.Readiness, success),
		}, []string{"settled-status-agrees explored/ready-waits-for-a-stop"}},
		{"ready and not started, long after the startup probe has run since a restart of the kubelet", []trace.Record{
			start(1, "app", 0), status(2, "app", 0), at(3, trace.KubeletStopped, "", nil),
			at(4, trace.KubeletStarted, "", nil), probe(11, "app", 0, trace.Startup, failure),
			status(31, "app", 0, "ready"),
		}, []string{"ready-needs-started B19 #142305"}},
		{"still ready and not started, when the next instance has started", []trace.Record{
			start(1, "app", 0), status(2, "app", 0), at(3, trace.KubeletStopped, "", nil),
			at(4, trace.KubeletStarted, "", nil), status(5, "app", 0, "ready"), exit(6, "app", 0), start(7, "app", 1),
			status(8, "app", 0, "ready"),
		}, []string{"ready-needs-started B19 #142305"}},
		{"ready while it stops for its liveness in a pod that has exceeded its deadline", []trace.Record{
			start(1, "twice", 0), status(2, "twice", 0, "started"), probe(3, "twice", 0, trace.Readiness, failure),
			stop(6, "twice", 0, "LivenessProbe"), event(7, "", 0, "DeadlineExceeded"),
			status(8, "twice", 0, "started", "ready"),
		}, []string{"no-ready-while-stopping explored/ready-while-a-failed-pod-stops"}},
		{"a readiness success that is never published while another container stops", []trace.Record{
			start(1, "app", 0), start(1, "plain", 0), event(2, "plain", 0, "Killing"),
			probe(5, "app", 0, trace.Startup, success), status(6, "app", 0, "started"),
			probe(7, "app", 0, trace.Readiness, success), probe(20, "app", 0, trace.Readiness, success),
		}, []string{"settled-status-agrees"}},
		{"ready and failing while its preStop hook runs", []trace.Record{
			start(1, "app", 0), probe(5, "app", 0, trace.Startup, success), status(7, "app", 0, "started", "ready"),
			probe(8, "app", 0, trace.Readiness, failure), event(9, "app", 0, "Killing"),
			probe(30, "app", 0, trace.Readiness, failure),
		}, nil},
		{"started and not published as ready after another container has stopped", []trace.Record{
			start(1, "app", 0), start(1, "plain", 0), event(2, "app", 0, "Killing"), exit(3, "app", 0),
			status(4, "plain", 0, "started"), probe(20, "plain", 0, trace.Liveness, success),
		}, []string{"settled-status-agrees"}},
		{"ready while it stops, after enough successes", []trace.Record{
			start(1, "twice", 0), status(6, "twice", 0, "started"), probe(7, "twice", 0, trace.Readiness, success),
			stop(8, "twice", 0, "Deleted"), probe(8.5, "twice", 0, trace.Readiness, success),
			status(9, "twice", 0, "started", "ready"),
		}, []string{"no-ready-while-stopping C17 #129552"}},
		{"ready while it stops, after too few successes", []trace.Record{
			start(1, "twice", 0), status(6, "twice", 0, "started"), probe(7, "twice", 0, trace.Readiness, success),
			stop(8, "twice", 0, "Deleted"), status(9, "twice", 0, "started", "ready"),
		}, []string{"no-ready-while-stopping"}},
		{"ready while it stops for its liveness, although its readiness probe fails", []trace.Record{
			start(1, "app", 0), probe(5, "app", 0, trace.Startup, success), status(6, "app", 0, "started"),
			probe(7, "app", 0, trace.Readiness, failure), probe(8, "app", 0, trace.Liveness, failure),
			probe(9, "app", 0, trace.Liveness, failure),
			stop(9.1, "app", 0, "LivenessProbe"), status(10, "app", 0, "started", "ready"),
		}, []string{"no-ready-while-stopping"}},
		{"ready while it stops, by a verdict that failures have not changed yet", []trace.Record{
			start(1, "patient", 0), status(2, "patient", 0, "started"),
			probe(3, "patient", 0, trace.Readiness, success), probe(5, "patient", 0, trace.Readiness, failure),
			stop(6, "patient", 0, "Deleted"),
			status(7, "patient", 0, "started", "ready"),
		}, nil},
		{"ready while it stops, before a new kubelet has probed it", []trace.Record{
			start(1, "twice", 0), status(2, "twice", 0, "started"), probe(3, "twice", 0, trace.Readiness, failure),
			at(4, trace.KubeletStopped, "", nil), at(5, trace.KubeletStarted, "", nil),
			stop(6, "twice", 0, "Deleted"), status(7, "twice", 0, "started", "ready"),
		}, []string{"no-ready-while-stopping explored/ready-before-a-new-kubelet-probes"}},
		{"ready while it stops, although a new kubelet has probed it", []trace.Record{
			start(1, "twice", 0), status(2, "twice", 0, "started"), at(4, trace.KubeletStopped, "", nil),
			at(5, trace.KubeletStarted, "", nil), probe(5.5, "twice", 0, trace.Readiness, failure),
			stop(6, "twice", 0, "Deleted"), status(7, "twice", 0, "started", "ready"),
		}, []string{"no-ready-while-stopping"}},
		{"ready while it stops after an eviction", []trace.Record{
			start(1, "twice", 0), status(2, "twice", 0, "started"), probe(3, "twice", 0, trace.Readiness, failure),
			stop(6, "twice", 0, "Evicted"), status(7, "twice", 0, "started", "ready"),
		}, []string{"no-ready-while-stopping explored/ready-while-a-failed-pod-stops"}},
		{"ready while it stops, in a pod that cannot fail", []trace.Record{
			start(1, "twice", 0), status(2, "twice", 0, "started"), probe(3, "twice", 0, trace.Readiness, failure),
			stop(6, "twice", 0, "Stopped"), status(7, "twice", 0, "started", "ready"),
		}, []string{"no-ready-while-stopping"}},
		{"ready while it stops for the deadline of its pod", []trace.Record{
			start(1, "plain", 0), status(2, "plain", 0, "started"), event(5, "", 0, "DeadlineExceeded"),
			stop(5, "plain", 0, "Stopped"), status(6, "plain", 0, "started", "ready"),
		}, []string{"no-ready-while-stopping C17 #129552"}},
		{"started and ready while it stops for the deadline of its pod", []trace.Record{
			start(1, "slow", 0), status(2, "slow", 0), event(5, "", 0, "DeadlineExceeded"),
			stop(5, "slow", 0, "Stopped"), status(6, "slow", 0, "started", "ready"),
		}, []string{"started-needs-success explored/started-after-its-deadline",
			"no-ready-while-stopping explored/started-after-its-deadline"}},
		{"ready while it stops, with a success of the instance before", []trace.Record{
			start(1, "twice", 0), status(2, "twice", 0, "started"), probe(3, "twice", 0, trace.Readiness, success),
			exit(4, "twice", 0), start(5, "twice", 1), status(6, "twice", 1, "started"), stop(7, "twice", 1, "Deleted"),
			probe(8, "twice", 1, trace.Readiness, success), status(9, "twice", 1, "started", "ready"),
		}, []string{"no-ready-while-stopping C17 #129552"}},
		{"started as the instance before, long after the startup probe has run", []trace.Record{
			start(1, "app", 0), probe(5, "app", 0, trace.Startup, success), status(6, "app", 0, "started"),
			exit(7, "app", 0), start(8, "app", 1), status(9, "app", 1), probe(11.5, "app", 1, trace.Startup, failure),
			status(31, "app", 1, "started"),
		}, []string{"started-needs-success"}},
		{"started long after the startup probe has run since a restart of the kubelet", []trace.Record{
			start(1, "app", 0), status(2, "app", 0), at(3, trace.KubeletStopped, "", nil),
			at(4, trace.KubeletStarted, "", nil), probe(11, "app", 0, trace.Startup, failure),
			status(31, "app", 0, "started"),
		}, []string{"started-needs-success"}},
		{"started without a success while the pod is deleted", []trace.Record{
			start(1, "app", 0), stop(5, "app", 0, "Deleted"), status(6, "app", 0, "started"),
		}, []string{"started-needs-success"}},
		{"failures of the instance before, and a success of it after them", []trace.Record{
			start(1, "app", 0), probe(8, "app", 0, trace.Liveness, failure),
			probe(10, "app", 0, trace.Liveness, success), exit(11, "app", 0), start(12, "app", 1),
			probe(20, "app", 1, trace.Liveness, failure), stop(21, "app", 1, "LivenessProbe"),
		}, []string{"kill-needs-failures"}},
		{"a failure that is never published, although a container started at its instant", []trace.Record{
			start(1, "app", 0), probe(5, "app", 0, trace.Startup, success),
			probe(6, "app", 0, trace.Readiness, success), status(7, "app", 0, "started", "ready"),
			probe(20, "app", 0, trace.Readiness, failure),
			event(20, "plain", 0, "Started"), probe(30.5, "app", 0, trace.Readiness, failure),
			status(40, "app", 0, "started"),
		}, []string{"settled-status-agrees"}},
		{"a liveness probe after the pod was stopped for its deadline", []trace.Record{
			start(1, "app", 0), probe(3, "app", 0, trace.Liveness, success), event(5, "", 0, "DeadlineExceeded"),
			stop(5, "app", 0, "Stopped"), probe(13, "app", 0, trace.Liveness, success),
		}, []string{"no-probe-while-terminating"}},
		{"a liveness probe after the node was shut down", []trace.Record{
			start(1, "app", 0), probe(3, "app", 0, trace.Liveness, success),
			at(4, trace.Step, "", func(r *trace.Record) {
				r.Reason = "shutdownNode"
			}), stop(5, "app", 0, "Stopped"), probe(13, "app", 0, trace.Liveness, success),
		}, []string{"no-probe-while-terminating"}},
		{"a liveness probe after the sandbox of the pod was replaced", []trace.Record{
			start(1, "app", 0), probe(3, "app", 0, trace.Liveness, success), stop(5, "app", 0, "Stopped"),
			exit(6, "app", 0), start(7, "app", 1), probe(13, "app", 1, trace.Liveness, success),
		}, nil},
		{"a liveness probe a period after one that ended after the end of the pod began", []trace.Record{
			start(1, "app", 0), probe(3, "app", 0, trace.Liveness, success), stop(5, "app", 0, "Deleted"),
			probe(5.005, "app", 0, trace.Liveness, success), probe(15, "app", 0, trace.Liveness, success),
		}, []string{"no-probe-while-terminating"}},
		{"a restart count of another pod",
			[]trace.Record{start(1, "plain", 1), status(2, "plain", 1, "started"), at(3, trace.PodAdded, "", nil),
				status(4, "plain", 0)}, nil},
		{"a success that is never published",
			[]trace.Record{start(1, "app", 0), probe(5, "app", 0, trace.Startup, success),
				status(6, "app", 0, "started"), probe(20, "app", 0, trace.Readiness, success)},
			[]string{"settled-status-agrees"}},
		{"a failure that is never published", []trace.Record{
			start(1, "app", 0), probe(5, "app", 0, trace.Startup, success),
			probe(6, "app", 0, trace.Readiness, success), status(7, "app", 0, "started", "ready"),
			probe(20, "app", 0, trace.Readiness, failure),
		}, []string{"settled-status-agrees"}},
		{"a failure that is published only after a long time", []trace.Record{
			start(1, "app", 0), probe(5, "app", 0, trace.Startup, success),
			probe(6, "app", 0, trace.Readiness, success), status(7, "app", 0, "started", "ready"),
			probe(20, "app", 0, trace.Readiness, failure),
			probe(30.5, "app", 0, trace.Readiness, failure), status(40, "app", 0, "started"),
		}, []string{"settled-status-agrees"}},
		{"a failure that is published after a short time", []trace.Record{
			start(1, "app", 0), probe(5, "app", 0, trace.Startup, success),
			probe(6, "app", 0, trace.Readiness, success), status(7, "app", 0, "started", "ready"),
			probe(20, "app", 0, trace.Readiness, failure),
			status(29, "app", 0, "started"), probe(40, "app", 0, trace.Readiness, failure),
		}, nil},
		{"a failure that is overwritten by a sync that begins with it", []trace.Record{
			start(1, "app", 0), probe(5, "app", 0, trace.Startup, success),
			probe(6, "app", 0, trace.Readiness, success), status(7, "app", 0, "started", "ready"),
			probe(20, "app", 0, trace.Readiness, failure),
			at(20, trace.Event, "plain", func(r *trace.Record) {
				r.Reason = "Pulling"
			}), probe(30.5, "app", 0, trace.Readiness, failure), status(40, "app", 0, "started"),
		}, []string{"settled-status-agrees B54 #139244"}},
		{"a failure that is never published, with an event of the probe", []trace.Record{
			start(1, "app", 0), probe(5, "app", 0, trace.Startup, success),
			probe(6, "app", 0, trace.Readiness, success), status(7, "app", 0, "started", "ready"),
			probe(20, "app", 0, trace.Readiness, failure),
			at(20, trace.Event, "app", func(r *trace.Record) { r.Reason = "Unhealthy" }),
		}, []string{"settled-status-agrees"}},
		{"a started container that is never published as started",
			[]trace.Record{start(1, "app", 0), probe(5, "app", 0, trace.Startup, success), status(7, "app", 0)},
			[]string{"settled-status-agrees"}},
		{"a late success", []trace.Record{start(1, "app", 0), probe(5, "app", 0, trace.Startup, success),
			status(6, "app", 0, "started"), probe(55, "app", 0, trace.Readiness, success)}, nil},
		{"a success during an outage", []trace.Record{
			start(1, "app", 0), probe(5, "app", 0, trace.Startup, success), status(6, "app", 0, "started"),
			at(10, trace.Step, "", func(r *trace.Record) {
				r.Reason = "apiDown"
			}), probe(20, "app", 0, trace.Readiness, success),
		}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			for i := range test.records {
				test.records[i].Step = int64(i) + 1
			}
			var got []string
			for _, v := range invariants.Check([]*v1.Pod{shop()}, test.records,
				invariants.Options{End: virtual.At(time.Minute), Uptime: time.Hour}) {
				text := v.Invariant
				if v.Known != nil {
					text += " " + v.Known.String()
				}
				got = append(got, text)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("broken: %q, want %q", got, test.want)
			}
		})
	}
}

// TestAll checks that each invariant is complete.
func TestAll(t *testing.T) {
	for _, i := range invariants.All() {
		if i.Name == "" || i.Sentence == "" {
			t.Errorf("%+v is not complete", i)
		}
	}
}
