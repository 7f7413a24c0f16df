package probetest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/onsi/gomega"
	v1 "k8s.io/api/core/v1"
)

// TestRuleIsDocumented checks that go doc shows the fields of Rule: the type is a struct, and not
// another name for one of another package.
func TestRuleIsDocumented(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "pod.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	rule, ok := file.Scope.Lookup("Rule").Decl.(*ast.TypeSpec).Type.(*ast.StructType)
	if !ok || len(rule.Fields.List) < 15 {
		t.Error("go doc probetest.Rule shows no fields")
	}
}

// TestHiddenRules checks which rules are said to never apply.
func TestHiddenRules(t *testing.T) {
	for name, test := range map[string]struct {
		rules []Rule
		want  string // the rule that never applies; empty: all can
	}{
		"always ok":        {[]Rule{{For: "40s", Probes: "down"}, {Probes: "ok in 1s"}}, `{for: 40s, probes: down}`},
		"for ever":         {[]Rule{{Readiness: "1"}, {At: "0s", Readiness: "2"}}, "{readiness: 1}"},
		"one probe of two": {[]Rule{{For: "40s", Probes: "down"}, {Readiness: "ok"}}, ""},
		"later":            {[]Rule{{Probes: "1"}, {After: "1s", Probes: "2"}}, ""},
		"from earlier on": {[]Rule{{After: "5s", Probes: "1"}, {After: "1s..5s", Probes: "2"}},
			"{after: 5s, probes: 1}"},
		"perhaps later":    {[]Rule{{After: "5s", Probes: "1"}, {After: "1s..6s", Probes: "2"}}, ""},
		"a longer window":  {[]Rule{{For: "5s", Probes: "1"}, {For: "6s", Probes: "2"}}, "{for: 5s, probes: 1}"},
		"a shorter window": {[]Rule{{For: "6s", Probes: "1"}, {For: "5s", Probes: "2"}}, ""},
		"another clock":    {[]Rule{{At: "5s", Probes: "1"}, {After: "5s", Probes: "2"}}, ""},
		"another instance": {[]Rule{{Probes: "1"}, {Instance: "0", Probes: "2"}}, ""},
		"the same instance": {[]Rule{{Instance: "0", Probes: "1"}, {Instance: "0..1", Probes: "2"}},
			"{instance: 0, probes: 1}"},
		"by chance":           {[]Rule{{Probes: "1"}, {Chance: "50%", Probes: "2"}}, ""},
		"again and again":     {[]Rule{{Probes: "1"}, {For: "1s", Every: "2s", Probes: "2"}}, ""},
		"an exit":             {[]Rule{{After: "9s", Exit: "1"}, {Probes: "2"}}, ""},
		"each by another one": {[]Rule{{Probes: "1"}, {Liveness: "ok"}, {Readiness: "ok"}}, ""},
	} {
		n := NewNode(newFakeT(t), NodeOptions{})
		app := v1.Container{Name: "app", Image: "a", ReadinessProbe: probe(), LivenessProbe: probe()}
		p := n.AddPod(pod("web", app), Behavior{"app": test.rules})
		n.Advance(time.Second)
		_, said, _ := strings.Cut(n.String(), "Note: web/app: the rule ")
		if got, _, _ := strings.Cut(said, " never applies: the later rule "); got != test.want {
			t.Errorf("%s: %q never applies, want %q\n%s", name, got, test.want, n)
		}
		m := HaveRestarted()
		m.Match(p)
		if got := m.FailureMessage(p); strings.Contains(got, "never applies") != (test.want != "") {
			t.Errorf("%s: the message is\n%s", name, got)
		}
	}
}

// TestSlowHandler checks that a handler is named which takes longer than its probe waits. In a
// bubble its sleep takes no real time.
func TestSlowHandler(t *testing.T) {
	for took, said := range map[time.Duration]bool{0: false, 900 * time.Millisecond: false, 2 * time.Second: true} {
		synctest.Test(t, func(t *testing.T) {
			p, failures := handled(t, NodeOptions{}, func(http.ResponseWriter, *http.Request) { time.Sleep(took) })
			m := HaveRestarted()
			m.Match(p)
			text := "Note: the handler of the container web/app took longer for its liveness probe than the " +
				"timeout of 1s"
			if got := m.FailureMessage(p); strings.Contains(got, text) != said || len(failures) > 0 {
				t.Errorf("%s: %q\n%s", took, failures, got)
			}
			gomega.NewWithT(t).Expect(slices.Compact(slices.Sorted(slices.Values(p.log.notes)))).To(
				gomega.HaveLen(len(p.log.notes)))
		})
	}
}
