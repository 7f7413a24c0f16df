package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
)

// report prints the figures of an area.
func report(name, prefix string, blocks []*block, from *sources, verbose bool) error {
	excused := excuses(unreachedText)
	statements, ran, reachable := 0, 0, 0
	for _, b := range blocks {
		if !strings.HasPrefix(b.file, prefix) {
			continue
		}
		statements += b.count
		if b.ran {
			ran, reachable = ran+b.count, reachable+b.count
			continue
		}
		s, err := from.of(b.file)
		if err != nil {
			return err
		}
		function, text := s.function(b.line), s.firstLine(b)
		if excused[b.file+" | "+function+" | "+text] || excused[b.file+" | "+function+" | *"] ||
			excused[b.file+" | * | *"] {
			continue
		}
		reachable += b.count
		if verbose {
			fmt.Printf("%s | %s | %s    line %d, %d statements\n", b.file, function, text, b.line, b.count)
		}
	}
	fmt.Printf("%-12s %5.1f%% of %4d statements, %5.1f%% of the %4d that are not in unreached.txt\n", name,
		percent(ran, statements), statements, percent(ran, reachable), reachable)
	return nil
}

func percent(part, whole int) float64 { return 100 * float64(part) / float64(max(whole, 1)) }

// excuses returns the keys of unreached.txt. Lines that begin with # are reasons.
func excuses(text string) map[string]bool {
	keys := map[string]bool{}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "# ") {
			keys[line] = true
		}
	}
	return keys
}

// sources are the files of the kubelet that have been read.
type sources struct {
	dir  string
	read map[string]*source
}

// source is a file: its lines, and the functions with their lines.
type source struct {
	lines     []string
	functions []span
}

type span struct {
	name        string
	first, last int
}

func (s *sources) of(file string) (*source, error) {
	if s.read[file] != nil {
		return s.read[file], nil
	}
	text, err := os.ReadFile(filepath.Join(s.dir, file))
	if err != nil {
		return nil, err
	}
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, file, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	r := &source{lines: strings.Split(string(text), "\n")}
	for _, d := range parsed.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			r.functions = append(r.functions, span{f.Name.Name, files.Position(f.Pos()).Line,
				files.Position(f.End()).Line})
		}
	}
	s.read[file] = r
	return r, nil
}

// function returns the name of the function of a line.
func (s *source) function(line int) string {
	for _, f := range s.functions {
		if f.first <= line && line <= f.last {
			return f.name
		}
	}
	return ""
}

// firstLine returns the begin of the first line of a block with a statement. A block that begins with a brace at
// the end of a line begins on the next one that is no comment.
func (s *source) firstLine(b *block) string {
	text := s.lines[b.line-1][b.column-1:]
	for next := b.line; strings.Trim(text, " \t{") == "" || strings.HasPrefix(strings.TrimSpace(text), "//"); next++ {
		text = s.lines[next]
	}
	return strings.TrimSpace(fmt.Sprintf("%.60s", strings.TrimSpace(strings.TrimPrefix(text, "{"))))
}
