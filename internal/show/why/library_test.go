package why_test

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/long"
	"probesim.dev/internal/scenarios/simulate"
	"probesim.dev/internal/show/document"
	"probesim.dev/internal/show/report"
	"probesim.dev/internal/show/why"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/library"
	"probesim.dev/sim/virtual"
)

var update = flag.Bool("update", false, "write the current explanations to testdata; review the diff")

// TestEachChainHasARoot explains every restart and every change of Ready in each fourth, or each,
// scenario of the library. In each chain of causes, every record is older than its effect, every
// link has a text, and the last link is a root.
func TestEachChainHasARoot(t *testing.T) {
	explained, step := 0, long.Sample(4, 1)
	for i, scenario := range load(t) {
		if i%step != 0 {
			continue
		}
		for _, plan := range scenario.Plans() {
			run, pods := simulated(t, plan)
			for _, pod := range pods {
				for _, e := range explainAll(run, pod) {
					explained++
					if wrong := chainError(e.Chain); wrong != "" {
						t.Errorf("%s [%s]: %s:\n%s", scenario.Metadata.Name, plan.Version, wrong, text(t, e))
					}
				}
			}
		}
	}
	if explained < 500/step {
		t.Errorf("the library has only %d explanations", explained)
	}
}

// chainError describes a defect of a chain, or returns "".
func chainError(chain []why.Link) string {
	for i, l := range chain {
		switch {
		case l.Text == "" || strings.ContainsAny(l.Text, "\n\t") || strings.Contains(l.Text, "%!"):
			return fmt.Sprintf("link %d has the text %q", i, l.Text)
		case i > 0 && (l.Step >= chain[i-1].Step || l.T > chain[i-1].T):
			return fmt.Sprintf("link %d is not older than its effect", i)
		case (l.Root != "") != (i == len(chain)-1):
			return fmt.Sprintf("link %d has the root %q", i, l.Root)
		}
	}
	if len(chain) < 2 {
		return "the chain has no cause"
	}
	return ""
}

// explainAll explains every restart and every change of Ready of a pod.
func explainAll(run *why.Run, pod *v1.Pod) []why.Explanation {
	name := pod.Namespace + "/" + pod.Name
	list := run.Ready(name, 1<<62)
	for _, containers := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for _, c := range containers {
			for i := range run.Restarts(name, c.Name) {
				if e, ok := run.Restart(name, c.Name, i+1); ok {
					list = append(list, e)
				}
			}
		}
	}
	return list
}

var loaded = sync.OnceValues(library.Scenarios)

func load(t *testing.T) []*scenarios.Scenario {
	t.Helper()
	all, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func simulated(t *testing.T, plan *scenarios.Plan) (*why.Run, []*v1.Pod) {
	t.Helper()
	r := simulate.Run(t.Context(), plan, simulate.Options{Internal: true})
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	return r.Why(), r.Pods()
}

func text(t *testing.T, e ...why.Explanation) string {
	t.Helper()
	var b strings.Builder
	if err := report.Why(&b, e, document.Options{Width: 120}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestSentences compares explanations of library scenarios with testdata. Run it with -update to
// rewrite the file.
func TestSentences(t *testing.T) {
	const golden = "testdata/library.txt"
	var b strings.Builder
	for _, q := range questions {
		fmt.Fprintf(&b, "# %s\n%s\n", q, ask(t, q))
	}
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("explanations differ (-want +got):\n%s", diff)
	}
}

// questions name a scenario, a version, a pod, and the thing to explain: a restart of a container,
// the changes of Ready, or the state at a moment.
var questions = []string{
	"exec-liveness v1.37 default/liveness-exec restart liveness 1",
	"exec-liveness v1.37 default/liveness-exec at 75s",
	"exec-liveness v1.37 default/liveness-exec at 90s",
	"slow-start-with-startup-probe v1.37 default/shop ready",
	"slow-start-with-startup-probe v1.37 default/shop at 20s",
	"back-off-requeue v1.34 default/shop restart app 2",
	"back-off-requeue v1.37 default/shop restart app 2",
	"back-off-requeue v1.37 default/shop at 8s",
	"sidecars-start-in-order-and-stop-in-reverse v1.37 default/mesh at 2s",
	"sidecars-start-in-order-and-stop-in-reverse v1.37 default/mesh at 6s",
	"sidecars-start-in-order-and-stop-in-reverse v1.37 default/mesh ready",
	"sidecars-start-in-order-and-stop-in-reverse v1.37 default/mesh at 55s",
	"new-sandbox-counts-from-zero v1.37 default/batch restart job 1",
	"kubelet-restart v1.34 default/shop ready",
	"kubelet-restart-ends-a-start v1.37 default/shop ready",
	"kubelet-restart-without-the-api v1.37 default/shop restart app 1",
	"kubelet-restart-without-the-api v1.37 default/shop at 120s",
	"sidecar-image-waits-for-startup v1.37 default/mesh ready",
	"post-start-fails v1.37 default/api restart app 1",
	"pre-stop-takes-too-long v1.37 default/api ready",
	"pre-stop-takes-too-long v1.37 default/api at 40s",
	"evicted-in-any-release v1.37 default/shop ready",
	"evicted-in-any-release v1.37 default/shop at 21s",
	"evicted-in-any-release v1.37 default/shop at 30s",
	"active-deadline-ends-the-pod v1.37 default/report-0 ready",
	"readiness-gate-opens-and-closes v1.37 default/gated ready",
	"node-reboot v1.37 default/shop ready",
	"long-runtime-outage-stops-the-sync-loop v1.37 default/shop restart app 1",
	"removed-run-is-remembered v1.37 default/shop ready",
	"redis-ha-post-start-blocks-the-pod v1.37 argocd/argocd-redis-ha-server-0 ready",
	"redis-ha-post-start-blocks-the-pod v1.37 argocd/argocd-redis-ha-server-0 at 20s",
	"finalizer-keeps-the-pod v1.37 default/worker at 60s",
	"sigterm-from-outside v1.37 default/shop restart app 1",
	"add-and-remove-readiness/instance v1.38-preview default/shop ready",
	"remove-liveness-and-add-it-again/pod v1.38-preview default/shop restart app 1",
}

func ask(t *testing.T, question string) string {
	words := strings.Fields(question)
	plan := planned(t, words[0], words[1])
	run, _ := simulated(t, plan)
	switch words[3] {
	case "restart":
		n, err := strconv.Atoi(words[5])
		e, ok := run.Restart(words[2], words[4], n)
		if err != nil || !ok {
			t.Errorf("%s: there was no such restart (%v)", question, err)
		}
		return text(t, e)
	case "at":
		at, err := time.ParseDuration(words[4])
		if err != nil {
			t.Fatal(err)
		}
		return text(t, run.At(words[2], "", virtual.At(at)))
	}
	all := run.Ready(words[2], virtual.At(plan.Duration))
	if len(all) == 0 {
		t.Errorf("%s: Ready never changed", question)
	}
	return text(t, all...)
}

func planned(t *testing.T, name, version string) *scenarios.Plan {
	for _, s := range load(t) {
		if s.Metadata.Name == name {
			return s.Plans()[0].Scenario.Plan(version, s.Plans()[0].Seed)
		}
	}
	t.Fatalf("there is no scenario %s in the library", name)
	return nil
}
