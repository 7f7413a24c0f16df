package scenarios

import (
	"path"
	"slices"
	"strings"

	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
)

// Load loads the scenarios of files and directories. For a directory it loads all files below it that end in .yaml or
// .yml, sorted by path, except hidden files. A directory may also contain files without a Scenario, such as the
// manifests that scenarios use. A path of a file must lead to a file with a Scenario.
//
// If any file is invalid, Load returns no scenarios and an error of type Errors that lists all errors.
func Load(paths ...string) ([]*Scenario, error) {
	return LoadOptions{}.Load(paths...)
}

// Stdin is the name of standard input as a file: the File of its scenarios and of its errors.
const Stdin = "stdin"

// LoadOptions control how files are loaded. The zero value loads as [Load] does.
type LoadOptions struct {
	// Stdin is the content of standard input, for which the path - stands. Files that its scenarios use are relative to the
	// current directory. If Stdin is nil, - is the path of a file.
	Stdin []byte
	// KeepGoing makes Load return the scenarios of valid files even if other files are invalid, besides the errors. A file with a
	// scenario that uses an invalid manifest is invalid.
	KeepGoing bool
	// Instead has manifests whose workloads stand for those of the same kind, namespace and name, in the files of the scenarios
	// and in the files that they use. A scenario can also use other workloads of these manifests, without a file.
	Instead []Source
}

// Load loads the scenarios of files and directories.
func (o LoadOptions) Load(paths ...string) ([]*Scenario, error) {
	l := newLoader(readFile)
	l.stdin = o.Stdin
	l.readInstead(o.Instead)
	all := l.loadAll(paths, o.KeepGoing)
	err := l.errs.Err()
	if err != nil && !o.KeepGoing {
		return nil, err
	}
	return all, err
}

// loadAll loads the scenarios of files and directories. If apart is set, the errors of a file do not affect other files.
func (l *loader) loadAll(paths []string, apart bool) []*Scenario {
	var all []*Scenario
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
				one = newLoader(readFile) // which reports the errors of a manifest again
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
			found += len(f.scenarios)
			switch {
			case bare == "" && len(f.manifests) > 0:
				bare = "; 'probesim init -f " + pathOf(name) + "' writes one"
			case len(f.manifests) == 0 && !isDirectory:
				bare = f.noWorkload()
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

// noWorkload says that the file has neither a Scenario nor a workload, and what it has instead. The text continues an error.
func (f *file) noWorkload() string {
	const most = 5
	var kinds []string
	for _, n := range f.others {
		if kind := n.Field("kind").Value; !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	has := "it has no objects"
	if len(kinds) > 0 {
		has = "it has only " + strings.Join(kinds[:min(len(kinds), most)], ", ")
	}
	if len(kinds) > most {
		has += ", …"
	}
	return ", and no workload: " + has + "; a workload is a " + Workloads
}

// LoadBytes loads the scenarios of a file in memory. It calls readFile for the manifests that the scenarios use,
// with slash-separated paths relative to the directory of name. If any file is invalid, LoadBytes returns no
// scenarios and an error of type Errors that lists all errors.
//
// Files have limits, such as MaxPods and MaxSeeds, and a maximum size of 4 MiB.
func LoadBytes(name string, data []byte, readFile func(path string) ([]byte, error)) ([]*Scenario, error) {
	l := newLoader(readFile)
	f := l.read(name, data)
	scenarios := l.load(f)
	if len(f.scenarios) == 0 && l.errs.Err() == nil {
		l.errs.Addf(name, "there is no Scenario in this file")
	}
	if err := l.errs.Err(); err != nil {
		return nil, err
	}
	return scenarios, nil
}

// loader reads files and collects their errors.
type loader struct {
	errs     *strict.Collector
	readFile func(path string) ([]byte, error)
	stdin    []byte           // what the path - stands for, unless nil
	files    map[string]*file // files with manifests, by path
	values   int              // number of values in the manifests used so far
	pods     int              // number of pods so far
	merges   int              // comparisons of values by the patches, so far
	instead  []*manifest      // workloads that stand for those of the same name
	bytes    int              // size of the files with manifests read so far

	copied, copiedText int // values and bytes of text in the copies for variants and ranges so far
	ranged             int // names of the ranges so far
}

func newLoader(readFile func(path string) ([]byte, error)) *loader {
	return &loader{errs: &strict.Collector{}, readFile: readFile, files: map[string]*file{}}
}

// read parses a file and sorts its objects.
func (l *loader) read(name string, data []byte) *file {
	f := &file{name: name}
	docs, whole := strict.Parse(name, data, l.errs)
	f.broken = !whole
	f.sort(docs)
	f.replace(l.instead)
	return f
}

// load checks all manifests of a file, including those that no scenario uses, and loads its scenarios.
func (l *loader) load(f *file) []*Scenario {
	for _, m := range f.manifests {
		m.load()
	}
	if len(f.scenarios) > 0 {
		for _, n := range f.others {
			if w := kindNamed(n.Field("kind").Value); w != nil {
				apiVersionIs(n.Field("apiVersion"), n.Field("kind"), w.apiVersion)
				f.refuse(n)
				continue
			}
			n.Field("kind").Errorf("unknown kind %s%s: a scenario file contains only workloads and Scenario documents",
				strict.Quote(n.Field("kind").Value), strict.DidYouMean(n.Field("kind").Value, append(kindNames(), "Scenario")))
			f.refuse(n)
		}
	}
	var scenarios []*Scenario
	l.values, l.pods, l.merges, l.bytes, l.copied, l.copiedText, l.ranged = 0, 0, 0, 0, 0, 0, 0
	names := map[string]Pos{}
	for _, n := range f.scenarios {
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
func checkTwice(s *Scenario, n *strict.Node, names map[string]Pos) {
	if first, twice := names[s.Metadata.Name]; twice && s.Metadata.Name != "" {
		n.Find("metadata.name").Errorf("the Scenario %s is already defined in line %d", s.Metadata.Name, first.Line)
	}
	names[s.Metadata.Name] = s.Pos
}

// check checks a scenario of a file and resolves the names in it.
func (l *loader) check(f *file, s *Scenario, n *strict.Node) {
	(&checker{loader: l, file: f, scenario: s, root: n, spec: n.Field("spec"),
		matches: map[string][]*workload{}, haveContainer: map[[2]string]bool{}}).check()
}

// readScenario decodes a scenario on top of the defaults.
func readScenario(n *strict.Node) *Scenario {
	document := struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Scenario   `json:",inline"`
	}{Scenario: Scenario{Pos: n.Pos, Spec: Spec{
		Duration: value.Duration(defaultDuration),
		Kubelet:  Kubelet{Uptime: value.Draw{Min: defaultUptime, Max: defaultUptime}},
	}}}
	strict.Decode(n, &document)
	return &document.Scenario
}

// manifestFile returns the file that a scenario in f uses a workload from, or nil after reporting why it cannot.
// The path is relative to f and may lead out of its directory, because manifests often live elsewhere in a
// repository. Absolute paths are rejected: they differ between machines.
func (l *loader) manifestFile(f *file, n *strict.Node, name string) *file {
	if path.IsAbs(name) {
		n.Errorf("must be relative to the directory of this file")
		return nil
	}
	full := path.Join(path.Dir(f.name), name)
	if known, ok := l.files[full]; ok {
		return known
	}
	if len(l.files) >= maxFiles {
		n.Errorf("cannot be read: the scenarios use manifests from more than %d files", maxFiles)
		return nil
	}
	data, err := l.readFile(full)
	if err != nil {
		n.Errorf("cannot be read: %s", err)
		return nil
	}
	if l.bytes += len(data); l.bytes > maxFileBytes {
		n.Errorf("cannot be read: the files that the scenarios use manifests from have more than %d MiB in total", maxFileBytes>>20)
		return nil
	}
	l.files[full] = l.read(full, data)
	return l.files[full]
}
