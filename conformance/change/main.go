// Command change says what a change of the kubelet alters. It runs the library of scenarios and
// random ones on the kubelet with the change, and compares the runs with those of the unmodified
// release:
//
//	cd conformance/v1.37
//	go run probesim.dev/conformance/change ~/src/k8s.io/kubernetes
//
// A run is altered if it is none of those that the simulator of the release can make, whatever the
// order of the events at one instant: runs of the kubelet vary.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"probesim.dev/internal/runner/terminal"
)

// Exit codes. The first four are those of probesim.
const (
	exitAlters      = 1
	exitBadInput    = 2
	exitFault       = 3
	exitInterrupted = 130
	exitSkip        = 125 // with which git bisect run skips a commit
)

type options struct {
	harness   string
	scenarios string
	seeds     string
	html      string
	parallel  int
	run       []string
	bisect    bool
	repeat    int
	procs     int
}

// codeError is an error with the exit code of the command.
type codeError struct {
	code int
	error
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := execute(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func execute(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o := &options{}
	c := o.command(stdout, stderr)
	c.SetArgs(args)
	err := c.ExecuteContext(ctx)
	code := 0
	var coded codeError
	switch {
	case err == nil:
	case ctx.Err() != nil:
		code = exitInterrupted
	case errors.As(err, &coded):
		code = coded.code
		if coded.error != nil {
			fmt.Fprintln(stderr, "error:", coded.error)
		}
	default:
		code = exitBadInput
		fmt.Fprintln(stderr, "error:", err)
	}
	if o.bisect && !slices.Contains([]int{0, exitAlters, exitInterrupted}, code) {
		return exitSkip
	}
	return code
}

func (o *options) command(stdout, stderr io.Writer) *cobra.Command {
	c := &cobra.Command{
		Use: "change PATH...", Short: "Say what a change of the kubelet alters", Args: cobra.MinimumNArgs(1),
		SilenceUsage: true, SilenceErrors: true,
		Long: `Change runs the library of scenarios and random ones on the kubelet with your change, and compares the runs
with those of the unmodified release.

PATH is a checkout of Kubernetes, or a directory with the changed packages only, such as
PATH/pkg/kubelet/prober with all files of the package.

Exit codes: 0 nothing is altered, 1 a run is altered, 2 invalid paths or flags, or the change does not
compile, 3 a run failed, 130 interrupted. With --run, those of 'probesim run'. With --bisect, each code
except 0, 1 and 130 becomes 125.`,
		Example: `  go run probesim.dev/conformance/change ~/src/k8s.io/kubernetes
  go run probesim.dev/conformance/change --html page.html my-packages
  git bisect run change --harness ~/probesim/conformance/v1.37 --bisect --run my-scenario.yaml .`,
		RunE: func(c *cobra.Command, paths []string) error {
			if o.parallel < 1 || o.repeat < 1 || o.procs < 1 {
				return errors.New("--parallel, --repeat and --procs must be at least 1")
			}
			if o.bisect && len(o.run) == 0 {
				return errors.New("--bisect requires --run")
			}
			return o.compare(c.Context(), paths, stdout, stderr)
		},
	}
	f := c.Flags()
	f.StringVar(&o.harness, "harness", ".", "`directory` of the release to compare with, such as conformance/v1.37")
	f.StringVar(&o.scenarios, "scenarios", "", "`directory` of scenarios (default: the library)")
	f.StringVar(&o.seeds, "seeds", "1..200", "random scenarios")
	f.StringVar(&o.html, "html", "", "also write the answer as a page to this `file`")
	f.IntVar(&o.parallel, "parallel", runtime.NumCPU(), "number of processes")
	f.StringSliceVar(&o.run, "run", nil, "run these scenario `files` on the changed kubelet, and check their expectations")
	f.BoolVar(&o.bisect, "bisect", false, "with --run: exit with 125 unless the expectations hold or fail")
	f.IntVar(&o.repeat, "repeat", 1, "with --run: make each run so many times")
	f.IntVar(&o.procs, "procs", 1, "with --run: number of goroutines that run in parallel; more than 1 gives other orders")
	return c
}

// compare builds the kubelet with the change, and answers.
func (o *options) compare(ctx context.Context, paths []string, stdout, stderr io.Writer) error {
	w, err := open(ctx, o.harness, stderr)
	if err != nil {
		return err
	}
	defer w.close()
	if o.scenarios != "" {
		if w.library, err = filepath.Abs(o.scenarios); err != nil {
			return err
		}
	}
	c, err := w.read(paths)
	if err != nil {
		return err
	}
	fmt.Fprintln(stderr, "compiling", strings.Join(paths, ", "))
	flags, with, err := w.flags(ctx, c)
	if err != nil {
		return w.explain(err, paths)
	}
	program, err := w.build(ctx, with, flags, "changed")
	if err != nil {
		return w.explain(err, paths)
	}
	if len(o.run) > 0 {
		return o.runFiles(ctx, program, stdout, stderr)
	}
	release, err := w.released(ctx, o)
	if err != nil {
		return codeError{exitFault, err}
	}
	fmt.Fprintln(stderr, "running everything with the change")
	data, err := w.record(ctx, program, o)
	if err != nil {
		return codeError{exitFault, err}
	}
	changed, err := parse(data)
	if err != nil {
		return codeError{exitFault, err}
	}
	a, err := compareRuns(release, changed)
	if err != nil {
		return codeError{exitFault, err}
	}
	a.release, a.notes = w.version(), c.notes
	return o.write(a, stdout)
}

// write writes the answer, and its page.
func (o *options) write(a *answer, stdout io.Writer) error {
	d := a.document()
	err := d.Write(terminal.Safe(stdout), "text", terminal.Options(stdout))
	if o.html != "" && err == nil {
		var page *os.File
		if page, err = os.Create(o.html); err == nil {
			err = errors.Join(d.Write(page, "html", terminal.Options(page)), page.Close())
		}
	}
	if err == nil && a.altered > 0 {
		return codeError{code: exitAlters}
	}
	return err
}

// runFiles runs scenarios on the changed kubelet.
func (o *options) runFiles(ctx context.Context, program string, stdout, stderr io.Writer) error {
	words := []string{"run", "--repeat", fmt.Sprint(o.repeat), "--procs", fmt.Sprint(o.procs)}
	c := exec.CommandContext(ctx, program, append(words, o.run...)...)
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.Stdout, c.Stderr = stdout, stderr
	err := c.Run()
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		return codeError{code: exit.ExitCode()}
	}
	return err
}
