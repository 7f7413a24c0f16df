package repotest

import (
	"errors"
	"go/ast"
	"go/types"
	"path"
	"strings"
	"testing"
)

// orderless lists the functions that may walk a map in its own order, by package, receiver and
// name, with the reason why the order cannot be seen.
var orderless = map[string]string{
	"internal/world/controller.HasLabels":                        "asks whether all satisfy a condition",
	"internal/world/controller/endpointslice.(tracker).expected": "counts",
	"internal/world/controller/endpointslice.sortedEndpoints":    "sorts the endpoints",
	"internal/answers/incident.(eventValues).add":                "takes the greatest value of each key",
	"internal/answers/incident.(*containerStatus).facts":         "sets a field each",
	"internal/answers/incident.(*drawn).probes":                  "sorts the runs of each probe",
	"kubelet.(*backOff).forget":                                  "only deletes",
	"kubelet.(*Kubelet).hasResourcesToForget":                    "asks whether one satisfies a condition",
	"internal/answers/measure.(*pod).restarted":                  "asks whether one satisfies a condition",
	"internal/answers/measure.readPod":                           "sorts each list",
	"prober.(*manager).CleanupPods":                              "sorts the workers before it stops them",
	"prober.(*manager).Keeps":                                    "asks whether all satisfy a condition",
	"internal/scenarios/simulate.(*Result).applied":              "asks whether one satisfies a condition",
	"scenarios/plan.(*Workload).ruleOf":                          "asks whether one satisfies a condition",

	"sim/limit.(*Meter).check":                 "takes the largest value, and the first name among equals",
	"status.(*Manager).removeOrphanedVersions": "only deletes",

	"prober/preview138.(*containerBoundManager).stopWorkers":      "sorts the workers before it stops them",
	"prober/preview138.(*containerBoundManager).forgetContainers": "only deletes",
	"prober/preview138.(*containerBoundManager).Keeps":            "asks whether all satisfy a condition",
	"prober/preview138.(*mutableManager).CleanupPods":             "sorts the workers before it stops them",
	"prober/preview138.(*mutableManager).Keeps":                   "asks whether all satisfy a condition",
}

// TestMapOrderReachesNoResult finds every walk over a map outside the command. It does not know the
// maps that other modules return.
func TestMapOrderReachesNoResult(t *testing.T) {
	list, used := sources(t), map[string]bool{}
	maps := newChecker(list)
	for _, s := range list {
		if s.test || realWorld(s.dir) {
			continue
		}
		for _, f := range functions(s.ast) {
			for _, n := range maps.walks(s.dir, f) {
				where := s.dir + "." + qualified(f)
				used[where] = true
				if orderless[where] == "" {
					t.Errorf("%s: a walk over a map takes another order in each run; walk "+
						"slices.Sorted(maps.Keys(m)), or add %q to orderless in maporder_test.go with the reason why "+
						"the order cannot be seen",
						s.at(n), where)
				}
			}
		}
	}
	for where := range orderless {
		if !used[where] {
			t.Errorf("%s walks no map; delete it from orderless in maporder_test.go", where)
		}
	}
}

// checker finds the types of the module's packages as far as they follow from the module itself.
// Types of other modules stay unknown, which is not an error.
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

// Import implements types.Importer for the packages of this module.
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

// walks returns the places where a function walks a map without sorting its keys.
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

// calls reports whether a call expression calls one of the named functions of a package.
func calls(c *ast.CallExpr, pkg string, names ...string) bool {
	f, ok := c.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	x, ok := f.X.(*ast.Ident)
	return ok && x.Name == pkg && strings.Contains(" "+strings.Join(names, " ")+" ", " "+f.Sel.Name+" ")
}
