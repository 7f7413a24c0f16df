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

	"probesim.dev/check"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/runner/files"
	"probesim.dev/internal/strict"
	"probesim.dev/scenarios/simulate"
)

// manifestReader reads the manifests that a command line names.
type manifestReader struct {
	stdin      io.Reader
	stderr     io.Writer // for the names of files that it passes over
	onStdin    string    // the command line that reads a manifest from stdin
	allowEmpty bool      // a file without an object or a directory without manifests is no error
}

func newManifestReader(cmd *cobra.Command, allowEmpty bool) manifestReader {
	return manifestReader{cmd.InOrStdin(), cmd.ErrOrStderr(), onStdin[cmd.Name()], allowEmpty}
}

// read reads files, the manifests in directories, and stdin. With allowEmpty, it passes over the same named files as in a directory: a tool that names the
// changed files of a directory gets the result of the directory.
func (r manifestReader) read(paths []string) ([]check.File, error) {
	var files []check.File
	var others []string
	var errs []error
	add := func(name string, data []byte, err error) {
		if err != nil {
			errs = append(errs, err)
			return
		}
		files = append(files, check.File{Name: filepath.ToSlash(name), Data: data})
	}
	for _, path := range paths {
		info, err := os.Stat(path)
		switch {
		case path == "-":
			data, err := readStdin(r.stdin)
			add("stdin", data, err)
		case err == nil && info.IsDir():
			found, err := r.readDirectory(path)
			files = append(files, found...)
			if err != nil {
				errs = append(errs, err)
			}
		case err == nil && info.Size() == 0 && info.Mode().IsRegular() && r.allowEmpty: // for example what a template renders
		case err == nil && r.allowEmpty && isKustomization(path):
		case r.allowEmpty && isLargeOther(path):
			others = append(others, printable.Text(path))
		default:
			data, err := readManifest(path)
			if err == nil && r.allowEmpty && !hasObject(data) {
				others = append(others, printable.Text(path))
				continue
			}
			add(path, data, err)
		}
	}
	r.passOver(others)
	return files, errors.Join(errs...)
}

// readDirectory reads the manifests in a directory and below it. It passes over files without any object of Kubernetes, such as the values of
// a chart, and names them.
func (r manifestReader) readDirectory(dir string) ([]check.File, error) {
	names, err := r.manifestsIn(dir)
	if err != nil {
		return nil, err
	}
	var files []check.File
	var errs []error
	var others []string
	for _, name := range names {
		if isLargeOther(name) {
			others = append(others, printable.Text(name))
			continue
		}
		data, err := readManifest(name)
		switch {
		case err != nil:
			errs = append(errs, err)
		case hasObject(data):
			files = append(files, check.File{Name: filepath.ToSlash(name), Data: data})
		default:
			others = append(others, printable.Text(name))
		}
	}
	if len(files)+len(errs) == 0 && !r.allowEmpty {
		return nil, fmt.Errorf("%s has no YAML or JSON file with an object of Kubernetes", printable.Text(dir))
	}
	r.passOver(others)
	return files, errors.Join(errs...)
}

// passOver names files without an object of Kubernetes.
func (r manifestReader) passOver(names []string) {
	if len(names) > 0 {
		fmt.Fprintf(r.stderr, "probesim: passed over %s: no apiVersion and kind\n", printable.Few(names))
	}
}

// hasObject reports whether a file can have an object of Kubernetes. Other files in a directory do not have to be valid YAML.
func hasObject(data []byte) bool {
	return bytes.Contains(data, []byte("apiVersion")) && bytes.Contains(data, []byte("kind"))
}

// isLargeOther reports whether a file is too large for a manifest, and its beginning has nothing of an object of Kubernetes.
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

// manifestsIn returns the YAML and JSON files in a directory and below it, sorted. It passes over hidden directories, and over the files that say how
// kustomize combines the others. A Helm chart is an error: its templates are no manifests.
func (r manifestReader) manifestsIn(dir string) ([]string, error) {
	var names []string
	var charts []error
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fmt.Errorf("%s: cannot be read: %w", printable.Text(name), files.Pathless(err))
		case d.IsDir() && name != dir && strings.HasPrefix(d.Name(), "."):
			return filepath.SkipDir
		case d.IsDir() && isChart(name):
			charts = append(charts, fmt.Errorf("%s is a Helm chart. Use what it renders:\n  helm template %s | %s", printable.Text(name), simulate.Quote(name), r.onStdin))
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

// isChart reports whether a directory is a Helm chart.
func isChart(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "Chart.yaml"))
	return err == nil
}

// isFile reports whether a directory entry is a file, or a link to one, as in the volume of a ConfigMap.
func isFile(name string, d fs.DirEntry) bool {
	if d.Type()&fs.ModeSymlink == 0 {
		return d.Type().IsRegular()
	}
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}
