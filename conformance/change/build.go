package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"probesim.dev/conformance/overlay/edited"
	"probesim.dev/conformance/runs"
)

// workspace is where the programs of a release are built, with and without a change.
type workspace struct {
	harness string // directory of the module of the release
	temp    string // removed at the end
	cache   string // has the runs of releases
	library string // scenarios
	tools   *edited.Toolchain
	modules map[string]module // of Kubernetes
	program string            // the packages of the release
	stderr  io.Writer
}

// open prepares a workspace. It compiles the packages of the release, which takes minutes the first
// time.
func open(ctx context.Context, harness string, stderr io.Writer) (_ *workspace, err error) {
	w := &workspace{stderr: stderr, modules: map[string]module{}}
	if w.harness, err = filepath.Abs(harness); err != nil {
		return nil, err
	}
	file, err := os.ReadFile(filepath.Join(w.harness, "go.mod"))
	if err != nil || !bytes.Contains(file, []byte("\nmodule probesim.dev/conformance/kubelet\n")) {
		return nil, fmt.Errorf("%s is not the directory of a release, such as conformance/v1.37: name it with --harness",
			w.harness)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	w.cache = filepath.Join(cache, "probesim-change")
	if err := os.MkdirAll(w.cache, 0o777); err != nil {
		return nil, err
	}
	if w.tools, err = edited.Find(w.harness, true); err != nil {
		return nil, err
	}
	if w.temp, err = os.MkdirTemp("", "probesim-change-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			w.close()
		}
	}()
	dir, err := w.output(ctx, w.tools, "go", "list", "-m", "-f", "{{.Dir}}", "probesim.dev")
	if err != nil {
		return nil, err
	}
	w.library = filepath.Join(strings.TrimSpace(dir), "scenarios", "library")
	fmt.Fprintf(stderr, "compiling the kubelet in %s, which takes minutes the first time\n", w.harness)
	return w, w.list(ctx)
}

func (w *workspace) close() { os.RemoveAll(w.temp) }

// version is that of Kubernetes in the harness, such as v1.37.2.
func (w *workspace) version() string { return w.modules["k8s.io/kubernetes"].version }

func (w *workspace) minor() string {
	if found := ofKubernetes.FindStringSubmatch(w.version()); found != nil {
		return found[1]
	}
	return w.version()
}

// buildError is the output of a command that failed.
type buildError struct {
	error
	output string
}

// output runs a command and returns its standard output.
func (w *workspace) output(ctx context.Context, with *edited.Toolchain, words ...string) (string, error) {
	var stdout, stderr bytes.Buffer
	c := with.Command(ctx, words...)
	c.Env = append(c.Env, "GOTMPDIR="+w.temp)
	c.Stdout, c.Stderr = &stdout, &stderr
	err := c.Run()
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if err != nil {
		return "", buildError{fmt.Errorf("%s: %w", strings.Join(words[:2], " "), err), stderr.String()}
	}
	return stdout.String(), nil
}

// buildFlags make builds of one package equal in all directories, so that they are cached.
var buildFlags = []string{"-trimpath", "-buildvcs=false"}

// list compiles the packages of the program, and lists them with the modules of Kubernetes.
func (w *workspace) list(ctx context.Context) (err error) {
	const format = `{{.ImportPath}} {{.BuildID}}{{with .Module}} {{.Path}} {{.Version}} {{.Dir}}{{end}}`
	words := append([]string{"go", "list", "-deps", "-export", "-f", format}, buildFlags...)
	w.program, err = w.output(ctx, w.tools, append(words, ".")...)
	for line := range strings.Lines(w.program) {
		fields := strings.SplitN(strings.TrimSpace(line), " ", 5)
		if len(fields) == 5 && strings.HasPrefix(fields[2], "k8s.io/") {
			w.modules[fields[2]] = module{fields[3], fields[4]}
		}
	}
	return err
}

// flags returns the flags and the toolchain that build the program with a change.
func (w *workspace) flags(ctx context.Context, c *change) ([]string, *edited.Toolchain, error) {
	file := filepath.Join(w.temp, "go.mod")
	words := []string{"go", "mod", "edit"}
	for path, dir := range c.modules {
		words = append(words, "-replace", path+"="+dir)
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		data, err := os.ReadFile(filepath.Join(w.harness, name))
		if err = errors.Join(err, os.WriteFile(filepath.Join(w.temp, name), data, 0o666)); err != nil {
			return nil, nil, err
		}
	}
	if _, err := w.output(ctx, w.tools, append(words, file)...); err != nil {
		return nil, nil, err
	}
	with, err := w.tools.With(c.files, filepath.Join(w.temp, "overlay.json"))
	return []string{"-modfile", file, "-mod=mod"}, with, err
}

// build builds the program.
func (w *workspace) build(ctx context.Context, with *edited.Toolchain, flags []string, name string) (string, error) {
	program := filepath.Join(w.temp, name)
	words := append(append([]string{"go", "build", "-o", program}, buildFlags...), flags...)
	_, err := w.output(ctx, with, append(words, ".")...)
	return program, err
}

// record makes all runs with a program.
func (w *workspace) record(ctx context.Context, program string, o *options) ([]byte, error) {
	c := exec.CommandContext(ctx, program, "record", "--seeds", o.seeds, "--parallel", fmt.Sprint(o.parallel), ".")
	c.Dir = w.library // the files of the runs are relative to it
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.WaitDelay = time.Minute
	c.Stderr = w.stderr
	data, err := c.Output()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("the runs failed: %w", err)
	}
	return data, nil
}

// released returns the runs of the unmodified release. They are made once for each state of the
// packages of the program, the library and the seeds.
func (w *workspace) released(ctx context.Context, o *options) ([]runs.Run, error) {
	sum := sha256.New()
	fmt.Fprintln(sum, o.seeds, w.program)
	err := filepath.WalkDir(w.library, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		fmt.Fprintf(sum, "%s %x\n", strings.TrimPrefix(name, w.library), sha256.Sum256(data))
		return err
	})
	if err != nil {
		return nil, err
	}
	kept := filepath.Join(w.cache, hex.EncodeToString(sum.Sum(nil))+".jsonl")
	if data, err := os.ReadFile(kept); err == nil {
		return parse(data)
	}
	fmt.Fprintf(w.stderr, "running everything on the unmodified kubelet of %s, once\n", w.version())
	program, err := w.build(ctx, w.tools, nil, "release")
	if err != nil {
		return nil, err
	}
	data, err := w.record(ctx, program, o)
	if err != nil {
		return nil, err
	}
	list, err := parse(data)
	if err == nil {
		// A file that was written in part has another name.
		part := fmt.Sprintf("%s.%d", kept, os.Getpid())
		err = errors.Join(os.WriteFile(part, data, 0o666), os.Rename(part, kept))
	}
	return list, err
}

// parse reads runs, one in a line.
func parse(data []byte) ([]runs.Run, error) {
	var list []runs.Run
	for d := json.NewDecoder(bytes.NewReader(data)); ; {
		var r runs.Run
		switch err := d.Decode(&r); {
		case err == io.EOF:
			return list, nil
		case err != nil:
			return nil, err
		}
		list = append(list, r)
	}
}
