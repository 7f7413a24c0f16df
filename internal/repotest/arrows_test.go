package repotest

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// layers lists the packages, lowest first. A package imports packages of lower layers and its own
// subpackages, and nothing else of this module. An entry also covers the packages below it without
// their own entry.
var layers = [][]string{
	{"docs", "sim/virtual", "internal/lists", "internal/printable", "internal/input", "internal/githubrunner",
		"internal/long", "internal/runner/cleanup"},
	{"internal/queue", "internal/strict", "internal/show/document", "sim/choose", "sim/limit",
		"trace", "kube", "internal/podutil"},
	{"sim", "internal/show/findings", "internal/value", "internal/inplace", "internal/world/apiserver/admission"},
	{"internal/require", "internal/gomegacall"},
	{"internal/world/apiserver/store"},
	{"trace/match", "trace/traffic", "status", "fakeruntime", "prober/results"},
	{"internal/world/apiserver"},
	{"internal/show/history", "internal/show/summary"},
	{"internal/show"},
	{"internal/show/report"},
	{"internal/show/html", "internal/show/perfetto", "prober", "internal/world/controller"},
	{"prober/preview138"},
	{"kubelet", "internal/world/controller/deployment", "internal/world/controller/replicaset",
		"internal/world/controller/endpointslice", "internal/world/router"},
	{"node"},
	{"scenarios/format"},
	{"internal/scenarios/program"},
	{"internal/scenarios/manifests"},
	{"scenarios/plan"},
	{"internal/scenarios/validation", "internal/scenarios/drive", "internal/scenarios/text"},
	{"scenarios"},
	{"internal/runner/play/manifest"},
	{"internal/runner/play/player"},
	{"internal/scenarios/expect", "internal/scenarios/schema", "scenarios/library", "internal/proof/random"},
	{"internal/scenarios/simulate"},
	{"internal/scenarios", "internal/answers/bounds"},
	{"internal/scenarios/whatif"},
	{"internal/scenarios/draft"},
	{"internal/answers/incident", "internal/workloads"},
	{"internal/answers/measure", "internal/answers/rollout"},
	{"internal/answers/measure/render", "internal/answers/rollout/render"},
	{"internal/answers/check"},
	{"internal/answers/check/render"},
	{"internal/answers/compare", "internal/answers/tune", "internal/answers/incident/verdict"},
	{"internal/answers/incident/scenario", "internal/answers/incident/verdict/render"},
	{"internal/answers/invariants", "internal/answers/shrink"},
	{"probetest"},
	{"explore", "internal/proof"},
	{"internal/runner"},
	{"internal/runner/play"},
	{"internal/proof/soak"},
	{"cmd", "ginkgokit", "internal/repotest", "."},
}

// public lists the packages that users import. The root holds them, and no other packages but the
// command.
var public = []string{
	"explore", "fakeruntime", "ginkgokit", "kube/kubeletconfig", "kube/profile", "kubelet", "node", "prober",
	"prober/preview138", "prober/results", "probetest", "scenarios", "scenarios/format", "scenarios/library",
	"scenarios/plan", "sim", "sim/choose", "sim/limit", "sim/virtual", "status", "trace", "trace/match",
	"trace/traffic",
}

func TestPublicPackages(t *testing.T) {
	found := map[string]bool{}
	for _, s := range sources(t) {
		if s.dir != "." && s.dir != "docs" && !under(s.dir, "cmd") && !strings.Contains("/"+s.dir+"/", "/internal/") {
			found[s.dir] = true
		}
	}
	if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, public) {
		t.Errorf("users can import the packages\n%s\nwant\n%s\nMove a new package below internal, or add it to "+
			"public and to docs/api.md", strings.Join(got, "\n"), strings.Join(public, "\n"))
	}
}

// TestProofsStandApart checks that only proofs, tests and the conformance modules import what
// serves proofs.
func TestProofsStandApart(t *testing.T) {
	for _, s := range sources(t) {
		for name, spec := range s.imports() {
			if under(name, module+"/internal/proof") && !s.test && !under(s.dir, "internal/proof") {
				t.Errorf("%s: %s serves proofs, and %s must not import it", s.at(spec), name, s.dir)
			}
		}
	}
}

// TestOnlyPlayReachesClusters checks that clients of an API server stay out of the packages that
// users import, and of what a build for the browser needs.
func TestOnlyPlayReachesClusters(t *testing.T) {
	for _, s := range sources(t) {
		for name, spec := range s.imports() {
			client := under(name, "k8s.io/client-go") && !under(name, "k8s.io/client-go/util/flowcontrol")
			if client && s.dir != "internal/runner/play" || under(name, module+"/internal/runner/play") &&
				!under(s.dir, "internal/runner/play") && s.dir != "cmd/probesim" {
				t.Errorf("%s: %s must not import %s, which reaches a cluster; only the command play may", s.at(spec),
					s.dir, name)
			}
		}
	}
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
	"internal/world/apiserver/store": {
		"k8s.io/api/apps/v1", "k8s.io/api/core/v1", "k8s.io/api/discovery/v1", "k8s.io/apimachinery/pkg/api/equality",
		"k8s.io/apimachinery/pkg/api/errors",
		"k8s.io/apimachinery/pkg/apis/meta/v1", "k8s.io/apimachinery/pkg/runtime", "k8s.io/apimachinery/pkg/types",
	},
	"trace":            {module + "/sim/virtual", module + "/internal/lists", module + "/internal/printable"},
	"kube/profile":     {"k8s.io/apimachinery/pkg/util/version"},
	"internal/podutil": {"k8s.io/api/core/v1", "k8s.io/apimachinery/pkg/util/intstr"},
	"fakeruntime":      {module + "/sim/virtual", module + "/trace"},

	"kube/kubeletconfig": nil,
}

// libraries lists the modules that this module may use. Only tests may use testLibraries.
var (
	libraries = []string{
		"k8s.io/api", "k8s.io/apimachinery", "k8s.io/client-go", "k8s.io/utils", "github.com/rogpeppe/go-internal/diff",
		"github.com/spf13/cobra", "github.com/spf13/pflag",
		"go.yaml.in/yaml/v4", "sigs.k8s.io/json", "golang.org/x/term", "golang.org/x/text",
		"github.com/distribution/reference",
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
