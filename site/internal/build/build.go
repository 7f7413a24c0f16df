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
	"regexp"
	"slices"
	"strings"

	"probesim.dev/site/internal/pages"
)

// Site writes the site with a program into a directory. The repository is in the directory root.
// The same repository and the same version of Go give the same bytes.
func Site(root, dir string, program []byte) error {
	files := map[string][]byte{"probesim.wasm": program,
		"probesim.json": fmt.Appendf(nil, "{\"size\": %d}\n", len(program))}
	assets := os.DirFS(filepath.Join(root, "site/assets"))
	err := fs.WalkDir(assets, ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files[name], err = fs.ReadFile(assets, name)
		}
		return err
	})
	if err != nil {
		return err
	}
	goroot, err := goroot(root)
	if err == nil {
		files["wasm_exec.js"], err = os.ReadFile(filepath.Join(goroot, "lib/wasm/wasm_exec.js"))
	}
	if err == nil {
		err = docsAndAnswers(root, files)
	}
	if err != nil {
		return err
	}
	files["sw.js"] = worker(files)
	for name, data := range files {
		err = errors.Join(err, write(dir, name, data))
	}
	return err
}

// write writes a file below a directory.
func write(dir, name string, data []byte) error {
	to := filepath.Join(dir, filepath.FromSlash(name))
	err := os.MkdirAll(filepath.Dir(to), 0o755)
	if err == nil {
		err = os.WriteFile(to, data, 0o644)
	}
	return err
}

// docsAndAnswers adds the docs, the examples in them, and what the command on this machine answers:
// the schema, for the names of fields that the editor completes, and the first example as a page,
// which the playground shows while the program loads. The playground allows the scripts of the
// pages of all examples.
func docsAndAnswers(root string, files map[string][]byte) error {
	docs, err := pages.Load(os.DirFS(root))
	if err != nil {
		return err
	}
	for name, data := range docs.Files() {
		files[path.Join("docs", name)] = data
	}
	examples, err := docs.Examples()
	if err != nil {
		return err
	}
	files["examples.json"], _ = json.Marshal(examples) // texts
	dir, err := os.MkdirTemp("", "probesim-site-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	command := filepath.Join(dir, "probesim")
	if _, err = output(root, "go", "build", "-o", command, "./cmd/probesim"); err == nil {
		files["schema.json"], err = output(dir, command, "schema")
	}
	for i := 0; i < len(examples) && err == nil; i++ {
		var page []byte
		page, err = answer(command, filepath.Join(dir, fmt.Sprint(i)), &examples[i].State)
		files["index.html"] = allowed(files["index.html"], page)
		if i == 0 {
			files["first.html"] = page
		}
	}
	return err
}

// words are the arguments of an example.
var words = regexp.MustCompile(`'[^']*'|\S+`)

// answer returns what the command prints about an example, as a page.
func answer(command, dir string, example *pages.State) ([]byte, error) {
	for _, f := range example.Files {
		if err := write(dir, f.Name, []byte(f.Text)); err != nil {
			return nil, err
		}
	}
	args := []string{example.Tab, "-o", "html"}
	for _, word := range words.FindAllString(example.Args, -1) {
		args = append(args, strings.Trim(word, "'"))
	}
	out, err := output(dir, command, args...)
	if code := (*exec.ExitError)(nil); errors.As(err, &code) && code.ExitCode() == 1 {
		err = nil // the answer is no
	}
	return out, err
}

// source matches what the policy of a page allows: one style and one script.
var source = regexp.MustCompile(`((?:style|script)-src) ('sha256-[^']+')`)

// allowed returns the page of the playground with a policy that allows the style and the script of
// a report, which a frame shows.
func allowed(index, report []byte) []byte {
	for _, m := range source.FindAllSubmatch(report, 2) {
		if !bytes.Contains(index, m[2]) {
			self := fmt.Appendf(nil, "%s 'self'", m[1])
			index = bytes.Replace(index, self, fmt.Appendf(nil, "%s %s", self, m[2]), 1)
		}
	}
	return index
}

// worker returns the service worker, which keeps these files for visits without a network. Its
// version is that of the files.
func worker(files map[string][]byte) []byte {
	sum := sha256.New()
	list := slices.Sorted(maps.Keys(files))
	for _, name := range list {
		fmt.Fprintf(sum, "%s %x\n", name, sha256.Sum256(files[name]))
	}
	text, _ := json.Marshal(list) // names
	head := fmt.Sprintf("const version = 'probesim-%.12x';\nconst files = %s;\n", sum.Sum(nil), text)
	return append([]byte(head), bytes.TrimPrefix(files["sw.js"], []byte("'use strict';\n"))...)
}
