package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"probesim.dev/internal/answers/incident"
	"probesim.dev/internal/input"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/runner/files"
	"probesim.dev/internal/scenarios/simulate"
	"probesim.dev/internal/strict"
)

// manifestReader reads the manifests that a command line names.
type manifestReader struct {
	cmd        *cobra.Command
	allowEmpty bool // a file without an object or a directory without manifests is no error

	files  []input.File
	others []string // files without an object of Kubernetes
	errs   []error
}

// readManifests reads files, the manifests in directories, and stdin. It names the files that it
// passes over. With allowEmpty, it passes over the same named files as in a directory: a tool that
// names the changed files of a directory gets the result of the directory.
func readManifests(cmd *cobra.Command, allowEmpty bool, paths ...string) ([]input.File, error) {
	r := manifestReader{cmd: cmd, allowEmpty: allowEmpty}
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
	if len(r.others) > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "probesim: passed over %s: no apiVersion and kind\n", printable.Few(r.others))
	}
	return r.files, errors.Join(r.errs...)
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
	data, err := []byte(nil), error(nil)
	other := mayPass && isLargeOther(path)
	if !other {
		data, err = files.Of(r.cmd.Context()).Read(path, incident.MaxFile, named)
		other = err == nil && mayPass && !hasObject(data)
	}
	if other {
		r.others = append(r.others, printable.Text(path))
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
	if len(r.files)+len(r.errs) == before && !r.allowEmpty {
		r.errs = append(r.errs, fmt.Errorf("%s has no YAML or JSON file with an object of Kubernetes",
			printable.Text(dir)))
	}
}

// hasObject reports whether a file can have an object of Kubernetes. Other files in a directory do
// not have to be valid YAML.
func hasObject(data []byte) bool {
	return bytes.Contains(data, []byte("apiVersion")) && bytes.Contains(data, []byte("kind"))
}

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
// hidden directories, and over the files that say how kustomize combines the others. A Helm chart
// is an error: its templates are no manifests.
func (r *manifestReader) manifestsIn(dir string) ([]string, error) {
	var names []string
	var charts []error
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return unreadable(name, err)
		case d.IsDir() && name != dir && strings.HasPrefix(d.Name(), "."):
			return filepath.SkipDir
		case d.IsDir() && exists(filepath.Join(name, "Chart.yaml")):
			charts = append(charts, fmt.Errorf("%s is a Helm chart. Use what it renders:\n  helm template %s | %s",
				printable.Text(name), simulate.Quote(name), onStdin[r.cmd.Name()]))
			return filepath.SkipDir
		case isKustomization(name):
		case isFile(name, d) && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name)):
			names = append(names, name)
		}
		return nil
	})
	return names, errors.Join(append(charts, err)...)
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
