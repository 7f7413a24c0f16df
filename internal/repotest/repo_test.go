// Package repotest has the tests of the repository as a whole: the rules that its code keeps, its
// documents, its workflows and its action. The tests run in the root of the repository, and names
// of files are relative to it.
package repotest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

const module = "probesim.dev"

func TestMain(m *testing.M) {
	if err := os.Chdir("../.."); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(bin)
	os.Exit(code)
}

// source is a Go file of this module, not of the modules nested in it.
type source struct {
	name string // with slashes, from the root of the module
	dir  string
	test bool
	text string
	ast  *ast.File
}

func (s *source) at(n ast.Node) string {
	return s.name + ":" + strconv.Itoa(fileSet.Position(n.Pos()).Line)
}

// sources returns the Go files of this module, which it reads and parses once.
func sources(t *testing.T) []*source {
	t.Helper()
	if parsed != nil {
		return parsed
	}
	walk(t, false, func(name string, text []byte) {
		if path.Ext(name) != ".go" {
			return
		}
		file, err := parser.ParseFile(fileSet, name, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, &source{name, path.Dir(name), strings.HasSuffix(name, "_test.go"), string(text), file})
	})
	if len(parsed) < 50 {
		t.Fatalf("found %d Go files; the rules would check nothing: fix walk", len(parsed))
	}
	return parsed
}

var (
	fileSet = token.NewFileSet()
	parsed  []*source
)

// walk visits the files of the module and, if nested is true, the files of the modules nested in
// it.
func walk(t *testing.T, nested bool, visit func(name string, text []byte)) {
	t.Helper()
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir():
			_, noModule := os.Stat(filepath.Join(name, "go.mod"))
			if d.Name() == ".git" || name != "." && noModule == nil && !nested {
				return fs.SkipDir
			}
			return nil
		case !d.Type().IsRegular() || d.Name() == ".git": // a file in a worktree
			return nil
		}
		text, err := os.ReadFile(name)
		visit(filepath.ToSlash(name), text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (s *source) imports() map[string]*ast.ImportSpec {
	list := map[string]*ast.ImportSpec{}
	for _, i := range s.ast.Imports {
		name, _ := strconv.Unquote(i.Path.Value)
		list[name] = i
	}
	return list
}

// under reports whether name is the directory dir or lies in it.
func under(name, dir string) bool { return name == dir || strings.HasPrefix(name, dir+"/") }

// qualified returns the name of a function with its receiver, as in (*Manager).CleanupPods.
func qualified(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	return "(" + types.ExprString(f.Recv.List[0].Type) + ")." + f.Name.Name
}

func functions(f *ast.File) []*ast.FuncDecl {
	var list []*ast.FuncDecl
	for _, d := range f.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			list = append(list, f)
		}
	}
	return list
}

// read returns the text of a file.
func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// writeFiles writes files below a directory, with the directories between.
func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		name = filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(name), 0o777)
		if err == nil {
			err = os.WriteFile(name, []byte(text), 0o777)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// parse decodes YAML.
func parse[T any](t *testing.T, text string) T {
	t.Helper()
	var v T
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// yamlBlocks returns the YAML blocks of a document by the comment in their first line, and checks
// that they are valid.
func yamlBlocks(t *testing.T, document string) map[string]string {
	t.Helper()
	text, blocks := read(t, document), map[string]string{}
	for _, m := range regexp.MustCompile("(?s)```yaml\n# ([^\n]+)\n(.*?)```").FindAllStringSubmatch(text, -1) {
		parse[yaml.Node](t, m[2])
		blocks[m[1]] = m[2]
	}
	if all := strings.Count(text, "```yaml\n"); all != len(blocks) {
		t.Errorf("%d of %d YAML blocks of %s begin with a comment", len(blocks), all, document)
	}
	return blocks
}

// bin is the directory with the command, once a test has built it.
var bin string

// commandDir returns a directory with probesim, built from this tree. Tests share it and write
// nothing there.
func commandDir(t *testing.T) string {
	t.Helper()
	if bin == "" {
		dir, err := os.MkdirTemp("", "probesim")
		if err != nil {
			t.Fatal(err)
		}
		bin = dir
		if out, err := exec.Command("go", "build", "-o", bin, "./cmd/probesim").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	return bin
}

// withPath returns the environment of commands that find probesim, and what lies in other
// directories, before anything else.
func withPath(t *testing.T, dirs ...string) []string {
	return append(os.Environ(), "PATH="+
		strings.Join(append(dirs, commandDir(t), os.Getenv("PATH")), string(os.PathListSeparator)))
}
