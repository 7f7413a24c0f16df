package reconstruct

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/incident"
	"probesim.dev/incident/cluster"
	"probesim.dev/internal/long"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/random"
	"probesim.dev/scenarios/simulate"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

var proofs = flag.Int("proofs", long.Sample(2, 12), "the number of random scenarios that TestProof reconstructs")
var proofDir = flag.String("proof-dir", "", "write the scenarios, the recordings and the reconstructions to this directory")
var proofOnly = flag.String("proof-only", "", "only these seeds, with commas between them")
var proofFrom = flag.Int("proof-from", 1, "the first seed")

// TestMain lets the garbage collector run less often: the heap of a run is small, and the runs allocate much.
func TestMain(m *testing.M) {
	debug.SetGCPercent(800)
	m.Run()
}

// proof is the result of a reconstruction of a random scenario.
type proof struct {
	held, all   int
	unmet       []Claim
	nothing     int
	tried       int
	windows     int      // of recorded failures that the run explains
	unexplained int      // recorded failures that it does not explain
	unstated    int      // recorded failures that it explains without a rule that has a range
	inside      int      // windows that the ranges of rules contain
	outside     []string // descriptions of the others
	causes      []string // features of the scenario that the recording cannot tell
}

// TestProof simulates random scenarios, records them as a cluster would, reconstructs the recordings, and runs the result. It
// counts the recorded facts that the reconstruction reproduces. The run that was recorded must meet all claims.
func TestProof(t *testing.T) {
	var held, all, whole, pods, inside, total, unexplained, unstated int
	causes := map[string]int{}
	for seed := *proofFrom; seed < *proofFrom+*proofs; seed++ {
		if *proofOnly != "" && !slices.Contains(strings.Split(*proofOnly, ","), fmt.Sprint(seed)) {
			continue
		}
		began := time.Now()
		p := prove(t, uint64(seed))
		held, all = held+p.held, all+p.all
		inside, total, unexplained, unstated = inside+p.inside, total+p.windows, unexplained+p.unexplained, unstated+p.unstated
		pods++
		if p.held == p.all {
			whole++
		}
		t.Logf("seed %d: %d of %d facts %v, %d runs in %s", seed, p.held, p.all, p.causes, p.tried, time.Since(began).Round(time.Millisecond))
		for _, text := range p.outside {
			t.Logf("    outside: %s", text)
		}
		_, untrue := truth(t, random.Scenario(uint64(seed)))
		for _, c := range untrue {
			t.Errorf("seed %d: the run that was recorded does not meet %s: %s {%s}: %s", seed, c.Fact.Place, c.Says, c.expect, c.Reason)
		}
		for _, c := range p.unmet {
			t.Logf("    %s %s: %s {%s} got %s", c.Fact.Pod.Name, c.Fact.Container, c.Says, c.expect, c.Reason)
			key := string(c.Fact.Kind)
			if c.Fact.Kind == incident.Event {
				key += " " + c.Fact.Reason
			}
			if len(p.causes) > 0 {
				key += " (" + strings.Join(p.causes, ", ") + ")"
			}
			causes[key]++
		}
	}
	t.Logf("%d of %d facts (%.1f%%), %d of %d scenarios completely", held, all, 100*float64(held)/float64(max(all, 1)), whole, pods)
	for _, k := range slices.Sorted(maps.Keys(causes)) {
		t.Logf("%5d %s", causes[k], k)
	}
	t.Logf("the ranges of the rules contain %d of %d true windows (%.1f%%) of failures that they explain; %d failures are explained without such a rule, and %d not at all", inside, total, 100*float64(inside)/float64(max(total, 1)), unstated, unexplained)
	if held*100 < all*95 {
		t.Errorf("only %d of %d facts are reproduced", held, all)
	}
	if whole*100 < pods*65 {
		t.Errorf("only %d of %d scenarios are reproduced completely", whole, pods)
	}
	if inside*100 < total*75 { // TestWindows checks the windows themselves
		t.Errorf("the ranges of the rules contain only %d of %d true windows", inside, total)
	}
}

func prove(t *testing.T, seed uint64) *proof {
	t.Helper()
	loaded, err := scenarios.LoadBytes("random.yaml", random.Scenario(seed), nil)
	if err != nil {
		t.Fatal(err)
	}
	plan := loaded[0].Plans()[0]
	run := simulate.Run(context.Background(), plan, simulate.Options{})
	if run.Err != nil {
		t.Fatal(run.Err)
	}
	rec := record(t, plan, run, run.End)
	for i, f := range recorded(t, plan, run, run.End) {
		keep(t, fmt.Sprintf("%d-%d.json", seed, i), f.Data)
	}
	keep(t, fmt.Sprintf("%d.yaml", seed), random.Scenario(seed))
	p := &proof{causes: unseen(run.Records)}
	left := DefaultEffort
	for i, pod := range Simplest(rec.Pods) {
		r, err := Pod(context.Background(), rec, pod, Options{Effort: left / (len(rec.Pods) - i)})
		if errors.Is(err, ErrNothing) {
			p.nothing++
			continue
		}
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		keep(t, fmt.Sprintf("%d-%s.yaml", seed, pod.Name), r.Text)
		for _, planned := range plan.Pods() {
			if planned.Pod.Namespace == pod.Namespace && planned.Pod.Name == pod.Name {
				compare(p, run.Records, planned.Program, r)
			}
		}
		p.tried += r.Tried
		left -= r.Effort
		held, all := r.Explained()
		p.held, p.all = p.held+held, p.all+all
		for _, c := range r.Claims {
			if !c.Beyond && !c.Holds {
				p.unmet = append(p.unmet, c)
			}
		}
	}
	return p
}

// keep writes a file to the directory of -proof-dir.
func keep(t *testing.T, name string, data []byte) {
	if *proofDir == "" {
		return
	}
	if err := os.WriteFile(filepath.Join(*proofDir, name), data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// record returns the recording of a run at a time: what the cluster has, and the manifests.
func record(t *testing.T, plan *scenarios.Plan, run *simulate.Result, at virtual.Time) *incident.Recording {
	t.Helper()
	return incident.Read(recorded(t, plan, run, at))
}

func recorded(t *testing.T, plan *scenarios.Plan, run *simulate.Result, at virtual.Time) []incident.File {
	t.Helper()
	var pods []*v1.Pod
	var manifests bytes.Buffer
	for _, p := range plan.Pods() {
		pods = append(pods, p.Pod)
		text, err := json.Marshal(map[string]any{"kind": "Pod", "metadata": map[string]any{"name": p.Pod.Name, "namespace": p.Pod.Namespace}, "spec": p.Pod.Spec})
		if err != nil {
			t.Fatal(err)
		}
		manifests.Write(append(text, '\n'))
	}
	var b bytes.Buffer
	if err := cluster.Write(&b, pods, run.Records, at); err != nil {
		t.Fatal(err)
	}
	return []incident.File{{Name: "manifests.json", Data: manifests.Bytes()}, {Name: "cluster.json", Data: b.Bytes()}}
}

// unseen returns the actions in a run that a cluster does not record with its pods.
func unseen(records []trace.Record) []string {
	seen := map[string]bool{}
	for i := range records {
		switch r := &records[i]; {
		case r.Kind == trace.Step:
			seen["step "+r.Reason] = true
		case r.Kind == trace.KubeletStarted:
			seen["the kubelet restarts"] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}
