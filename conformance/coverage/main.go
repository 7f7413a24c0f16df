// Command coverage shows how much of the real kubelet scenarios run:
//
//	cd conformance/v1.37
//	export GOFLAGS="$(go run probesim.dev/conformance/overlay)"
//	go run probesim.dev/conformance/coverage ../../scenarios/library
//
// It builds the program of the release with coverage, compares the scenarios, and prints the share
// of statements that ran, for parts of the kubelet. The second figure leaves out those in
// unreached.txt, which has the reasons why no scenario reaches them. With -v, it prints all other
// blocks that did not run.
package main

import (
	_ "embed"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// unreachedText names blocks that no scenario reaches, each below its reason: the file, the
// function and the first line, of which * stands for all.
//
//go:embed unreached.txt
var unreachedText string

const kubernetes = "k8s.io/kubernetes/"

// areas are the parts of the kubelet, by their names below pkg.
var areas = []struct{ name, prefix string }{
	{"prober", "kubelet/prober/"}, {"status", "kubelet/status/"}, {"pod workers", "kubelet/pod_workers.go"},
	{"kuberuntime", "kubelet/kuberuntime/"}, {"pleg", "kubelet/pleg/"},
}

// block is a block of statements, as go test counts them.
type block struct {
	file                string // below pkg
	line, column, count int
	ran                 bool
}

func main() {
	verbose := flag.Bool("v", false, "print the blocks that did not run and are not in unreached.txt")
	profile := flag.String("profile", "", "write the profile of go tool cover to this file, or read it without a PATH")
	flag.Parse()
	if flag.NArg() == 0 && *profile == "" {
		fmt.Fprintln(os.Stderr, "usage: coverage [flags] PATH...    PATH is a scenario file or a directory")
		flag.PrintDefaults()
		os.Exit(2)
	}
	if err := run(flag.Args(), *profile, *verbose); err != nil {
		fmt.Fprintln(os.Stderr, "coverage:", err)
		os.Exit(3)
	}
}

func run(paths []string, profile string, verbose bool) error {
	dir, err := os.MkdirTemp("", "coverage")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if profile == "" {
		profile = filepath.Join(dir, "profile")
	}
	if len(paths) > 0 {
		if err := measure(dir, profile, paths); err != nil {
			return err
		}
	}
	text, err := os.ReadFile(profile)
	if err != nil {
		return err
	}
	blocks := parse(string(text))
	module, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes").Output()
	if err != nil {
		return fmt.Errorf("go list -m k8s.io/kubernetes: %w", err)
	}
	sources := sources{dir: filepath.Join(strings.TrimSpace(string(module)), "pkg"), read: map[string]*source{}}
	for _, a := range areas {
		if err := report(a.name, a.prefix, blocks, &sources, verbose); err != nil {
			return err
		}
	}
	return nil
}

// measure writes the profile of the packages of all areas.
func measure(dir, profile string, paths []string) error {
	packages := []string{"probesim.dev/conformance/kubelet"} // without the main package, nothing is written
	for _, a := range areas {
		packages = append(packages, kubernetes+"pkg/"+filepath.Dir(a.prefix+"x"))
	}
	packages = append(packages, kubernetes+"pkg/kubelet/prober/results")
	program, data := filepath.Join(dir, "program"), filepath.Join(dir, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		return err
	}
	for _, command := range [][]string{
		{"go", "build", "-cover", "-coverpkg=" + strings.Join(packages, ","), "-o", program, "."},
		append([]string{program, "compare"}, paths...),
		{"go", "tool", "covdata", "textfmt", "-i=" + data, "-o", profile},
	} {
		c := exec.Command(command[0], command[1:]...)
		c.Env = append(os.Environ(), "GOCOVERDIR="+data)
		if out, err := c.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", strings.Join(command[:2], " "), err, out[max(0, len(out)-2000):])
		}
	}
	return nil
}

// parse reads a profile as go tool cover does. A block can have several lines.
func parse(profile string) []*block {
	type place struct {
		file         string
		line, column int
		end          string
	}
	all := map[place]*block{}
	for line := range strings.Lines(profile) {
		var p place
		b := &block{}
		var times int
		file, rest, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		if n, _ := fmt.Sscanf(rest, "%d.%d,%s %d %d", &b.line, &b.column, &p.end, &b.count, &times); n != 5 {
			continue
		}
		b.file = strings.TrimPrefix(file, kubernetes+"pkg/")
		p.file, p.line, p.column = b.file, b.line, b.column
		if all[p] == nil {
			all[p] = b
		}
		all[p].ran = all[p].ran || times > 0
	}
	return slices.SortedFunc(maps.Values(all), func(a, b *block) int {
		return strings.Compare(a.file, b.file)*1e6 + a.line - b.line
	})
}
