package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
)

// mutant is one small change of the kubelet, which the built program makes if MUTANT has its number.
type mutant struct {
	number int
	area   string
	file   string // relative to pkg/kubelet
	line   int
	fn     string // its function
	below  int    // lines below the first one of the function
	kind   string
	text   string // the source that it changes
}

// key names a mutant in unshown.txt. It depends on no number that a change of another function moves.
func (m *mutant) key() string {
	return strings.Join([]string{m.file, fmt.Sprintf("%s+%d", m.fn, m.below), m.kind, m.text}, " | ")
}

func (m *mutant) String() string {
	return fmt.Sprintf("%s:%d %s: %s: %s", m.file, m.line, m.fn, m.kind, m.text)
}

// unseen are texts of statements that change no record: logs, metrics and traces; and of statements
// without which a goroutine only stays blocked, or a resource is only kept.
var unseen = []string{"logger.", "loggerV", "Logger", "klog.", "metrics.", "Metric", "Observe", "tracer", "span",
	"Lock()",
	"panic(", "close(", "HandleCrash", "HandleError", "atencyHelper", "atencyTracker", "podStartup", "Done()", "wg.",
	"cancel", "ProberResults", "ProberDuration"}

// rewriter rewrites a file so that it contains its mutants. It inserts text only within lines, so
// that the lines keep their numbers.
type rewriter struct {
	source     string
	files      *token.FileSet
	conditions map[ast.Expr]bool
	inserts    []insert
	found      []*mutant
	template   mutant // area, file, function, and the number of the last mutant
	first      int    // line of the function
}

// insert is a text to insert at an offset of the source. depth orders texts at one offset.
type insert struct {
	at, depth int
	text      string
}

// rewrite returns a file with its mutants. The numbers begin after last.
func rewrite(source, area, file string, last int) (string, []*mutant, error) {
	r := &rewriter{source: source, files: token.NewFileSet(), conditions: map[ast.Expr]bool{}}
	r.template = mutant{area: area, file: file, number: last}
	f, err := parser.ParseFile(r.files, file, source, parser.SkipObjectResolution)
	if err != nil {
		return "", nil, err
	}
	r.inserts = append(r.inserts, insert{r.offset(f.Name.End()), 0, `; import "` + runtimePackage + `"`})
	for _, d := range f.Decls {
		// Most of what a constructor decides is the same in all runs.
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil && !strings.HasPrefix(fn.Name.Name, "New") {
			r.template.fn, r.first = fn.Name.Name, r.files.Position(fn.Pos()).Line
			ast.Inspect(fn.Body, r.visit)
		}
	}
	return r.result(), r.found, nil
}

func (r *rewriter) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.IfStmt:
		r.conditions[n.Cond] = true
	case *ast.ForStmt:
		r.conditions[n.Cond] = true
	case *ast.SwitchStmt:
		if n.Tag == nil {
			for _, clause := range n.Body.List {
				for _, x := range clause.(*ast.CaseClause).List {
					r.conditions[x] = true
				}
			}
		}
	case *ast.BlockStmt:
		r.deletions(n.List)
	case *ast.CaseClause:
		r.deletions(n.Body)
	case *ast.CommClause:
		r.deletions(n.Body)
	case *ast.ReturnStmt:
		if len(n.Results) == 1 && slices.Contains([]string{"true", "false"}, r.text(n.Results[0])) {
			r.negate("flip return", n.Results[0])
		}
	}
	if x, ok := n.(ast.Expr); ok {
		r.condition(x)
	}
	return true
}

// condition adds the mutants of an expression: of a condition its opposite, and its boundary if it
// compares; of && and || the opposite of each side.
func (r *rewriter) condition(x ast.Expr) {
	b, _ := x.(*ast.BinaryExpr)
	switch {
	case b != nil && (b.Op == token.LAND || b.Op == token.LOR):
		r.negate("negate left", b.X)
		r.negate("negate right", b.Y)
		return
	case !r.conditions[x]:
		return
	}
	r.negate("negate", x)
	if b != nil && slices.Contains([]token.Token{token.LSS, token.LEQ, token.GTR, token.GEQ}, b.Op) {
		if n := r.add("boundary", x); n > 0 {
			r.around(x, "(", fmt.Sprintf(" != (mutant.On(%d) && (%s) == (%s)))", n, r.verbatim(b.X), r.verbatim(b.Y)))
		}
	}
}

// deletions adds a mutant for each statement of a block that can be deleted.
func (r *rewriter) deletions(list []ast.Stmt) {
	for _, s := range list {
		kind := ""
		switch s := s.(type) {
		case *ast.ExprStmt:
			if _, ok := s.X.(*ast.CallExpr); ok {
				kind = "delete call"
			}
		case *ast.IncDecStmt:
			kind = "delete count"
		case *ast.AssignStmt:
			if s.Tok != token.ASSIGN || len(s.Lhs) != 1 || len(s.Rhs) != 1 {
				continue
			}
			switch s.Lhs[0].(type) {
			case *ast.SelectorExpr, *ast.IndexExpr:
				kind = "delete assignment"
			}
		}
		if kind == "" {
			continue
		}
		if n := r.add(kind, s); n > 0 {
			r.around(s, fmt.Sprintf("if !mutant.On(%d) { ", n), " }")
		}
	}
}

func (r *rewriter) negate(kind string, x ast.Expr) {
	if n := r.add(kind, x); n > 0 {
		r.around(x, fmt.Sprintf("(mutant.On(%d) != (", n), "))")
	}
}

// add adds a mutant and returns its number, or 0 if no record would show it.
func (r *rewriter) add(kind string, n ast.Node) int {
	text := r.text(n)
	if slices.ContainsFunc(unseen, func(word string) bool { return strings.Contains(text, word) }) {
		return 0
	}
	r.template.number++
	m := r.template
	m.line, m.kind, m.text = r.files.Position(n.Pos()).Line, kind, text
	m.below = m.line - r.first
	if len(m.text) > 120 {
		m.text = m.text[:120] + "..."
	}
	r.found = append(r.found, &m)
	return m.number
}

// around inserts texts before and after a node. A later text at the same place is inside.
func (r *rewriter) around(n ast.Node, before, after string) {
	depth := len(r.inserts)
	r.inserts = append(r.inserts, insert{r.offset(n.Pos()), depth, before}, insert{r.offset(n.End()), -depth, after})
}

func (r *rewriter) result() string {
	slices.SortStableFunc(r.inserts, func(a, b insert) int {
		if a.at != b.at {
			return a.at - b.at
		}
		return a.depth - b.depth
	})
	var b strings.Builder
	done := 0
	for _, i := range r.inserts {
		b.WriteString(r.source[done:i.at] + i.text)
		done = i.at
	}
	return b.String() + r.source[done:]
}

func (r *rewriter) offset(p token.Pos) int { return r.files.Position(p).Offset }

func (r *rewriter) verbatim(n ast.Node) string { return r.source[r.offset(n.Pos()):r.offset(n.End())] }

// text returns the source of a node in one line.
func (r *rewriter) text(n ast.Node) string { return strings.Join(strings.Fields(r.verbatim(n)), " ") }
