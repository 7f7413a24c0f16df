package command

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"probesim.dev/conformance/kubelet/release"
	"probesim.dev/internal/proof/random"
	"probesim.dev/kube/profile"
	"probesim.dev/scenarios"
)

// TestMain lets the test binary replace the command when it starts itself as a worker.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "random" {
		Main()
	}
	os.Exit(m.Run())
}

// TestRandomSeeds compares some random scenarios in this process.
func TestRandomSeeds(t *testing.T) {
	for _, o := range []random.Options{{}, {Rollouts: true}} {
		for seed := 1; seed <= 5; seed++ {
			r := compareSeed(t, seed, seedOptions{scenario: o})
			if r.Fault != "" || len(r.Runs) != 1 || r.difference() != nil || r.Runs[0].Records == 0 {
				t.Errorf("seed %d with %+v: %+v", seed, o, r)
			}
		}
	}
}

// TestDifferentRollout checks that rollouts differ if the simulator has the kube-proxy of another
// release.
func TestDifferentRollout(t *testing.T) {
	wrong, _ := profile.Named(release.Version)
	wrong.ProxyWithoutBurst = !wrong.ProxyWithoutBurst
	for seed := 1; seed <= 20; seed++ {
		r := compareSeed(t, seed, seedOptions{effort: effort{budget: 5}, profile: &wrong,
			scenario: random.Options{Rollouts: true}})
		if d := r.difference(); d != nil && strings.Contains(d.Text, "RoutesChanged") {
			return
		}
	}
	t.Error("no rollout differs")
}

// TestDifferentSeed checks that a seed that differs is shrunk to a smaller file that still differs
// and describes the difference.
func TestDifferentSeed(t *testing.T) {
	wrong, _ := profile.Named(release.Version)
	wrong.ManualTriggerResetsTicker = false
	o := seedOptions{effort: effort{budget: 20}, shrink: 2 * time.Second, profile: &wrong}
	for seed := 1; seed <= 20; seed++ {
		r := compareSeed(t, seed, o)
		if r.Fault != "" || r.difference() == nil {
			continue
		}
		if bytes.Contains(r.Shrunk, []byte("could not be shrunk")) {
			continue // the kubelet used another order of simultaneous events each time
		}
		if !strings.Contains(r.SecondRun, "second real run") ||
			!strings.Contains(r.difference().Text, "first record that no choice explains") {
			t.Errorf("seed %d differs, but is reported as %q and\n%s", seed, r.SecondRun, r.difference().Text)
		}
		for _, part := range []string{fmt.Sprintf("--jitter-seed %d", seed),
			"\n# first record that no choice explains"} {
			if !bytes.Contains(r.Shrunk, []byte(part)) {
				t.Errorf("%q is not in\n%s", part, r.Shrunk)
			}
		}
		if c, err := compareFile(t, r.Shrunk, seed, o); err != nil || c.Equal() {
			t.Errorf("the shrunk file does not differ: %v\n%s", err, r.Shrunk)
		}
		if _, err := scenarios.LoadBytes("s.yaml", r.Shrunk, nil); err != nil {
			t.Error(err)
		}
		return
	}
	t.Error("no seed differs, although a rule of the simulator is wrong")
}

// runSeeds compares seeds in workers, and returns the output and the report.
func runSeeds(t *testing.T, w *workers[seedResult], first, last int) (string, *randomReport) {
	t.Helper()
	w.temp, w.dumps, w.fault = t.TempDir(), t.TempDir(), faultOfSeed
	var b bytes.Buffer
	r := &randomReport{out: bufio.NewWriter(&b), progress: newProgress(io.Discard)}
	defer r.progress.Stop()
	if err := w.run(t.Context(), first, last, r.add); err != nil {
		r.out.WriteString(err.Error())
	}
	r.out.Flush()
	return b.String(), r
}

// TestWorkers checks that worker processes give the same results as this process.
func TestWorkers(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w := &workers[seedResult]{command: []string{self, "random", "--shrink", "0", "--" + workerFlag}, parallel: 2,
		silenceLimit: time.Minute}
	text, r := runSeeds(t, w, 1, 6)
	if text != "" || r.sum.equal != 6 {
		t.Errorf("%d are equal and %d differ; %s", r.sum.equal, r.sum.differ, text)
	}
}

// TestRepeatedRuns checks that each of several runs counts, and that one that differs fails the
// command although others of the same seed are equal.
func TestRepeatedRuns(t *testing.T) {
	three := seedOptions{effort: effort{repeat: 3}}
	if r := compareSeed(t, 1, three); r.Fault != "" || len(r.Runs) != 3 || r.difference() != nil {
		t.Errorf("three runs of seed 1: %+v", r)
	}
	var b bytes.Buffer
	r := &randomReport{out: bufio.NewWriter(&b), progress: newProgress(io.Discard)}
	defer r.progress.Stop()
	result := seedResult{Seed: 7, Runs: []runResult{{counts: counts{Equal: true}}, {Text: "what differs"},
		{counts: counts{Equal: true}}}}
	if err := errors.Join(r.write(result), r.sum.write(r.out, false), r.out.Flush()); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"DIFFERS  seed 7, run 2 ", "    what differs", "2 equal, 1 differ; "} {
		if !strings.Contains(b.String(), part) {
			t.Errorf("%q is not in\n%s", part, b.String())
		}
	}
	if r.sum.err() != errDiffers {
		t.Errorf("the command ends with %v", r.sum.err())
	}
}

// fakeWorker returns workers that run a shell script. The script finds its range of seeds in $first
// and $last.
func fakeWorker(script string) *workers[seedResult] {
	return &workers[seedResult]{command: []string{"sh", "-c", `first=${0%%..*}; last=${0##*..}; ` + script}, parallel: 2,
		silenceLimit: 500 * time.Millisecond}
}

const equal = `echo "{\"Number\":$s,\"Result\":{\"Seed\":$s,\"Runs\":[{\"Equal\":true}]}}"; `

// TestBrokenWorkers checks that a process that hangs or crashes costs one seed, and that the other
// seeds are compared.
func TestBrokenWorkers(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("needs sh")
	}
	for name, test := range map[string]struct{ script, want string }{
		"hangs": {`echo goroutines >&2; echo "{\"Number\":$s}"; exec sleep 60`,
			"FAULT    seed 5  no output for 500ms; its goroutines are in "},
		"crashes": {`echo goroutines >&2; echo "{\"Number\":$s}"; exit 7`,
			"FAULT    seed 5  exit status 7; its goroutines are in "},
		"exits early": {`echo goroutines >&2; echo "{\"Number\":$s}"; exit 0`,
			"FAULT    seed 5  the process exited early; its goroutines are in "},
	} {
		t.Run(name, func(t *testing.T) {
			w := fakeWorker(`for s in $(seq $first $last); do [ $s = 5 ] && { ` + test.script + `; }; ` + equal +
				`done`)
			text, r := runSeeds(t, w, 1, 60)
			if !strings.HasPrefix(text, test.want) || r.sum.equal != 59 || r.sum.faults != 1 {
				t.Errorf("%d are equal, %d at fault: %s", r.sum.equal, r.sum.faults, text)
			}
			if dump, err := os.ReadFile(filepath.Join(w.dumps, "random-5-goroutines.txt")); string(dump) !=
				"goroutines\n" {
				t.Errorf("its standard error was not saved: %s, %v", dump, err)
			}
		})
	}
}

// TestNoWorkers checks that the command fails if no process works.
func TestNoWorkers(t *testing.T) {
	for name, w := range map[string]*workers[seedResult]{
		"cannot start": {command: []string{filepath.Join(t.TempDir(), "none")}, parallel: 2,
			silenceLimit: time.Second},
		"ends immediately": fakeWorker(`exit 2`),
	} {
		if text, r := runSeeds(t, w, 1, 60); text == "" || r.sum.faults > 0 || strings.Contains(text, "FAULT") {
			t.Errorf("%s: %d faults: %s", name, r.sum.faults, text)
		}
	}
}

func TestSeedRange(t *testing.T) {
	for _, bad := range []string{"", "x", "3..", "..3", "9..1", "-1", "1..1000001"} {
		if first, last, err := rangeOf("seeds", bad); err == nil {
			t.Errorf("--seeds %q is accepted as %d to %d", bad, first, last)
		}
	}
	if first, last, err := rangeOf("seeds", "7"); first != 7 || last != 7 || err != nil {
		t.Errorf("--seeds 7 is %d to %d, %v; want 7 to 7", first, last, err)
	}
}
