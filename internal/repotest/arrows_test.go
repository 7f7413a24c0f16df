package repotest

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// layers lists the packages, lowest first. A package imports packages of lower layers and its own
// subpackages, and nothing else of this module. An entry also covers the packages below it without
// their own entry.
var layers = [][]string{
	{"sim/virtual", "internal/printable", "internal/input", "internal/githubrunner", "internal/long",
		"internal/runner/cleanup"},
	{"internal/queue", "internal/strict", "internal/junit", "sim/choose", "sim/limit", "trace", "kube"},
	{"sim", "internal/value", "internal/inplace", "apiserver/admission"},
	{"apiserver/store"},
	{"trace/match", "trace/invariant", "trace/traffic", "status", "fakeruntime", "apiserver", "prober/results",
		"report"},
	{"report/html", "report/perfetto", "prober", "controller"},
	{"prober/preview138"},
	{"kubelet", "controller/deployment", "controller/replicaset", "controller/endpointslice", "router"},
	{"node"},
	{"scenarios/format"},
	{"scenarios/program"},
	{"scenarios/manifests"},
	{"scenarios/plan"},
	{"scenarios/validation", "scenarios/drive"},
	{"scenarios"},
	{"scenarios/expect", "scenarios/library", "scenarios/random", "scenarios/schema"},
	{"scenarios/simulate", "scenarios/refresh"},
	{"scenarios/draft", "scenarios/verdict", "bounds"},
	{"scenarios/whatif"},
	{"incident"},
	{"measure"},
	{"check"},
	{"check/render", "check/witness", "measure/render", "rollout"},
	{"rollout/render"},
	{"check/html", "check/compare", "check/tune", "rollout/html"},
	{"check/compare/html", "check/tune/html", "incident/verdict"},
	{"incident/scenario", "incident/verdict/render"},
	{"probetest"},
	{"explore/coverage", "explore/invariants", "explore/shrink"},
	{"explore"},
	{"internal/runner"},
	{"cmd", "ginkgokit", "internal/repotest", "."},
}

// leaves lists packages that may import only the packages listed here, besides the standard
// library.
var leaves = map[string][]string{
	"sim": {module + "/sim/choose", module + "/sim/limit", module + "/sim/virtual",
		module + "/internal/queue"},
	"sim/choose":     nil,
	"sim/limit":      {module + "/sim/virtual"},
	"sim/virtual":    nil,
	"internal/queue": {module + "/sim/virtual"},
	"apiserver/store": {
		"k8s.io/api/apps/v1", "k8s.io/api/core/v1", "k8s.io/api/discovery/v1", "k8s.io/apimachinery/pkg/api/equality",
		"k8s.io/apimachinery/pkg/api/errors",
		"k8s.io/apimachinery/pkg/apis/meta/v1", "k8s.io/apimachinery/pkg/runtime", "k8s.io/apimachinery/pkg/types",
	},
	"trace":        {module + "/sim/virtual", module + "/internal/printable"},
	"kube/profile": {"k8s.io/apimachinery/pkg/util/version"},
	"kube/podutil": {"k8s.io/api/core/v1"},
	"fakeruntime":  {module + "/sim/virtual", module + "/trace"},

	"kube/kubeletconfig": nil,
}

// libraries lists the modules that this module may use. Only tests may use testLibraries.
var (
	libraries = []string{
		"k8s.io/api", "k8s.io/apimachinery", "k8s.io/client-go", "k8s.io/utils", "github.com/rogpeppe/go-internal/diff",
		"github.com/spf13/cobra", "github.com/spf13/pflag",
		"go.yaml.in/yaml/v3", "go.yaml.in/yaml/v4", "sigs.k8s.io/json", "github.com/robfig/cron/v3",
		"github.com/onsi/ginkgo/v2", "github.com/onsi/gomega", "github.com/google/go-cmp",
	}
	testLibraries = []string{
		"github.com/cockroachdb/datadriven", "pgregory.net/rapid", "github.com/rogpeppe/go-internal",
		"github.com/santhosh-tekuri/jsonschema/v6", "sigs.k8s.io/yaml",
	}
)

// layerOf returns the layer of the longest entry that contains a package, or -1 if there is none.
func layerOf(pkg string) int {
	layer, longest := -1, -1
	for i, entries := range layers {
		for _, e := range entries {
			if under(pkg, e) && len(e) > longest {
				layer, longest = i, len(e)
			}
		}
	}
	return layer
}

func TestArrowsGoOneWay(t *testing.T) {
	for _, s := range sources(t) {
		layer := layerOf(s.dir)
		if layer < 0 {
			t.Errorf("%s: package %s is in no layer; add it to layers in arrows_test.go", s.name, s.dir)
		}
		for name, spec := range s.imports() {
			pkg, ours := strings.CutPrefix(name, module+"/")
			switch {
			case !ours || s.test || under(pkg, s.dir):
			case layerOf(pkg) >= layer:
				t.Errorf("%s: %s must not import %s, which is not in a lower layer; move the shared code down, or "+
					"declare the interface that %s needs there",
					s.at(spec), s.dir, pkg, s.dir)
			}
		}
	}
}

func TestLeavesStayLeaves(t *testing.T) {
	for _, s := range sources(t) {
		allowed, leaf := leaves[s.dir]
		if !leaf || s.test {
			continue
		}
		for name, spec := range s.imports() {
			ours := strings.HasPrefix(name, module+"/"+s.dir+"/internal/")
			if strings.Contains(name, ".") && !ours && !slices.Contains(allowed, name) {
				t.Errorf("%s: %s is a leaf and must not import %s; move the code that needs it to the package above",
					s.at(spec), s.dir, name)
			}
		}
	}
}

func TestLibraries(t *testing.T) {
	for _, s := range sources(t) {
		for name, spec := range s.imports() {
			in := func(list []string) bool {
				return slices.ContainsFunc(list, func(l string) bool { return under(name, l) })
			}
			switch {
			case !strings.Contains(strings.Split(name, "/")[0], ".") || under(name, module) || in(libraries):
			case !in(testLibraries):
				t.Errorf("%s: %s is not a library of this module; avoid it, or add it to libraries in arrows_test.go",
					s.at(spec), name)
			case !s.test:
				t.Errorf("%s: only tests may use %s", s.at(spec), name)
			}
		}
	}
}

// TestMainModuleDoesNotNeedTheKubelet checks that only the nested modules below conformance depend
// on the kubelet itself.
func TestMainModuleDoesNotNeedTheKubelet(t *testing.T) {
	if regexp.MustCompile(`(?m)^\s*(require\s+)?k8s\.io/kubernetes\s`).MatchString(read(t, "go.mod")) {
		t.Error("go.mod requires k8s.io/kubernetes; only the modules below conformance may; move the code that needs " +
			"it there and run go mod tidy")
	}
}
