package command

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"probesim.dev/conformance/compare"
	"probesim.dev/conformance/kubelet/release"
	"probesim.dev/internal/answers/shrink"
	"probesim.dev/internal/lists"
	"probesim.dev/internal/proof/random"
	"probesim.dev/kube/profile"
	"probesim.dev/scenarios"
)

// seedOptions configure the comparison of random scenarios.
type seedOptions struct {
	effort   // 0 runs of the real kubelet mean 1
	procs    int
	shrink   time.Duration // time limit for shrinking a file that differs; 0 disables shrinking
	step     func() error  // see compare.Options
	profile  *profile.Profile
	scenario random.Options
}

// seedResult is the result of one seed.
type seedResult struct {
	Seed      int
	Fault     string      // why the comparison failed; the other fields are then empty
	Runs      []runResult // one for each run of the real kubelet
	SecondRun string      // the result of a second real run, if the only one differs
	Shrunk    []byte      // a shrunk file that still differs
}

// runResult is the result of one run of the real kubelet.
type runResult struct {
	counts
	Text string // the difference
}

func faultOfSeed(seed int, why string) seedResult { return seedResult{Seed: seed, Fault: why} }

// difference returns the first run that differs, or nil.
func (r *seedResult) difference() *runResult {
	return lists.Find(r.Runs, func(x *runResult) bool { return !x.Equal })
}

// compareSeed compares runs of the random scenario of a seed. The seed also draws the kubelet's
// jitter.
func compareSeed(t *testing.T, seed int, o seedOptions) seedResult {
	r := seedResult{Seed: seed}
	file, err := scenarioOf(seed, o.scenario)
	if err != nil {
		return seedResult{Seed: seed, Fault: err.Error()}
	}
	run := func() (*compare.Outcome, error) { return compareFile(t, file, seed, o) }
	for range max(1, o.repeat) {
		c, err := run()
		if err != nil {
			return seedResult{Seed: seed, Fault: err.Error()}
		}
		result := runResult{counts: countsOf(c)}
		if !c.Equal() {
			result.Text = c.Text()
			if o.repeat <= 1 {
				r.SecondRun = compareSecondRun(c, run)
			}
		}
		r.Runs = append(r.Runs, result)
	}
	if o.shrink > 0 && r.difference() != nil {
		r.Shrunk = shrinkFile(t, file, seed, o)
	}
	return r
}

// scenarioOf returns the random scenario of a seed, without the restart rules that the API server
// of the release rejects.
func scenarioOf(seed int, o random.Options) ([]byte, error) {
	known, _ := profile.Named(release.Version)
	o.Late, o.WithoutResizes, o.WithInitResizes = true, !known.ResizesAreQueued,
		known.InPlacePodVerticalScalingInitContainers
	file := o.Scenario(uint64(seed))
	if p, err := firstPlan(file); err != nil || p.Admitted() {
		return file, err
	}
	o.WithoutRestartAll = true
	return o.Scenario(uint64(seed)), nil
}

// firstPlan returns the first run of a scenario file.
func firstPlan(file []byte) (*scenarios.Plan, error) {
	all, err := scenarios.LoadBytes("random.yaml", file, nil)
	if err != nil {
		return nil, err
	}
	return all[0].Plan(release.Version, all[0].Plans()[0].Seed), nil
}

// compareFile compares the first run of a scenario file.
func compareFile(t *testing.T, file []byte, seed int, o seedOptions) (*compare.Outcome, error) {
	p, err := firstPlan(file)
	if err != nil {
		return nil, err
	}
	return compare.Plan(t, p, compare.Options{
		JitterSeed: new(int64(seed)), Procs: o.procs, Budget: o.budget, Step: o.step, Profile: o.profile,
	})
}

// shrinkFile shrinks a file that differs, and describes the difference in a comment at its head.
func shrinkFile(t *testing.T, file []byte, seed int, o seedOptions) []byte {
	end := time.Now().Add(o.shrink)
	r, err := shrink.File(file, func(file []byte) (string, bool) {
		if time.Now().After(end) {
			return "", false
		}
		// Require the difference twice in a row: a difference that appears once by chance is not
		// the one to keep.
		signature := ""
		for range 2 {
			c, err := compareFile(t, file, seed, o)
			if err != nil || c.Equal() || signature != "" && signature != c.Signature() {
				return "", false
			}
			signature = c.Signature()
		}
		return signature, true
	}, shrink.Options{})
	if err != nil { // the difference did not appear again
		return commented(file, fmt.Sprintf("The random scenario of seed %d differs, but could not be shrunk: %v", seed,
			err))
	}
	text := "The last run of this file was explained."
	if last, err := compareFile(t, r.File, seed, o); err == nil && !last.Equal() {
		text = last.Text()
	}
	return commented(r.File, fmt.Sprintf("Shrunk from the random scenario of seed %d. Reproduce the difference "+
		"with\n  go run . compare --jitter-seed %d FILE\n\n%s",
		seed, seed, text))
}

// commented returns the file with a comment at its head.
func commented(file []byte, comment string) []byte {
	var b strings.Builder
	for line := range strings.Lines(comment) {
		b.WriteString(strings.TrimRight("# "+line, " \n") + "\n")
	}
	return append([]byte(b.String()), file...)
}
