package main

import (
	"bufio"
	"bytes"
	_ "embed"
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
	"sync"
	"time"
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
	differs := make([]string, len(files))
	o.each(len(files), func(i int) {
		f, reached := files[i], list+strconv.Itoa(i)
		_ = os.WriteFile(reached, nil, 0o600)
		v := o.compare([]string{f.path}, "MUTANT=0", "REACHED="+reached)
		f.took, differs[i] = v.took, v.killedBy
		text, _ := os.ReadFile(reached)
		for number := range strings.FieldsSeq(string(text)) {
			n, _ := strconv.Atoi(number)
			f.reached[n] = true
		}
		os.Remove(reached)
	})
	all := map[int]bool{}
	for i := len(files) - 1; i >= 0; i-- {
		if differs[i] != "" {
			fmt.Printf("left out %s: %s\n", files[i].path, differs[i])
			files = slices.Delete(files, i, i+1)
			continue
		}
		maps.Copy(all, files[i].reached)
	}
	slices.SortFunc(files, func(a, b *scenarioFile) int { return int(a.took - b.took) })
	if len(files) > 0 {
		o.patience = time.Minute + 10*files[len(files)-1].took
	}
	fmt.Printf("%d files reach %d of %d mutants\n", len(files), len(all), len(mutants))
	return files, nil
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
	reasons := unshown(unshownText)
	verdicts := make([]verdict, len(drawn))
	var printing sync.Mutex
	o.each(len(drawn), func(i int) {
		m := drawn[i]
		if reasons[m.key()] != "" {
			return
		}
		var paths []string
		for _, f := range files {
			if f.reached[m.number] {
				paths = append(paths, f.path)
			}
		}
		v := o.compare(paths, "MUTANT="+strconv.Itoa(m.number))
		verdicts[i] = v
		printing.Lock()
		defer printing.Unlock()
		if v.killedBy == "" {
			fmt.Printf("SURVIVES %v    (%d files, %.0fs)\n", m, len(paths), v.took.Seconds())
		} else {
			fmt.Printf("killed   %v    by %s\n", m, v.killedBy)
		}
	})
	shown, killed := 0, 0
	for _, a := range areas {
		of, dead := 0, 0
		for i, m := range drawn {
			if m.area != a.name || reasons[m.key()] != "" {
				continue
			}
			of++
			if verdicts[i].killedBy != "" {
				dead++
			}
		}
		fmt.Printf("%-12s %3d of %3d killed\n", a.name, dead, of)
		shown, killed = shown+of, killed+dead
	}
	fmt.Printf("%d of %d mutants are killed (%.1f%%). %d more cannot be shown. Seed %d\n", killed, shown,
		100*float64(killed)/float64(max(shown, 1)), len(drawn)-shown, o.seed)
	return float64(killed) >= enough*float64(shown), nil
}

// compare compares scenario files with a mutant, up to the first difference. A program that is
// silent for too long is ended: it hangs.
func (o *options) compare(paths []string, environment ...string) (v verdict) {
	began := time.Now()
	defer func() { v.took = time.Since(began) }()
	c := exec.Command(o.program, append([]string{"compare", "--budget", budget}, paths...)...)
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
	kill := func() { _ = c.Process.Kill() }
	silence := time.AfterFunc(o.patience, kill)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		silence.Reset(o.patience)
		if line := lines.Text(); v.killedBy == "" && strings.HasPrefix(line, "DIFFERS") {
			v.killedBy = strings.Join(strings.Fields(line)[:2], " ")
			kill()
		}
	}
	hangs := !silence.Stop()
	err = c.Wait()
	switch {
	case v.killedBy != "":
	case hangs:
		v.killedBy = "silence"
	case err != nil:
		v.killedBy = fmt.Sprintf("%v: %s", err, panicOf(stderr.String()))
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

// each calls a function for all numbers below n, of which some run at the same time.
func (o *options) each(n int, do func(int)) {
	var group sync.WaitGroup
	next := make(chan int)
	for range o.parallel {
		group.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	group.Wait()
}

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
