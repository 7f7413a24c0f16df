package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/answers/incident"
	"probesim.dev/internal/input"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/runner/files"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/scenarios/simulate"
	"probesim.dev/internal/scenarios/whatif"
	"probesim.dev/internal/strict"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/format"
)

// readManifest reads a file of manifests or of a scenario, or stdin if the path is -.
func readManifest(cmd *cobra.Command, path string) (input.File, error) {
	return readFile(cmd, path, strict.MaxFileSize)
}

// readFile reads a file of at most most bytes that the command line names, or stdin if the path is
// -.
func readFile(cmd *cobra.Command, path string, most int64) (f input.File, err error) {
	if f.Name = filepath.ToSlash(path); path == "-" {
		f.Name = "stdin"
		f.Data, err = input.Stream(cmd.InOrStdin(), most)
	} else {
		f.Data, err = files.Of(cmd.Context()).Read(path, most, true)
	}
	if err != nil {
		err = unreadable(f.Name, err)
	}
	return f, err
}

// writeFile writes a file, as files.Files.Write does.
func writeFile(ctx context.Context, path string, data []byte, force bool) error {
	return files.Of(ctx).Write(ctx, path, data, force)
}

// alsoFiles are the files that a command writes besides its output.
type alsoFiles struct {
	list  []alsoFile
	force bool
}

// alsoFile is a value of --also.
type alsoFile struct{ format, name string }

// addTo adds the flags --also and --force.
func (a *alsoFiles) addTo(cmd *cobra.Command, formats []string) {
	addFlag(cmd, &a.list, "also", "", "Also write the result to a file, as `FORMAT=FILE`, for example html=page.html. "+
		"You can repeat this flag.", func(text string) ([]alsoFile, error) {
		format, name, _ := strings.Cut(text, "=")
		if name == "-" {
			return nil, errors.New("needs a file: -o FORMAT writes to stdout")
		}
		if !slices.Contains(formats, format) || name == "" {
			return nil, fmt.Errorf("must be FORMAT=FILE, where the format is one of %s", strings.Join(formats, ", "))
		}
		same := func(f alsoFile) bool { return filepath.Clean(f.name) == filepath.Clean(name) }
		if slices.ContainsFunc(a.list, same) {
			return nil, fmt.Errorf("names the file %s twice", name)
		}
		return append(a.list, alsoFile{format, name}), nil
	})
	addForce(cmd, &a.force)
	needs(cmd, "also", "force")
}

// check rejects files that cannot be written. The command has read its inputs.
func (a *alsoFiles) check(ctx context.Context) error {
	for _, f := range a.list {
		if err := files.Of(ctx).Check(f.name, a.force); err != nil {
			return fmt.Errorf("--also: %w", err)
		}
	}
	return nil
}

// write writes each file in its format.
func (a *alsoFiles) write(ctx context.Context, write func(w io.Writer, format string) error) error {
	for _, f := range a.list {
		var b bytes.Buffer
		err := write(&b, f.format)
		if err == nil {
			err = writeFile(ctx, f.name, b.Bytes(), a.force)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// loadOptions are those of a command without flags about scenarios.
func loadOptions(cmd *cobra.Command) scenarios.LoadOptions {
	return scenarios.LoadOptions{Read: func(name string, named bool) ([]byte, error) {
		return files.Of(cmd.Context()).Read(filepath.FromSlash(name), strict.MaxFileSize, named)
	}}
}

// exists reports whether there is a file or a directory.
func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// unreadable adds the path to an error of a file system.
func unreadable(path string, err error) error {
	return fmt.Errorf("%s: cannot be read: %w", printable.Text(path), input.Reason(err))
}

// loadAny loads the scenarios of files, or the scenario of a manifest and the events of --app. It
// returns false if it has printed the scenario instead.
func (o *runOptions) loadAny(cmd *cobra.Command, paths []string) (all []*scenarios.Scenario, invalid scenarios.Errors,
	run bool, err error) {
	m, err := o.manifest(cmd, paths)
	if err != nil {
		return nil, nil, false, err
	}
	if m == nil {
		all, invalid, err = o.load(cmd, paths...)
		return all, invalid, true, err
	}
	s, file, err := whatif.Scenario(*m)
	if err == nil && o.printScenario {
		_, err = cmd.OutOrStdout().Write(file.Bytes())
	}
	if err != nil || o.printScenario {
		return nil, nil, false, err
	}
	s.Command = []string{paths[0]}
	for _, word := range o.words() {
		s.Command = append(s.Command, "--app", word)
	}
	return []*scenarios.Scenario{s}, nil, true, nil
}

// manifest returns the manifest to run, or nil if the paths are scenarios: without --app and
// --print-scenario, a manifest is a single file with workloads and no Scenario.
func (o *runOptions) manifest(cmd *cobra.Command, paths []string) (*whatif.Options, error) {
	asked := len(o.words()) > 0 || o.printScenario
	switch {
	case len(paths) != 1 && asked:
		return nil, errors.New("--app and --print-scenario take one manifest: specify one file, or - for stdin")
	case len(paths) != 1, paths[0] == "-" && !asked:
		return nil, nil
	}
	f, err := readManifest(cmd, paths[0])
	hasScenario := bytes.Contains(f.Data, []byte(format.APIVersion))
	switch {
	case !asked && (err != nil || hasScenario || !hasWorkloads(f)):
		return nil, nil // the loader says what is wrong
	case err != nil:
		return nil, err
	case hasScenario:
		tell(cmd.ErrOrStderr(), "%s has a Scenario, which is left out: --app is about healthy programs of its "+
			"workloads", printable.Text(f.Name))
	}
	m := &whatif.Options{Manifest: f.Name, Data: f.Data, Words: o.words()}
	if paths[0] != "-" && !input.IsPipe(paths[0]) {
		m.File, err = relative(".", paths[0])
	}
	return m, err
}

// hasWorkloads reports whether a file is a valid manifest with workloads.
func hasWorkloads(f input.File) bool {
	m, err := manifests.Read(f.Name, f.Data)
	return err == nil && len(m.Workloads) > 0
}

// load loads the scenarios. The path - stands for stdin. With --keep-going, load returns the
// scenarios of valid files, and the errors of the others in invalid. It returns err if there is
// nothing to run.
func (o *runOptions) load(cmd *cobra.Command, paths ...string) (all []*scenarios.Scenario, invalid scenarios.Errors,
	err error) {
	options := loadOptions(cmd)
	options.KeepGoing = o.keepGoing
	if slices.Contains(paths, "-") {
		f, err := readManifest(cmd, "-")
		if err != nil {
			return nil, nil, err
		}
		options.Stdin = f.Data
	}
	all, err = options.Load(paths...)
	if !o.keepGoing {
		return all, nil, recordedIn(cmd, err, options.Stdin, paths)
	}
	if len(all) == 0 || err != nil && !errors.As(err, &invalid) {
		return nil, nil, err
	}
	return all, invalid, nil
}

// recorded adds to the error of a command that takes manifests or scenarios the command that reads
// one of its files, if that is a record of what happened to pods.
func recorded(err error, files []input.File) error {
	for _, f := range files {
		if len(incident.Read([]input.File{f}).Facts) > 0 {
			name := cmp.Or(strings.TrimPrefix(f.Name, "stdin"), "-")
			return fmt.Errorf("%w\n%s tells what happened to pods. To ask why: probesim incident %s", err,
				printable.Text(f.Name), simulate.Quote(name))
		}
	}
	return err
}

// recordedIn does so for the files of an error of the loader.
func recordedIn(cmd *cobra.Command, err error, stdin []byte, paths []string) error {
	if err == nil {
		return nil
	}
	var files []input.File
	for _, path := range paths {
		f := input.File{Name: "stdin", Data: stdin}
		if path != "-" {
			if input.IsPipe(path) {
				continue
			}
			f, _ = readManifest(cmd, path) // the loader says what is wrong with others
		}
		files = append(files, f)
	}
	return recorded(err, files)
}

// withInvalid adds the errors of invalid files to the result of a command.
func withInvalid(err error, invalid scenarios.Errors) error {
	if len(invalid) == 0 {
		return err
	}
	text := fmt.Errorf("the scenarios of invalid files were not run\n%w", invalid)
	coded, is := errors.AsType[*exitError](err)
	if !is {
		coded = &exitError{exitUsage, err}
	}
	if coded.err != nil {
		text = fmt.Errorf("%w\n%w", coded.err, text)
	}
	return &exitError{max(coded.code, exitUsage), text}
}

// manifestReader reads the manifests that a command line names.
type manifestReader struct {
	cmd        *cobra.Command
	allowEmpty bool // a file without an object or a directory without manifests is no error
	exclude    []string

	files  []input.File
	passed passedOver
	errs   []error
}

// readManifests reads files, the manifests in directories, and stdin. It names the files that it
// passes over. With allowEmpty, it passes over the same named files as in a directory: a tool that
// names the changed files of a directory gets the result of the directory.
// What the configuration excludes is left out, and added to excluded unless that is nil; it is an
// error if nothing else is there.
func (o *configuration) readManifests(cmd *cobra.Command, allowEmpty bool, excluded *[]string,
	paths ...string) ([]input.File, error) {
	r := manifestReader{cmd: cmd, allowEmpty: allowEmpty, exclude: o.exclude}
	for _, path := range paths {
		info, err := os.Stat(path)
		switch {
		case path == "-":
			data, err := input.Stream(cmd.InOrStdin(), incident.MaxFile)
			r.add("stdin", data, err)
		case err == nil && info.IsDir():
			r.readDirectory(path)
		// for example what a template renders
		case err == nil && info.Size() == 0 && info.Mode().IsRegular() && allowEmpty:
		case err == nil && allowEmpty && isKustomization(path):
		default:
			r.readFile(path, allowEmpty, true)
		}
	}
	if text := r.passed.String(); text != "" {
		fmt.Fprintf(cmd.ErrOrStderr(), "probesim: passed over %s\n", text)
	}
	if excluded != nil {
		*excluded = r.passed.excluded
	}
	if n := len(r.passed.excluded); n > 0 && len(r.files)+len(r.errs) == 0 && !allowEmpty {
		r.errs = append(r.errs, fmt.Errorf("nothing is left: exclude in %s leaves out %s", printable.Text(o.file),
			map[bool]string{true: "the only file", false: fmt.Sprintf("all %d files", n)}[n == 1]))
	}
	return r.files, errors.Join(r.errs...)
}

// passedOver are the names of what a directory has besides manifests.
type passedOver struct{ others, charts, kustomizations, links, excluded []string }

// String lists what was passed over, in a line.
func (p *passedOver) String() string {
	var parts []string
	add := func(names []string, of, because string) {
		if len(names) > 0 {
			parts = append(parts, fmt.Sprintf("%s%s (%s)", printable.Count(len(names), of), because,
				printable.Some(names, 5)))
		}
	}
	add(p.others, "file", " without apiVersion and kind")
	add(p.charts, "Helm chart", ", which helm template renders")
	add(p.kustomizations, "kustomization", "")
	add(p.links, "link or special file", "")
	add(p.excluded, "excluded file", "")
	return strings.Join(parts, ", ")
}

// add adds a file, or the error of reading it. Only the JSON of kubectl get may be longer than
// other files, since no more than a part of it is parsed.
func (r *manifestReader) add(name string, data []byte, err error) {
	if err == nil && len(data) > strict.MaxFileSize && !bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		err = input.TooLarge(strict.MaxFileSize)
	}
	if err != nil {
		r.errs = append(r.errs, unreadable(name, err))
		return
	}
	r.files = append(r.files, input.File{Name: filepath.ToSlash(name), Data: data})
}

// readFile reads a file. It may pass over one without an object of Kubernetes, such as the values
// of a chart.
func (r *manifestReader) readFile(path string, mayPass, named bool) {
	if slices.ContainsFunc(r.exclude, func(p string) bool { return check.Matches(p, filepath.ToSlash(path)) }) {
		r.passed.excluded = append(r.passed.excluded, printable.Text(path))
		return
	}
	data, err := []byte(nil), error(nil)
	other := mayPass && isLargeOther(path)
	if !other {
		data, err = files.Of(r.cmd.Context()).Read(path, incident.MaxFile, named)
		other = err == nil && mayPass && !hasObject(data)
	}
	if other {
		r.passed.others = append(r.passed.others, printable.Text(path))
		return
	}
	r.add(path, data, err)
}

// readDirectory reads the manifests in a directory and below it.
func (r *manifestReader) readDirectory(dir string) {
	names, err := r.manifestsIn(dir)
	if err != nil {
		r.errs = append(r.errs, err)
		return
	}
	before := len(r.files) + len(r.errs)
	for _, name := range names {
		r.readFile(name, true, false)
	}
	if len(r.files)+len(r.errs) == before && !r.allowEmpty && len(r.passed.excluded) == 0 {
		r.errs = append(r.errs, fmt.Errorf("%s has no YAML or JSON file with an object of Kubernetes",
			printable.Text(dir)))
	}
}

// hasObject reports whether a file can have an object of Kubernetes, or one without its apiVersion
// or its kind. Other files in a directory do not have to be valid YAML.
func hasObject(data []byte) bool {
	return bytes.Contains(data, []byte("apiVersion")) && bytes.Contains(data, []byte("kind")) ||
		typed.Match(data) && containers.Match(data)
}

var (
	typed      = regexp.MustCompile(`(?m)^"?(apiVersion|kind)"?:`)
	containers = regexp.MustCompile(`(?m)(^|[\s{,])"?containers"?:`)
)

// isLargeOther reports whether a file is too large for a manifest, and its beginning has nothing of
// an object of Kubernetes.
func isLargeOther(name string) bool {
	info, err := os.Stat(name)
	if err != nil || info.Size() <= strict.MaxFileSize {
		return false
	}
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	beginning := make([]byte, 64<<10)
	n, err := io.ReadFull(f, beginning)
	return err == nil && !bytes.Contains(beginning[:n], []byte("apiVersion"))
}

// manifestsIn returns the YAML and JSON files in a directory and below it, sorted. It passes over
// Helm charts, whose templates are no manifests, and over the files that say how kustomize combines
// the others. It is an error if the directory itself is a chart.
func (r *manifestReader) manifestsIn(dir string) ([]string, error) {
	var names []string
	var chart error
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return unreadable(name, err)
		// git, and what the links in a volume of a ConfigMap lead to
		case d.IsDir() && name != dir && (d.Name() == ".git" || strings.HasPrefix(d.Name(), "..")):
			return filepath.SkipDir
		case d.IsDir() && name == dir && exists(filepath.Join(name, "Chart.yaml")):
			chart = fmt.Errorf("%s is a Helm chart. Use what it renders:\n  helm template %s | %s",
				printable.Text(name), simulate.Quote(name), onStdin[r.cmd.Name()])
			return filepath.SkipDir
		case d.IsDir():
		case !isFile(name, d):
			r.passed.links = append(r.passed.links, printable.Text(name))
		default:
			names = append(names, name)
		}
		return nil
	})
	return r.manifestsOf(names), cmp.Or(chart, err)
}

// manifestsOf returns those files of a directory that can be manifests.
func (r *manifestReader) manifestsOf(names []string) (manifests []string) {
	charts := map[string]bool{}
	for _, name := range names {
		charts[filepath.Dir(name)] = charts[filepath.Dir(name)] || filepath.Base(name) == "Chart.yaml"
	}
	inChart := func(dir string) bool {
		for !charts[dir] && dir != filepath.Dir(dir) {
			dir = filepath.Dir(dir)
		}
		return charts[dir]
	}
	for _, name := range names {
		dir := filepath.Dir(name)
		switch {
		case filepath.Base(name) == "Chart.yaml" && !inChart(filepath.Dir(dir)):
			r.passed.charts = append(r.passed.charts, printable.Text(dir))
		case inChart(dir):
		case isKustomization(name):
			r.passed.kustomizations = append(r.passed.kustomizations, printable.Text(name))
		case slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(filepath.Ext(name))):
			manifests = append(manifests, name)
		}
	}
	return manifests
}

// isKustomization reports whether a file says how kustomize combines others.
func isKustomization(name string) bool {
	return slices.Contains([]string{"kustomization.yaml", "kustomization.yml"}, filepath.Base(name))
}

// isFile reports whether a directory entry is a file, or a link to one, as in the volume of a
// ConfigMap.
func isFile(name string, d fs.DirEntry) bool {
	if d.Type()&fs.ModeSymlink == 0 {
		return d.Type().IsRegular()
	}
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}
