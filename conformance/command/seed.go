package command

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"probesim.dev/conformance/compare"
	"probesim.dev/explore/shrink"
	"probesim.dev/internal/random"
	"probesim.dev/kube/profile"
	"probesim.dev/scenarios"
)

// seedOptions say how to compare random scenarios.
type seedOptions struct {
	procs, budget int
	shrink        time.Duration // how long to try to make a file small that differs; 0: not at all
	step          func() error  // see compare.Options
	profile       *profile.Profile
	scenario      random.Options
}

// seedResult is what came of one seed.
type seedResult struct {
	Seed  int
	Fault string // why there is nothing else
	counts
	Text   string // the difference
	Again  string // what came of a second real run, if the first differs
	Second bool   // that is explained
	Shrunk []byte // a smaller file that differs
}

// compareSeed compares the random scenario of a seed. The seed draws the kubelet's jitters too.
func compareSeed(t *testing.T, seed int, o seedOptions) seedResult {
	r := seedResult{Seed: seed}
	file := o.scenario.Scenario(uint64(seed))
	first, err := compareFile(t, file, seed, o)
	if err != nil {
		r.Fault = err.Error()
		return r
	}
	if r.counts = countsOf(first); r.Equal {
		return r
	}
	r.Text = first.Text()
	r.Again = compareAgain(first, func() (*compare.Outcome, error) { return compareFile(t, file, seed, o) })
	r.Second = r.Again == secondExplained
	if o.shrink > 0 {
		r.Shrunk = shrinkFile(t, file, seed, o)
	}
	return r
}

// compareFile compares the first run of a scenario file.
func compareFile(t *testing.T, file []byte, seed int, o seedOptions) (*compare.Outcome, error) {
	all, err := scenarios.LoadBytes(fmt.Sprintf("random-%d.yaml", seed), file, nil)
	if err != nil {
		return nil, err
	}
	return compare.Plan(t, all[0].Plan(kubernetesVersion(), nil), compare.Options{
		JitterSeed: new(int64(seed)), Procs: o.procs, Budget: o.budget, Step: o.step, Profile: o.profile,
	})
}

// shrinkFile makes a file small that differs, and says at its head how.
func shrinkFile(t *testing.T, file []byte, seed int, o seedOptions) []byte {
	end := time.Now().Add(o.shrink)
	r, err := shrink.File(file, func(file []byte) (string, bool) {
		if time.Now().After(end) {
			return "", false
		}
		signature := signatureOf(t, file, seed, o)
		// What comes of chance once is not the difference that is looked for.
		return signature, signature != "" && signature == signatureOf(t, file, seed, o)
	}, shrink.Options{})
	if err != nil { // the kubelet did something else this time
		return commented(file, fmt.Sprintf("The random scenario of seed %d differs, but could not be made smaller: %v", seed, err))
	}
	text := "The last run of it was explained."
	if last, err := compareFile(t, r.File, seed, o); err == nil && !last.Equal() {
		text = last.Text()
	}
	return commented(r.File, fmt.Sprintf("What is left of the random scenario of seed %d. See it with\n  go run . compare --jitter-seed %d FILE\n\n%s",
		seed, seed, text))
}

// signatureOf returns what differs in a run of a file; nothing if nothing does, or it cannot be run.
func signatureOf(t *testing.T, file []byte, seed int, o seedOptions) string {
	c, err := compareFile(t, file, seed, o)
	if err != nil {
		return ""
	}
	return c.Signature()
}

// commented returns a file with a comment at its head.
func commented(file []byte, comment string) []byte {
	var b strings.Builder
	for line := range strings.Lines(comment) {
		b.WriteString(strings.TrimRight("# "+line, " \n") + "\n")
	}
	return append([]byte(b.String()), file...)
}
