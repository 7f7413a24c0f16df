package scenarios

import (
	"path"

	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/scenarios/validation"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
	"probesim.dev/scenarios/format"
	"probesim.dev/scenarios/plan"
)

// Load loads the scenarios of files and directories. For a directory it loads all files below it
// that end in .yaml or .yml, sorted by path, except hidden files. A directory may also contain
// files without a Scenario, such as the manifests that scenarios use. A path of a file must lead to
// a file with a Scenario.
//
// If any file is invalid, Load returns no scenarios and an error of type Errors that lists all
// errors.
func Load(paths ...string) ([]*plan.Scenario, error) {
	return LoadOptions{}.Load(paths...)
}

// LoadOptions control how files are loaded. The zero value loads as [Load] does.
type LoadOptions struct {
	// Stdin is the content of standard input, for which the path - stands. Files that its scenarios
	// use are relative to the current directory. If Stdin is nil, - is the path of a file.
	Stdin []byte
	// KeepGoing makes Load return the scenarios of valid files even if other files are invalid,
	// besides the errors. A file with a scenario that uses an invalid manifest is invalid.
	KeepGoing bool
	// Instead has manifests whose workloads stand for those of the same kind, namespace and name,
	// in the files of the scenarios and in the files that they use. A scenario can also use other
	// workloads of these manifests, without a file.
	Instead []Source
	// Read reads a file. named says that it is one of the paths, and not one that is in a directory
	// or that a scenario uses. The error does not contain the path. Nil: ReadFile.
	Read func(name string, named bool) ([]byte, error)
}

// Load loads the scenarios of files and directories.
func (o LoadOptions) Load(paths ...string) ([]*plan.Scenario, error) {
	if o.Read == nil {
		o.Read = func(name string, _ bool) ([]byte, error) { return ReadFile(name) }
	}
	l := newLoader(o.Read)
	l.stdin = o.Stdin
	l.readInstead(o.Instead)
	all := l.loadAll(paths, o.KeepGoing)
	err := l.errs.Err()
	if err != nil && !o.KeepGoing {
		return nil, err
	}
	return all, err
}

// loadAll loads the scenarios of files and directories. If apart is set, the errors of a file do
// not affect other files.
func (l *loader) loadAll(paths []string, apart bool) []*plan.Scenario {
	var all []*plan.Scenario
	seen := map[string]bool{}
	for _, path := range paths {
		found, before, bare := 0, l.errs.Len(), ""
		files, isDirectory := l.list(path)
		for _, name := range files {
			if seen[name] {
				found++
				continue
			}
			seen[name] = true
			one := l
			if apart {
				one = newLoader(l.read) // which reports the errors of a manifest again
				one.stdin, one.instead = l.stdin, l.instead
			}
			scenarios, f := one.loadFile(name, isDirectory)
			if apart && one.errs.Len() > 0 {
				if len(scenarios) > 0 && !one.errs.In(name) {
					one.errs.Addf(name, "its scenarios were not loaded, because files that they use are invalid")
				}
				l.errs.Join(one.errs)
				scenarios = nil
			}
			all = append(all, scenarios...)
			found += len(f.Scenarios)
			switch {
			case bare == "" && len(f.Manifests) > 0:
				bare = "; 'probesim init -f " + plan.PathOf(name) + "' writes one"
			case len(f.Manifests) == 0 && !isDirectory:
				bare = f.NoWorkload()
			}
		}
		switch {
		case found > 0 || l.errs.Len() > before:
		case isDirectory:
			l.errs.Addf(path, "there is no Scenario in this directory (in files named *.yaml or *.yml)%s", bare)
		default:
			l.errs.Addf(path, "there is no Scenario in this file%s", bare)
		}
	}
	return all
}

// LoadBytes loads the scenarios of a file in memory. It calls readFile for the manifests that the
// scenarios use, with slash-separated paths relative to the directory of name. If any file is
// invalid, LoadBytes returns no scenarios and an error of type Errors that lists all errors.
//
// Files have limits, such as MaxPods and MaxSeeds, and a maximum size of 4 MiB.
func LoadBytes(name string, data []byte, readFile func(path string) ([]byte, error)) ([]*plan.Scenario, error) {
	l := newLoader(func(name string, _ bool) ([]byte, error) { return readFile(name) })
	f := l.parse(name, data)
	scenarios := l.load(f)
	if len(f.Scenarios) == 0 && l.errs.Err() == nil {
		l.errs.Addf(name, "there is no Scenario in this file")
	}
	if err := l.errs.Err(); err != nil {
		return nil, err
	}
	return scenarios, nil
}

// Make checks a scenario that a Go program made, as LoadBytes checks that of a file: s has a
// position, and at least the fields that a file must have. The scenario can use the workloads of
// manifests, and those of files that readFile reads. Each error in a rule or step has the position
// that the rule or step has.
func Make(s *plan.Scenario, manifests []byte, readFile func(path string) ([]byte, error)) error {
	l := newLoader(func(name string, _ bool) ([]byte, error) { return readFile(name) })
	f := l.parse(s.File, manifests)
	for _, m := range f.Manifests {
		m.Load()
	}
	l.used = &validation.Usage{}
	if s.Spec.Kubelet.Uptime == (value.Draw{}) {
		s.Spec.Kubelet.Uptime = value.Draw{Min: format.DefaultUptime, Max: format.DefaultUptime}
	}
	l.check(f, s, strict.Encode(s, l.errs))
	return l.errs.Err()
}

// Limits of the files that the scenarios of a file use manifests from.
const (
	maxFiles     = 1000
	maxFileBytes = 16 << 20 // in total
)

// loader reads files and collects their errors.
type loader struct {
	errs    *strict.Collector
	read    func(path string, named bool) ([]byte, error)
	stdin   []byte                        // what the path - stands for, unless nil
	files   map[string]*manifests.Objects // files with manifests, by path
	used    *validation.Usage             // by the scenarios of the current file
	instead []*manifests.Object           // workloads that stand for those of the same name
	bytes   int                           // size of the files with manifests read so far

	copied, copiedText int // values and bytes of text in the copies for variants and ranges so far
}

func newLoader(read func(path string, named bool) ([]byte, error)) *loader {
	return &loader{errs: &strict.Collector{}, read: read, files: map[string]*manifests.Objects{}}
}

// parse parses a file and sorts its objects.
func (l *loader) parse(name string, data []byte) *manifests.Objects {
	f := manifests.Parse(name, data, l.errs)
	f.Replace(l.instead)
	return f
}

// load checks all manifests of a file, including those that no scenario uses, and loads its
// scenarios.
func (l *loader) load(f *manifests.Objects) []*plan.Scenario {
	for _, m := range f.Manifests {
		m.Load()
	}
	if len(f.Scenarios) > 0 {
		f.RefuseOthers()
	}
	var scenarios []*plan.Scenario
	l.used, l.bytes, l.copied, l.copiedText = &validation.Usage{}, 0, 0, 0
	names := map[string]strict.Pos{}
	for _, n := range f.Scenarios {
		l.expandRanges(n.Field("spec"))
		if n.Find("spec.variants").Written() {
			scenarios = append(scenarios, l.loadVariants(f, n, names)...)
			continue
		}
		s := readScenario(n)
		checkTwice(s, n, names)
		l.check(f, s, n)
		scenarios = append(scenarios, s)
	}
	return scenarios
}

// checkTwice reports a second scenario of a name.
func checkTwice(s *plan.Scenario, n *strict.Node, names map[string]strict.Pos) {
	if first, twice := names[s.Metadata.Name]; twice && s.Metadata.Name != "" {
		n.Find("metadata.name").Errorf("the Scenario %s is already defined in line %d", s.Metadata.Name, first.Line)
	}
	names[s.Metadata.Name] = s.Pos
}

// check checks a scenario of a file and resolves the names in it.
func (l *loader) check(f *manifests.Objects, s *plan.Scenario, n *strict.Node) {
	validation.Check(s, n, f, func(n *strict.Node, name string) *manifests.Objects {
		return l.manifestFile(f, n, name)
	}, l.used)
}

// readScenario decodes a scenario on top of the defaults.
func readScenario(n *strict.Node) *plan.Scenario {
	document := struct {
		APIVersion    string `json:"apiVersion"`
		Kind          string `json:"kind"`
		plan.Scenario `json:",inline"`
	}{Scenario: plan.Scenario{Pos: n.Pos, Spec: format.Spec{
		Duration: value.Duration(format.DefaultDuration),
		Kubelet:  format.Kubelet{Uptime: value.Draw{Min: format.DefaultUptime, Max: format.DefaultUptime}},
	}}}
	strict.Decode(n, &document)
	return &document.Scenario
}

// manifestFile returns the file that a scenario in f uses a workload from, or nil after reporting
// why it cannot. The path is relative to f and may lead out of its directory, because manifests
// often live elsewhere in a repository. Absolute paths are rejected: they differ between machines.
func (l *loader) manifestFile(f *manifests.Objects, n *strict.Node, name string) *manifests.Objects {
	if path.IsAbs(name) {
		n.Errorf("must be relative to the directory of this file")
		return nil
	}
	full := path.Join(path.Dir(f.Name), name)
	if known, ok := l.files[full]; ok {
		return known
	}
	if len(l.files) >= maxFiles {
		n.Errorf("cannot be read: the scenarios use manifests from more than %d files", maxFiles)
		return nil
	}
	data, err := l.read(full, false)
	if err != nil {
		n.Errorf("cannot be read: %s", err)
		return nil
	}
	if l.bytes += len(data); l.bytes > maxFileBytes {
		n.Errorf("cannot be read: the files that the scenarios use manifests from have more than %d MiB in total",
			maxFileBytes>>20)
		return nil
	}
	l.files[full] = l.parse(full, data)
	return l.files[full]
}

// Source is a file in memory.
type Source struct {
	Name string
	Data []byte
}

// readInstead reads the workloads that stand for others.
func (l *loader) readInstead(files []Source) {
	var list []*manifests.Object
	for _, s := range files {
		list = append(list, l.parse(s.Name, s.Data).Manifests...)
	}
	for _, m := range list {
		m.Load()
	}
	l.instead = list
}
