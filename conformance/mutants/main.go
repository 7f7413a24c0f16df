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
	"path/filepath"
	"runtime"
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
