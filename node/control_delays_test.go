package node_test

import (
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/node"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// typical observes a Deployment without probes and its Service on a typical node with a control
// plane, for three minutes. At a minute, the Deployment is restarted.
func typical(t *testing.T, seed int64, replicas int32, observe func(*trace.Record)) {
	t.Helper()
	nodes, _ := fakeruntime.DelaySet("typical")
	control, _ := fakeruntime.ControlDelaySet("typical")
	n := node.New(node.Options{Seed: &seed, Delays: nodes, ControlPlane: &node.ControlPlane{Delays: &control}})
	defer n.Close()
	n.Observe(observe)
	var errs []error
	n.At(0, func() {
		d := rollout{replicas: replicas}.deployment()
		d.Spec.Template.Spec.Containers[0].ReadinessProbe = nil
		s := &v1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web"},
			Spec: v1.ServiceSpec{Selector: d.Spec.Template.Labels, Ports: []v1.ServicePort{{Port: 80}}}}
		errs = append(errs, n.AddWorkload(d, nil), n.AddService(s))
	})
	n.At(virtual.At(time.Minute), func() {
		errs = append(errs, n.PatchWorkload("default", "web",
			[]byte(`{"spec": {"template": {"metadata": {"annotations": {"restarted": "now"}}}}}`)))
	})
	for _, err := range append(errs, n.RunUntil(virtual.At(3*time.Minute))) {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// quantile returns the duration that a share of some does not exceed.
func quantile(list []time.Duration, share float64) time.Duration {
	list = slices.Sorted(slices.Values(list))
	return list[int(share*float64(len(list)))]
}

// The time from Ready in the API until the endpoints show the pod is that of 1,741 pods in the
// conformance tests of 435 clusters, v1.21 to v1.24 (github.com/cncf/k8s-conformance): 5% of them
// need at most 7 ms, and half 18 ms to 20 ms, here within a factor of two. 95% need at most 72 ms
// to 444 ms, which differs by the version.
func TestReadyToEndpoints(t *testing.T) {
	var samples []time.Duration
	for seed := range int64(100) {
		ready := map[string]virtual.Time{}
		typical(t, seed, 3, func(r *trace.Record) {
			switch r.Kind {
			case trace.StatusPatched:
				if _, is := ready[r.Pod]; !is && r.Status != nil && r.Status.Ready {
					ready[r.Pod] = r.T
				}
			case trace.EndpointsWritten:
				for _, e := range r.Object.Endpoints {
					if since, is := ready[e.Pod]; is && e.Ready && since > 0 {
						samples = append(samples, r.T.Sub(since))
						ready[e.Pod] = 0
					}
				}
			}
		})
	}
	const ms = time.Millisecond
	for _, c := range []struct {
		share       float64
		least, most time.Duration
	}{{0.05, 7 * ms / 2, 7 * ms * 2}, {0.5, 18 * ms / 2, 20 * ms * 2}, {0.95, 72 * ms, 444 * ms}} {
		got := quantile(samples, c.share)
		t.Logf("%v of %d pods: at most %s", c.share, len(samples), got)
		if got < c.least || got > c.most {
			t.Errorf("want %s to %s", c.least, c.most)
		}
	}
}

// A rolling update of two replicas has the order and the gaps of one on kind of 2021, whose events
// have their births in nanoseconds (github.com/weaveworks-experiments/kspan at d5decdf,
// controllers/events/testdata/deployment-2-pods.yaml).
func TestRecordedRollout(t *testing.T) {
	order := []string{"up", "created", "scheduled", "down", "deleted", "up", "created", "scheduled", "down", "deleted"}
	// An event is born when the response of the call has come. The simulator has the time of the
	// call in the server, which is earlier.
	const response = 5 * time.Millisecond
	recorded := map[string][]time.Duration{ // in microseconds
		"up created":        {6619, 4455},
		"created scheduled": {4651, 16862},
		"down deleted":      {-351, 11284},
		"deleted up":        {22568},
	}
	gaps, same := map[string][]time.Duration{}, 0
	const runs = 100
	for seed := range int64(runs) {
		var seen []string
		var last virtual.Time
		typical(t, seed, 2, func(r *trace.Record) {
			what := ""
			switch {
			case r.T < virtual.At(time.Minute):
			case r.Kind == trace.Scaled && r.Object.From < r.Object.To:
				what = "up"
			case r.Kind == trace.Scaled:
				what = "down"
			case r.Kind == trace.PodAdded:
				what = "created"
			case r.Kind == trace.PodScheduled:
				what = "scheduled"
			case r.Kind == trace.PodDeleteRequested:
				what = "deleted"
			}
			if what == "" {
				return
			}
			if len(seen) > 0 {
				gap := seen[len(seen)-1] + " " + what
				gaps[gap] = append(gaps[gap], r.T.Sub(last))
			}
			seen, last = append(seen, what), r.T
		})
		if slices.Equal(seen, order) {
			same++
		}
	}
	if t.Logf("%d of %d runs have the order of the recording", same, runs); same < runs/2 {
		t.Errorf("want at least half")
	}
	for gap, list := range recorded {
		least, most := quantile(gaps[gap], 0.05), quantile(gaps[gap], 0.95)
		t.Logf("%s: 90%% of %d take %s to %s", gap, len(gaps[gap]), least, most)
		for _, took := range list {
			if took *= time.Microsecond; took < least-response || took > most {
				t.Errorf("%s: took %s", gap, took)
			}
		}
	}
}
