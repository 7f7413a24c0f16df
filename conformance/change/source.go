package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// staging is where a checkout of Kubernetes has the modules that are published one by one.
const staging = "staging/src/k8s.io"

// change is what the paths of the command line put in place of a release.
type change struct {
	modules map[string]string // directories by the modules that they replace
	files   map[string]string // files by those of the release that they replace; an empty one deletes
	notes   []string
}

// module is a module of Kubernetes in the program of a release.
type module struct{ version, dir string }

var (
	kubernetesModule = regexp.MustCompile(`(?m)^module k8s\.io/kubernetes$`)
	binaryVersion    = regexp.MustCompile(`DefaultKubeBinaryVersion\s*=\s*"(\d+\.\d+)"`)
	ofKubernetes     = regexp.MustCompile(`^v(\d+\.\d+)\.`)
)

// read reads the paths of the command line. Links are where the modules of the release get paths
// outside the module cache, in which go refuses an overlay.
func (w *workspace) read(paths []string) (*change, error) {
	c := &change{modules: map[string]string{}, files: map[string]string{}}
	for _, path := range paths {
		path, err := filepath.Abs(path)
		if err != nil {
			return nil, err
		}
		file, err := os.ReadFile(filepath.Join(path, "go.mod"))
		switch {
		case err == nil && kubernetesModule.Match(file):
			err = w.readCheckout(c, path)
		case err != nil && !errors.Is(err, fs.ErrNotExist):
		default:
			err = w.readPackages(c, path)
		}
		if err != nil {
			return nil, err
		}
	}
	return c, nil
}

// readCheckout puts a checkout in place of the modules of the release.
func (w *workspace) readCheckout(c *change, path string) error {
	if len(c.modules)+len(c.files) > 0 {
		return errors.New("a checkout of Kubernetes must be the only PATH, or the first")
	}
	if info, err := os.Stat(filepath.Join(path, "pkg", "kubelet")); err != nil || !info.IsDir() {
		return fmt.Errorf("%s has no pkg/kubelet", path)
	}
	version, _ := os.ReadFile(filepath.Join(path, staging, "component-base/version/base.go"))
	if found := binaryVersion.FindSubmatch(version); found != nil && string(found[1]) != w.minor() {
		its := string(found[1])
		beside := filepath.Join(filepath.Dir(w.harness), "v"+its)
		if _, err := os.Stat(beside); err == nil {
			return fmt.Errorf("%s is Kubernetes %s, and %s runs %s: use --harness %s", path, its, w.harness, w.version(),
				beside)
		}
		c.notes = append(c.notes, fmt.Sprintf("%s is Kubernetes %s, which has no directory beside %s. The answer "+
			"includes all that changed since %s.", path, its, w.harness, w.version()))
	}
	c.modules["k8s.io/kubernetes"] = path
	list, err := filepath.Glob(filepath.Join(path, staging, "*", "go.mod"))
	for _, file := range list {
		dir := filepath.Dir(file)
		c.modules["k8s.io/"+filepath.Base(dir)] = dir
	}
	return err
}

// readPackages puts the packages of a directory in place of those of the modules.
func (w *workspace) readPackages(c *change, path string) error {
	packages := map[string]bool{}
	for _, root := range []string{"pkg", staging} {
		err := filepath.WalkDir(filepath.Join(path, root), func(name string, entry fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil
			case err != nil:
				return err
			case entry.IsDir() && (entry.Name() == "testdata" || entry.Name() == "vendor"):
				return fs.SkipDir
			case entry.Type().IsRegular() && isSource(name):
				packages[filepath.Dir(name)] = true
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if len(packages) == 0 {
		return fmt.Errorf("%s is neither a checkout of Kubernetes, with its go.mod and pkg/kubelet, nor has it changed "+
			"packages, such as pkg/kubelet/prober", path)
	}
	for dir := range packages {
		relative, err := filepath.Rel(path, dir)
		if err == nil {
			err = w.replacePackage(c, dir, filepath.ToSlash(relative))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func isSource(name string) bool {
	return strings.HasSuffix(name, ".s") || strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go")
}

// replacePackage puts the files of a directory in place of those of a package. Those that only the
// release has are deleted.
func (w *workspace) replacePackage(c *change, dir, relative string) error {
	path, inside := "k8s.io/kubernetes", relative
	if rest, staged := strings.CutPrefix(relative, staging+"/"); staged {
		name := ""
		name, inside, _ = strings.Cut(rest, "/")
		path = "k8s.io/" + name
	}
	of, known := w.modules[path]
	if !known {
		return fmt.Errorf("%s: the kubelet of %s does not use the module %s", dir, w.version(), path)
	}
	to := of.dir
	if replaced, ok := c.modules[path]; ok {
		to = replaced
	} else {
		link := filepath.Join(w.temp, filepath.FromSlash(path))
		if err := errors.Join(os.MkdirAll(filepath.Dir(link), 0o777), os.Symlink(of.dir, link)); err != nil {
			return err
		}
		c.modules[path], to = link, link
	}
	to = filepath.Join(to, filepath.FromSlash(inside))
	its, err := sources(dir)
	if err != nil {
		return err
	}
	old, err := sources(to)
	if err != nil {
		return err
	}
	for _, name := range its {
		c.files[filepath.Join(to, name)] = filepath.Join(dir, name)
	}
	missing := slices.DeleteFunc(old, func(name string) bool { return slices.Contains(its, name) })
	for _, name := range missing {
		c.files[filepath.Join(to, name)] = ""
	}
	if len(missing) > 0 {
		c.notes = append(c.notes, fmt.Sprintf("%s lacks files of the release, so the package is built without them: %s",
			dir, strings.Join(missing, ", ")))
	}
	return nil
}

// sources returns the source files in a directory. There are none if it does not exist.
func sources(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, e := range entries {
		if !e.IsDir() && isSource(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names, err
}
