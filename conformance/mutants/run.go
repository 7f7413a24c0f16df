package main

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"probesim.dev/internal/runner/pool"
)

// unshownText names mutants that no record shows, each below its reason.
//
//go:embed unshown.txt
var unshownText string

const (
	budget = "300" // simulated runs for each run of the kubelet
	enough = 0.95  // the share of the mutants that must be killed
)

type options struct {
	seed            uint64
	count, parallel int
	program         string
	patience        time.Duration // how long the program may be silent
}

// scenarioFile is a scenario file with the mutants that it reaches.
type scenarioFile struct {
	path    string
	took    time.Duration
	reached map[int]bool
}

// verdict is what happened to a mutant.
type verdict struct {
	killedBy string // the line that shows a difference; empty: it survives
	took     time.Duration
}

// reach runs each scenario file with the unchanged kubelet, and returns those that compare equal,
// the shortest first.
func (o *options) reach(mutants []*mutant, paths []string) (files []*scenarioFile, err error) {
	for _, root := range paths {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".yaml" {
				return err
			}
			text, err := os.ReadFile(path)
			if strings.Contains(string(text), "kind: Scenario") { // and no manifest that one refers to
				files = append(files, &scenarioFile{path: path, reached: map[int]bool{}})
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	o.patience = 10 * time.Minute
	list := o.program + ".reached"
	all := map[int]bool{}
	var equal []*scenarioFile
	err = pool.InOrder(context.Background(), len(files), o.pool(), func(_ context.Context, i int) verdict {
		f, reached := files[i], list+strconv.Itoa(i)
		_ = os.WriteFile(reached, nil, 0o600)
		v := o.compare([]string{f.path}, "MUTANT=0", "REACHED="+reached)
		text, _ := os.ReadFile(reached)
		for number := range strings.FieldsSeq(string(text)) {
			n, _ := strconv.Atoi(number)
			f.reached[n] = true
		}
		f.took = v.took
		os.Remove(reached)
		return v
	}, func(i int, v verdict) error {
		if v.killedBy != "" {
			fmt.Printf("left out %s: %s\n", files[i].path, v.killedBy)
			return nil
		}
		equal = append(equal, files[i])
		maps.Copy(all, files[i].reached)
		return nil
	})
	files = equal
	slices.SortFunc(files, func(a, b *scenarioFile) int { return int(a.took - b.took) })
	if len(files) > 0 {
		o.patience = time.Minute + 10*files[len(files)-1].took
	}
	fmt.Printf("%d files reach %d of %d mutants\n", len(files), len(all), len(mutants))
	return files, err
}

// draw draws mutants that some file reaches: of each area its share.
func draw(mutants []*mutant, files []*scenarioFile, seed uint64, count int) (drawn []*mutant) {
	random := rand.New(rand.NewPCG(seed, 0))
	reached := map[string][]*mutant{}
	for _, m := range mutants {
		if slices.ContainsFunc(files, func(f *scenarioFile) bool { return f.reached[m.number] }) {
			reached[m.area] = append(reached[m.area], m)
		}
	}
	for _, a := range areas {
		of := reached[a.name]
		random.Shuffle(len(of), func(i, j int) { of[i], of[j] = of[j], of[i] })
		drawn = append(drawn, of[:min(len(of), (count*a.share+50)/100)]...)
	}
	return drawn
}

// judge runs the mutants, prints each survivor, and reports whether enough of them are killed.
func (o *options) judge(drawn []*mutant, files []*scenarioFile) (bool, error) {
	reasons, all := unshown(unshownText), len(drawn)
	drawn = slices.DeleteFunc(drawn, func(m *mutant) bool { return reasons[m.key()] != "" })
	verdicts := make([]verdict, len(drawn))
	err := pool.InOrder(context.Background(), len(drawn), o.pool(), func(_ context.Context, i int) verdict {
		var paths []string
		for _, f := range files {
			if f.reached[drawn[i].number] {
				paths = append(paths, f.path)
			}
		}
		return o.compare(paths, "MUTANT="+strconv.Itoa(drawn[i].number))
	}, func(i int, v verdict) error {
		if verdicts[i] = v; v.killedBy == "" {
			fmt.Printf("SURVIVES %v    (%.0fs)\n", drawn[i], v.took.Seconds())
		} else {
			fmt.Printf("killed   %v    by %s\n", drawn[i], v.killedBy)
		}
		return nil
	})
	shown, killed := 0, 0
	for _, a := range areas {
		of, dead := 0, 0
		for i, m := range drawn {
			if m.area == a.name {
				of++
			}
			if m.area == a.name && verdicts[i].killedBy != "" {
				dead++
			}
		}
		fmt.Printf("%-12s %3d of %3d killed\n", a.name, dead, of)
		shown, killed = shown+of, killed+dead
	}
	fmt.Printf("%d of %d mutants are killed (%.1f%%). %d more cannot be shown. Seed %d\n", killed, shown,
		100*float64(killed)/float64(max(shown, 1)), all-shown, o.seed)
	return float64(killed) >= enough*float64(shown), err
}

// compare compares scenario files with a mutant, up to the first difference. A program that is
// silent for too long is ended: it hangs.
func (o *options) compare(paths []string, environment ...string) (v verdict) {
	began := time.Now()
	defer func() { v.took = time.Since(began) }()
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	c := exec.CommandContext(ctx, o.program, append([]string{"compare", "--budget", budget}, paths...)...)
	c.Env = append(os.Environ(), environment...)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		return verdict{killedBy: err.Error()}
	}
	silence := time.AfterFunc(o.patience, func() { cancel(errors.New("silence")) })
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		silence.Reset(o.patience)
		if line := lines.Text(); strings.HasPrefix(line, "DIFFERS") {
			cancel(errors.New(strings.Join(strings.Fields(line)[:2], " ")))
		}
	}
	silence.Stop()
	if err = c.Wait(); err != nil {
		v.killedBy = fmt.Sprintf("%v: %s", err, panicOf(stderr.String()))
	}
	if cause := context.Cause(ctx); cause != nil {
		v.killedBy = cause.Error()
	}
	return v
}

// panicOf returns the line of the output of a program that names the panic.
func panicOf(output string) string {
	for line := range strings.Lines(output) {
		if strings.HasPrefix(line, "panic:") || strings.HasPrefix(line, "fatal error:") {
			return fmt.Sprintf("%.100s", strings.TrimSpace(line))
		}
	}
	return fmt.Sprintf("%.100s", strings.TrimSpace(output))
}

func (o *options) pool() pool.Options { return pool.Options{Parallel: o.parallel} }

// unshown returns the reasons of the mutants in a text: a line that begins with # is the reason of
// the keys below it.
func unshown(text string) map[string]string {
	reasons, reason := map[string]string{}, ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if comment, ok := strings.CutPrefix(line, "# "); ok {
			reason = comment
		} else if line != "" {
			reasons[line] = reason
		}
	}
	return reasons
}
