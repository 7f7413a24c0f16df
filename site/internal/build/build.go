// Package build makes the site: the playground, with the command probesim as WebAssembly, and the
// documentation.
package build

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"probesim.dev/site"
	"probesim.dev/site/internal/pages"
)

// Site writes the site with a program into a directory. The repository is in the directory root. The
// same repository and the same version of Go give the same bytes.
func Site(root, dir string, program []byte) error {
	files, err := Files(root)
	if err != nil {
		return err
	}
	files["probesim.wasm"] = program
	files["probesim.json"] = fmt.Appendf(nil, "{\"size\": %d}\n", len(program))
	files["sw.js"] = worker(files)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		to := filepath.Join(dir, filepath.FromSlash(name))
		err := os.MkdirAll(filepath.Dir(to), 0o755)
		if err == nil {
			err = os.WriteFile(to, files[name], 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Files returns the files of the site without the program, by their paths on the site.
func Files(root string) (map[string][]byte, error) {
	files := map[string][]byte{}
	err := fs.WalkDir(site.Assets(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files[name], err = fs.ReadFile(site.Assets(), name)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	docs, err := pages.Load(os.DirFS(root))
	if err != nil {
		return nil, err
	}
	for name, data := range docs.Files() {
		files[path.Join("docs", name)] = data
	}
	examples, err := docs.Examples()
	if err == nil {
		files["examples.json"], err = json.Marshal(examples)
	}
	if err == nil {
		files["first.json"], err = answer(root, &examples[0].State)
	}
	if err != nil {
		return nil, err
	}
	// for the names of fields that the editor completes
	if files["schema.json"], err = output(root, "go", "run", "./cmd/probesim", "schema"); err != nil {
		return nil, err
	}
	goroot, err := goroot(root)
	if err == nil {
		files["wasm_exec.js"], err = os.ReadFile(filepath.Join(goroot, "lib/wasm/wasm_exec.js"))
	}
	return files, err
}

// answer returns what the command prints about an example, as a page. The playground shows it while
// the program loads.
func answer(root string, example *pages.State) ([]byte, error) {
	dir, err := os.MkdirTemp("", "probesim-site-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	for _, f := range example.Files {
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(f.Name)), []byte(f.Text), 0o644); err != nil {
			return nil, err
		}
	}
	command := filepath.Join(dir, "probesim")
	if _, err := output(root, "go", "build", "-o", command, "./cmd/probesim"); err != nil {
		return nil, err
	}
	cmd := exec.Command(command, append([]string{example.Tab, "-o", "html"}, strings.Fields(example.Args)...)...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if code := (*exec.ExitError)(nil); err != nil && !(errors.As(err, &code) && code.ExitCode() == 1) {
		return nil, fmt.Errorf("%s: %w", cmd, err)
	}
	return json.Marshal(map[string]string{"stdout": string(out)})
}

// worker returns the service worker, which keeps these files for visits without a network. Its
// version is that of the files.
func worker(files map[string][]byte) []byte {
	sum := sha256.New()
	list := slices.Sorted(maps.Keys(files))
	for _, name := range list {
		fmt.Fprintf(sum, "%s %x\n", name, sha256.Sum256(files[name]))
	}
	text, _ := json.Marshal(append(list, "")) // names; the empty one is the start page
	head := fmt.Sprintf("const version = 'probesim-%.12x';\nconst files = %s;\n", sum.Sum(nil), text)
	return append([]byte(head), bytes.TrimPrefix(files["sw.js"], []byte("'use strict';\n"))...)
}
