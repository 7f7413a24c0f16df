package probesim_test

import (
	"errors"
	"go/ast"
	"go/types"
	"path"
	"strings"
	"testing"
)

// orderless are the walks over maps whose order nobody can see, by package and function, and why.
var orderless = map[string]string{
	"prober.CleanupPods":            "the workers are sorted before they are stopped",
	"kubelet.forget":                "deletes only",
	"sim/limit.check":               "takes the largest, by name among equals",
	"status.forgetOrphanedVersions": "deletes only",
}

// TestMapOrderReachesNoResult looks at every walk over a map outside the command. Maps that other modules
// return are not known here.
func TestMapOrderReachesNoResult(t *testing.T) {
	list, used := sources(t), map[string]bool{}
	maps := newChecker(list)
	for _, s := range list {
		if s.test || realWorld(s.dir) {
			continue
		}
		for _, f := range functions(s.ast) {
			for _, n := range maps.walks(s.dir, f) {
				where := s.dir + "." + f.Name.Name
				used[where] = true
				if orderless[where] == "" {
					t.Errorf("%s: the order of a walk over a map differs from run to run; walk slices.Sorted(maps.Keys(m)), or list %q in orderless of arch_map_test.go and say why nobody can see the order",
						s.at(n), where)
				}
			}
		}
	}
	for where := range orderless {
		if !used[where] {
			t.Errorf("%s walks no map; delete it from orderless in arch_map_test.go", where)
		}
	}
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

// checker has the types of the module's packages, as far as they follow from the module itself: what
// comes from elsewhere is unknown and no error.
type checker struct {
	files    map[string][]*ast.File
	packages map[string]*types.Package
	info     types.Info
}

func newChecker(list []*source) *checker {
	c := &checker{
		files: map[string][]*ast.File{}, packages: map[string]*types.Package{},
		info: types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}},
	}
	for _, s := range list {
		if !s.test {
			c.files[s.dir] = append(c.files[s.dir], s.ast)
		}
	}
	return c
}

// Import is what the type checker calls for the packages that one imports.
func (c *checker) Import(name string) (*types.Package, error) {
	dir, ours := strings.CutPrefix(name, module+"/")
	if !ours {
		return nil, errors.New("not of this module")
	}
	if p, begun := c.packages[dir]; begun {
		if p == nil {
			return nil, errors.New("imports itself")
		}
		return p, nil
	}
	c.packages[dir] = nil
	config := types.Config{Importer: c, Error: func(error) {}}
	c.packages[dir], _ = config.Check(name, fileSet, c.files[dir], &c.info)
	return c.packages[dir], nil
}

// walks returns where a function goes through a map, save where it sorts the keys.
func (c *checker) walks(dir string, f *ast.FuncDecl) []ast.Node {
	c.Import(path.Join(module, dir))
	var list []ast.Node
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.RangeStmt:
			if typ := c.info.TypeOf(n.X); typ != nil {
				if _, ok := typ.Underlying().(*types.Map); ok {
					list = append(list, n)
				}
			}
		case *ast.CallExpr:
			if calls(n, "slices", "Sorted", "SortedFunc", "SortedStableFunc") {
				return false
			}
			if calls(n, "maps", "Keys", "Values", "All") {
				list = append(list, n)
			}
		}
		return true
	})
	return list
}

// calls reports whether a call is one of a package's functions.
func calls(c *ast.CallExpr, pkg string, names ...string) bool {
	f, ok := c.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	x, ok := f.X.(*ast.Ident)
	return ok && x.Name == pkg && strings.Contains(" "+strings.Join(names, " ")+" ", " "+f.Sel.Name+" ")
}
