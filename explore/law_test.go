package explore

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"probesim.dev/internal/long"
	"probesim.dev/scenarios"
	"probesim.dev/sim/choose"
	"probesim.dev/sim/virtual"
)

var lawScenarios = flag.Int("law.scenarios", long.Sample(3, 20),
	"number of small scenarios for which the laws of the search are tested")

// smallScenario returns a scenario of a few seconds, for which all pairs of deviations are
// feasible.
func smallScenario(t *testing.T, seed uint64) Subject {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 1))
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	probe := func(name string, more string) string {
		return fmt.Sprintf("%s: {exec: {command: [x]}, periodSeconds: %d, failureThreshold: %d%s}", name, 1+r.IntN(3),
			1+r.IntN(3), more)
	}
	var probes []string
	for _, p := range []string{probe("livenessProbe", ""), probe("readinessProbe", pick("", ", successThreshold: 2")),
		probe("startupProbe", "")} {
		if r.IntN(2) == 0 {
			probes = append(probes, p)
		}
	}
	if probes == nil {
		probes = []string{probe("readinessProbe", "")}
	}
	behavior := []string{"{afterSigterm: " + pick("0s", "500ms", "1500ms") + ", exit: 0}"}
	for _, b := range []string{"{for: 2s, probes: fail}", "{after: 1s, for: 2s, probes: fail}",
		"{instance: 0, after: 1500ms, exit: 1}", "{probes: ok in 700ms}"} {
		if r.IntN(3) == 0 {
			behavior = append(behavior, b)
		}
	}
	text := `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {terminationGracePeriodSeconds: 2, containers: [{name: app, image: "web:1", ` + strings.Join(probes, ", ") + `}]}
---
apiVersion: probesim.dev/v1alpha1
kind: Scenario
metadata: {name: small}
spec:
  duration: 4s
  kubelet: {uptime: ` + pick("1s", "10.337s", "10s") + `}
  pods: [{name: web, containers: [{name: app, behavior: [` + strings.Join(behavior, ", ") + `]}]}]
` + pick("", "  steps: [{at: 2s, delete: {}}]\n", "  steps: [{at: 2100ms, restartKubelet: {downtime: 300ms}}]\n")
	all, err := scenarios.LoadBytes("small.yaml", []byte(text), nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return Subject{Plan: all[0].Plan("v1.37", nil)}
}

// orders draws all choices from a seed, except jitters: the search is complete for orders only.
type orders struct{ choose.Seeded }

func (orders) Fraction(choose.Choice) float64 { return 0.5 }

// few makes up to two choices in another way: orders, and jitters among the three values of the
// search. A seed says which.
type few struct {
	choose.Seeded
	left int
	from virtual.Time
	now  func() virtual.Time
}

func (f *few) setNow(now func() virtual.Time) { f.now = now }

// other returns one of n alternatives to the canonical choice, or 0 for the canonical choice.
func (f *few) other(c choose.Choice, n int) int {
	h := int(f.Seeded.Fraction(c) * (1 << 30))
	if f.now == nil || f.now() < f.from || f.left == 0 || h%40 != 0 {
		return 0
	}
	f.left--
	return 1 + h/40%(n-1)
}

func (f *few) Choose(c choose.Choice, n int) int   { return f.other(c, n) }
func (f *few) Next(candidates []choose.Choice) int { return f.other(candidates[0], len(candidates)) }
func (f *few) Fraction(c choose.Choice) float64 {
	return append([]float64{0.5}, fractions...)[f.other(c, 3)]
}

// recording keeps the choices of another chooser.
type recording struct{ choose.Recorder }

func (r *recording) setNow(now func() virtual.Time) {
	if c, ok := r.Of.(timed); ok {
		c.setNow(now)
	}
}

// needed leaves out choices, one after the other, without which the outcome is the same.
func needed(s Subject, made []choose.Made, id string) []choose.Made {
	for i := 0; i < len(made); {
		without := slices.Concat(made[:i], made[i+1:])
		if r := s.run(Change{}, runOptions{chooser: choose.NewReplay(without)}); r.History.ID() == id {
			made = without
			continue
		}
		i++
	}
	return made
}

// ids returns the IDs of the outcomes, and the text of each for errors.
func ids(t *testing.T, s Subject, o Options) ([]string, *Result) {
	t.Helper()
	r, err := Explore(context.Background(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Ended != endedAll {
		t.Fatalf("ended by %s after %d runs", r.Ended, r.Runs)
	}
	var list []string
	for _, outcome := range r.Outcomes {
		list = append(list, outcome.ID)
	}
	slices.Sort(list)
	return list, r
}

// The search that leaves out what lies behind a deviation without effect finds the same outcomes as
// the one that makes all pairs of deviations. The outcomes of random orders are a subset, unless
// they need more than two choices, and so are those of two random choices, jitters included.
func TestReductionAndSeeds(t *testing.T) {
	all, made := 0, 0
	for seed := range *lawScenarios {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			s := smallScenario(t, uint64(seed))
			policies := []string{"canonical", "orders", "pairs"}
			plain, whole := ids(t, s, Options{Policies: policies, Runs: 1_000_000, plain: true})
			reduced, part := ids(t, s, Options{Policies: policies, Runs: 1_000_000})
			if !slices.Equal(plain, reduced) {
				t.Errorf("%d outcomes in %d runs, and %d outcomes in %d reduced runs", len(plain), whole.Runs,
					len(reduced), part.Runs)
			}
			all, made = all+whole.Runs, made+part.Runs
			for seed := range uint64(long.Sample(30, 300)) {
				for what, chooser := range map[string]choose.Chooser{
					"orders": orders{choose.Seeded(seed)},
					"two choices in other ways": &few{Seeded: choose.Seeded(seed), left: 2,
						from: virtual.At(-time.Second)},
				} {
					recorder := &recording{choose.Recorder{Of: chooser}}
					r := s.run(Change{}, runOptions{chooser: recorder})
					if id := r.History.ID(); !slices.Contains(plain, id) && len(needed(s, recorder.Made, id)) <= 2 {
						t.Errorf("seed %d of %s finds an outcome that the search does not find: %s", seed, what,
							r.History.difference(&s.run(Change{}, runOptions{}).History))
					}
				}
			}
		})
	}
	t.Logf("%d runs, and %d reduced runs", all, made)
	if made*10 > all*9 {
		t.Errorf("the reduction saves little: %d of %d runs", made, all)
	}
}
