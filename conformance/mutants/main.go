// Command mutants tests how many small changes of the real kubelet the comparison of scenarios with
// the simulator notices:
//
//	cd conformance/v1.37
//	export GOFLAGS="$(go run probesim.dev/conformance/overlay)"
//	go run probesim.dev/conformance/mutants --seed 1 ../../scenarios/library
//
// It builds the program of the release once, with all mutants, of which an environment variable
// switches one on. A mutant negates a condition or a side of && and ||, moves the boundary of a
// comparison by one, deletes a call, a count or an assignment to a field, or flips a returned
// true or false. Then it draws mutants by the seed from those that some scenario reaches, runs each
// with the scenarios that reach it, and prints those that survive. Exit code 1: fewer than 95% of
// those that a record can show are killed. It needs unshare and mount of util-linux.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

func main() {
	var o options
	flag.Uint64Var(&o.seed, "seed", 1, "seed that draws the mutants")
	flag.IntVar(&o.count, "n", 200, "number of mutants to draw")
	flag.IntVar(&o.parallel, "parallel", runtime.NumCPU(), "number of processes that run at the same time")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: mutants [flags] PATH...    PATH is a scenario file or a directory")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() == 0 || o.parallel < 1 {
		flag.Usage()
		os.Exit(2)
	}
	killed, err := run(o, flag.Args())
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(3)
	case !killed:
		os.Exit(1)
	}
}

// run builds the program, runs the mutants, and reports whether enough of them are killed.
func run(o options, paths []string) (enough bool, err error) {
	dir, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(dir)
	o.program = filepath.Join(dir, "program")
	mutants, err := build(dir, o.program)
	if err != nil {
		return false, err
	}
	files, err := o.reach(mutants, paths)
	if err != nil {
		return false, err
	}
	return o.judge(draw(mutants, files, o.seed, o.count), files)
}

// area is a part of the kubelet that is mutated, with its share of the mutants in percent.
type area struct {
	name  string
	share int
	files []string // relative to pkg/kubelet
}

var areas = []area{
	{"prober", 30, []string{"prober/prober.go", "prober/prober_manager.go", "prober/worker.go",
		"prober/results/results_manager.go"}},
	{"status", 19, []string{"status/generate.go", "status/status_manager.go"}},
	{"pod workers", 13, []string{"pod_workers.go"}},
	{"kuberuntime", 16, []string{"kuberuntime/helpers.go", "kuberuntime/kuberuntime_container.go",
		"kuberuntime/kuberuntime_gc.go", "kuberuntime/kuberuntime_manager.go", "kuberuntime/kuberuntime_sandbox.go",
		"kuberuntime/kuberuntime_termination_order.go"}},
	{"kubelet", 16, []string{"active_deadline.go", "kubelet.go", "kubelet_pods.go", "pod_container_deletor.go",
		"reason_cache.go"}},
	{"pleg", 6, []string{"pleg/generic.go"}},
}

// runtimePackage is the package of the function that switches a mutant on. It is added to the
// kubelet.
const runtimePackage = "k8s.io/kubernetes/pkg/kubelet/mutant"

// switches is the source of this package. The program writes the number of each mutant that it
// reaches to the file REACHED.
const switches = `package mutant

import (
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
)

var (
	chosen, _  = strconv.Atoi(os.Getenv("MUTANT"))
	reached, _ = os.OpenFile(os.Getenv("REACHED"), os.O_APPEND|os.O_WRONLY, 0)
	seen       [%d]atomic.Bool
)

func On(n int) bool {
	if reached != nil && !seen[n].Swap(true) {
		fmt.Fprintln(reached, n)
	}
	return n == chosen
}
`

// mount puts a directory over another one, for itself and the command that follows.
const mount = `mount --make-rprivate / && mount --bind "$1" "$2" && shift 2 && exec "$@"`

// build builds the program of the release in the current directory with all mutants of the kubelet.
// The module cache stays as it is: the changed packages lie over it in a mount namespace.
func build(dir, program string) ([]*mutant, error) {
	module, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes").Output()
	if err != nil {
		return nil, fmt.Errorf("go list -m k8s.io/kubernetes: %w", err)
	}
	kubelet := filepath.Join(strings.TrimSpace(string(module)), "pkg", "kubelet")
	changed := filepath.Join(dir, "kubelet")
	if err := os.CopyFS(changed, os.DirFS(kubelet)); err != nil {
		return nil, err
	}
	mutants, err := rewriteAll(changed)
	if err != nil {
		return nil, err
	}
	namespaces := "-rm"
	if os.Getuid() == 0 {
		namespaces = "-m"
	}
	c := exec.Command("unshare", namespaces, "sh", "-c", mount, "sh", changed, kubelet, "go", "build", "-o",
		program, ".")
	// Without this setting, go does not look for changes in the module cache.
	c.Env = append(os.Environ(), "GODEBUG=goindex=0")
	c.Stdout, c.Stderr = os.Stderr, os.Stderr
	return mutants, c.Run()
}

// rewriteAll rewrites the files of all areas in place.
func rewriteAll(kubelet string) (all []*mutant, err error) {
	for _, a := range areas {
		for _, file := range a.files {
			path := filepath.Join(kubelet, file)
			source, err := os.ReadFile(path)
			if err != nil {
				return nil, err
			}
			text, mutants, err := rewrite(string(source), a.name, file, len(all))
			if err != nil {
				return nil, err
			}
			all = append(all, mutants...)
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				return nil, err
			}
		}
	}
	dir := filepath.Join(kubelet, "mutant")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	return all, os.WriteFile(filepath.Join(dir, "mutant.go"), fmt.Appendf(nil, switches, len(all)+1), 0o644)
}
