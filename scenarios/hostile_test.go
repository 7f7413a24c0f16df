package scenarios

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"probesim.dev/internal/long"
	"probesim.dev/internal/strict"
)

// maxAllocated bounds what a file may allocate while it is loaded. Most work allocates, so this
// bounds time as well, and is the same on every machine. The most expensive file that is known
// allocates about half of it.
const maxAllocated = 1400 << 20

// Each run draws the same examples, unless -rapid.seed is set.
var _ = flag.Set("rapid.seed", "1")

// loadHostile loads a file and fails if that is too expensive. A file that is loaded in full has no
// error.
func loadHostile(t interface {
	Helper()
	Fatalf(string, ...any)
}, text string) error {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := LoadBytes("s.yaml", []byte(text), func(string) ([]byte, error) { return nil, fs.ErrNotExist })
	runtime.ReadMemStats(&after)
	if allocated := after.TotalAlloc - before.TotalAlloc; allocated > maxAllocated {
		t.Fatalf("loading a file of %d KiB allocates %d MiB", len(text)>>10, allocated>>20)
	}
	var errs Errors
	if err != nil && !errors.As(err, &errs) {
		t.Fatalf("the error is not of type Errors: %v", err)
	}
	lines := 1 // of any line break that YAML 1.1 or 1.2 has
	for _, lineBreak := range []string{"\n", "\r", "\u0085", "\u2028", "\u2029"} {
		lines += strings.Count(text, lineBreak)
	}
	for _, e := range errs {
		if e.File != "s.yaml" || e.Line < 0 || e.Line > lines {
			t.Fatalf("the position of an error is not in the file: %v", e)
		}
	}
	return err
}

// repeat returns as many copies of a text as fit into a file after the texts around it.
func repeat(text string, around ...string) string {
	return strings.Repeat(text, (strict.MaxFileSize-len(strings.Join(around, "")))/len(text))
}

func number(format string, count int) string {
	var b strings.Builder
	for i := range count {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// scenarioList returns scenarios with these specs.
func scenarioList(count int, spec string) string {
	return "---\napiVersion: probesim.dev/v1alpha1\nkind: ScenarioList\nitems:\n" +
		strings.ReplaceAll(number("- {metadata: {name: s%d}, spec: SPEC}\n", count), "SPEC", spec)
}

// podWith returns a pod with more fields in its only container.
func podWith(fields string) string {
	return "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: app, image: w" + fields +
		"}]}\n"
}

// TestHostileFiles loads files that cost much more than their size: seconds to hours, or gigabytes,
// without a limit or an index. Each is loaded, or rejected with the error that names its limit. By
// default, some are smaller than a file can be.
func TestHostileFiles(t *testing.T) {
	size := func(largest int) int { return long.Sample(largest/14, largest) }
	tooMany := "the file has too many values: up to here there are more than 300000 separators"
	podList := "apiVersion: v1\nkind: PodList\nitems:\n" +
		number("- {metadata: {name: p%d}, spec: {containers: [{name: app, image: w, livenessProbe: {exec: {command: "+
			"[a]}}}]}}\n", 1000)
	replicas := "apiVersion: apps/v1\nkind: ReplicaSet\nmetadata: {name: web}\nspec: {replicas: 10000, selector: " +
		"{matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: app, image: x}]}}}\n"
	pods := "pods: [" + number("{name: p%d}, ", 1000) + "]"
	claims := "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: web}\nspec:\n  selector: {matchLabels: {a: " +
		"b}}\n  template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: x}], volumes: [" +
		number("{name: p%d, emptyDir: {}}, ", 20_000) + "]}}\n  volumeClaimTemplates:\n" +
		number("  - metadata: {name: p%d}\n", 20_000)
	for _, test := range []struct{ name, text, want string }{
		{"a chain of merges", "a0: &a0 {" + number("x%d: 1, ", 560) + "}\n" +
			chain("a%[2]d: &a%[2]d {<<: *a%[1]d}\n", 560),
			"mappings, lists and merges are nested more than 64 levels deep"},
		{"a tree of merges", "a0: &a0 {x: 1}\n" + chain("a%[2]d: &a%[2]d {<<: [*a%[1]d, *a%[1]d]}\n", 60),
			"with all aliases and merges expanded, the file has more than 300000 values"},
		{"merges of duplicate keys", "a: &a {" + strings.Repeat("x: 1, ", size(50_000)) + "}\nb: {<<: [" +
			strings.Repeat("*a, ", size(50_000)) + "]}\n", "this key is already set in line 1"},
		{"aliases of a cycle", "a: &a [" + strings.Repeat("*a, ", size(50_000)) + "]\nb: [" +
			strings.Repeat("*a, ", size(50_000)) + "]\n", "is inside the value that it stands for"},
		{"aliases of a long text", "x: &x " + strings.Repeat("a", 1<<20) + "\ny: [" + strings.Repeat("*x, ", 100_000) +
			"]\n", "with all aliases and merges expanded, the file has more than 8 MiB of text"},
		{"keys that are a long text", "x: &x " + strings.Repeat("a", 1<<20) + "\ny: {" +
			strings.Repeat("? *x : 1, ", 70_000) + "}\n",
			"with all aliases and merges expanded, the file has more than 8 MiB of text"},
		{"flow mappings", "[" + repeat("{},", "[]") + "]", tooMany},
		{"flow sequences in a UTF-16 file", "\xff\xfe" + repeat("[\x00]\x00,\x00", "xx"), tooMany},
		{"quoted texts", "[" + repeat(`"a" `, "[]") + "]", tooMany},
		{"anchors", "[" + repeat(`&a `, "[]") + "]", tooMany},
		{"dashes", repeat("- "), tooMany},
		{"comments", repeat("- a # x\n  # y\n"), tooMany},
		{"directives", number("%%TAG !a%d! x\n", 100_000) + "--- a\n", "the document has more than 100 directives"},
		{"a very small quantity", podWith(", resources: {limits: {cpu: 1e-999999999}}"),
			"must be a quantity of at most 64 characters with an exponent from -99 to 99"},
		{"a very small quantity in quotes", podWith(`, resources: {limits: {cpu: "1e-999999999"}}`),
			"must be a quantity of at most 64 characters with an exponent from -99 to 99"},
		{"a quantity in a patch", podYAML +
			scenarioList(1, `{pods: [{name: web, patch: {spec: {overhead: {cpu: "1e-999999999"}}}}]}`),
			"must be a quantity of at most 64 characters with an exponent from -99 to 99"},
		{"a long quantity", podWith(", resources: {limits: {cpu: '" + strings.Repeat("9", 1_000_000) + "Ei'}}"),
			"must be a quantity of at most 64 characters with an exponent from -99 to 99"},
		{"a long image", podWith("/" + strings.Repeat("a", 3_000_000)),
			"the Pod has more than 1.5 MiB of text, which etcd does not store"},
		{"claims", claims, "the StatefulSet has more than 20000 values"},
		{"pods in many scenarios", replicas + scenarioList(9_990, "{pods: [{name: web}]}"),
			"the scenarios of this file have more than 200000 pods in total"},
		{"a large patch", podYAML + scenarioList(1, "{pods: [{name: web, patch: {spec: {containers: ["+
			number("{name: c%d, image: x}, ", 40_000)+"]}}}]}"), "the patches of this file are too large"},
		{"a patch of a long list", podWith(", env: ["+number("{name: e%d}, ", 6000)+"]") +
			scenarioList(1, "{pods: [{name: web, patch: {spec: {containers: [{name: app, env: [{name: x}]}]}}}]}"),
			"the patches of this file are too large"},
		{"patches of a list", podWith(", env: ["+number("{name: e%d}, ", 400)+"]") +
			scenarioList(900, "{pods: [{name: web, patch: {spec: {containers: [{name: app, env: [{name: x}]}]}}}]}"),
			"the patches of this file are too large"},
		{"a patch of a list", podWith(", env: ["+number("{name: e%d}, ", 400)+"]") +
			scenarioList(40, "{pods: [{name: web, patch: {spec: {containers: [{name: app, env: [{name: x}]}]}}}]}"),
			""},
		{"feature gates", podYAML + scenarioList(1, "{kubelet: {config: {featureGates: {"+
			number("G%d: true, ", size(140_000))+"}}}, pods: [{name: web}]}"),
			"featureGates: has more than 1000 entries"},
		{"unknown feature gates and pods",
			podList + scenarioList(3, "{kubelet: {config: {featureGates: {"+number("G%d: true, ", 1000)+"}}}, "+pods+
				"}"), "is not a feature gate that can be set"},
		{"steps and expectations of many pods",
			podList + scenarioList(size(14), "{"+pods+", steps: ["+number("{at: 5s, delete: {pod: p%d}}, ", 1000)+
				"], expect: ["+number("{pod: p%d, never: .., becomes: {ready: true}}, ", 1000)+"]}"), ""},
		{"steps and records of many pods",
			podList + scenarioList(size(14), "{"+pods+", steps: ["+number("{at: 5s, evict: {pod: p%d}}, ", 1000)+
				"], expect: ["+number("{pod: p%d, never: .., record: {kind: Event, reason: Evicted}}, ", 1000)+"]}"),
			""},
		{"expectations of all containers",
			podList + scenarioList(size(21), "{"+pods+", expect: ["+
				strings.Repeat("{container: app, never: .., becomes: {ready: true}}, ", 1000)+"]}"), ""},
		{"expectations of all probes",
			podList + scenarioList(size(21), "{"+pods+", expect: ["+
				strings.Repeat("{never: .., record: {kind: ProbeExecuted, probe: readiness}}, ", 1000)+"]}"), ""},
		{"unknown pods", podList + scenarioList(size(60), "{pods: ["+strings.Repeat("{name: q}, ", 1000)+"]}"),
			`there is no workload "q" in this file`},
		{"unknown pods of steps", podList +
			scenarioList(size(14), "{"+pods+", steps: ["+number("{at: 5s, delete: {pod: q%d}}, ", 1000)+"]}"),
			`the scenario has no pod or workload "q0" (did you mean "p0"?)`},
		{"unknown containers", podYAML +
			scenarioList(1, "{pods: [{name: web, containers: ["+number("{name: c%d}, ", size(90_000))+"]}]}"),
			"has more than 1000 entries"},
		{"variants of long lists", podYAML +
			scenarioList(1, "{pods: [{name: web}], steps: ["+strings.Repeat("{at: 5s, delete: {}}, ", 1000)+
				"], variants: ["+number("{name: v%d}, ", 100)+"]}"),
			"with all variants written out, the scenarios of this file have more than 100000 values"},
		{"variants of many scenarios",
			podYAML + scenarioList(200, "{pods: [{name: web}], variants: ["+number("{name: v%d}, ", 50)+"]}"), ""},
		{"variants of many pods", podList + scenarioList(1, "{"+pods+", variants: ["+number("{name: v%d}, ", size(40))+
			"]}"), ""},
		{"wrong variants", podList + scenarioList(1, "{"+pods+", steps: ["+
			strings.Repeat("{at: 5s, delete: {pod: q}}, ", 300)+"], variants: ["+number("{name: v%d}, ", 100)+"]}"),
			`the scenario has no pod or workload "q"; there are p0, p1,`},
		{"variants with a large list",
			podYAML + scenarioList(1, "{pods: [{name: web}], variants: ["+number("{name: v%d}, ", 100)+
				"{name: last, steps: ["+strings.Repeat("{at: 5s, delete: {}}, ", size(40_000))+"]}]}"),
			"must have from 1 to 100 variants"},
		{"a variant with a large list",
			podYAML + scenarioList(1, "{pods: [{name: web}], variants: ["+number("{name: v%d}, ", 99)+
				"{name: last, steps: ["+strings.Repeat("{at: 5s, delete: {}}, ", size(15_000))+"]}]}"),
			"spec.variants[99].steps: has more than 1000 entries"},
		{"ranges of pods", podList + scenarioList(1, `{pods: [{name: "p{0..999}"}], steps: [`+
			strings.Repeat(`{at: 5s, delete: {pod: "p{0..499}"}}, `, 90)+"], expect: ["+
			strings.Repeat(`{pod: "p{500..999}", never: .., record: {kind: PodRemoved}}, `, 90)+"]}"), ""},
		{"rules that wait", podList + scenarioList(1, `{pods: [{name: "p{0..99}", containers: [{name: app, behavior: [`+
			strings.Repeat("{since: {becomes: {ready: true}}, exit: 1}, ", 20)+"]}]}]}"),
			"the rules of the scenario have more than 1000 times since or until"},
		{"many ranges of pods", podList +
			scenarioList(1, `{pods: [{name: "p{0..999}"}], expect: [`+
				strings.Repeat(`{pod: "p{0..999}", never: .., becomes: {ready: true}}, `, 1000)+"]}"),
			"the ranges of names in this file stand for more than 100000 names"},
		{"ranges of entries", podList +
			scenarioList(1, "{pods: ["+strings.Repeat(
				`{name: "p{0..999}", containers: [{name: "c{0..999}", behavior: [`+strings.Repeat("{exit: 1}, ", 10)+
					"]}]}, ", 50)+"]}"), "with all ranges and variants written out, the scenarios of this file have " +
			"more than 100000 values"},
		{"a range of containers", podYAML +
			scenarioList(1, `{pods: [{name: web, containers: [{name: "c{0..999}"}]}], expect: [`+
				strings.Repeat(`{container: "c{0..999}", never: .., becomes: {ready: true}}, `, 90)+"]}"),
			`has no container "c0"`},
		{"files", podYAML + scenarioList(1, "{pods: [{name: web, file: '"+strings.Repeat("../", 1_000_000)+"x'}]}"),
			"cannot be read: file does not exist"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := loadHostile(t, test.text)
			if test.want == "" && err != nil ||
				test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("the error is\n%.1000v\nwant\n%s", err, test.want)
			}
		})
	}
}

// chain formats the numbers 0, 1, then 1, 2, and so on.
func chain(format string, count int) string {
	var b strings.Builder
	for i := range count {
		fmt.Fprintf(&b, format, i, i+1)
	}
	return b.String()
}

// TestManyFiles uses manifests from files that are too large in total.
func TestManyFiles(t *testing.T) {
	large := podYAML + "# " + strings.Repeat("x", 3<<20)
	text := scenarioList(1, "{pods: ["+number("{name: web, file: f%d}, ", 6)+"]}")
	read := 0
	_, err := LoadBytes("s.yaml", []byte(text), func(string) ([]byte, error) { read++; return []byte(large), nil })
	if want := "have more than 16 MiB in total"; err == nil || !strings.Contains(err.Error(), want) || read > 6 {
		t.Errorf("%d files were read, and the error is %v", read, err)
	}
}

// TestRandomHostileFiles loads random files that repeat a few fragments very often, alone and
// inside each other.
func TestRandomHostileFiles(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { loadHostile(t, drawHostile(t)) })
}

// drawHostile draws a file of up to 4 MiB.
func drawHostile(t *rapid.T) string {
	before := rapid.SampledFrom([]string{"", podYAML, podYAML + "---\n", podYAML + scenarioHead,
		"a: &a [x, y]\nb: &b {x: 1, y: 2}\n", "apiVersion: v1\nkind: List\nitems:\n"}).Draw(t, "before")
	var unit strings.Builder
	for range rapid.IntRange(1, 4).Draw(t, "fragments") {
		unit.WriteString(rapid.SampledFrom([]string{
			"a", "- ", "a: ", "? ", ": ", ", ", "[", "]", "{", "}", "*a ", "*b ", "&a ", "&b ", "<<: ", "\n", " ", "#",
			"# x\n", `"`, "'", "|\n x\n", "!!str ", "%TAG ! x\n", "---\n", "...\n",
			"1e999999999", "0x", "\t", "\r", "\x00", "\u2028", "\xff", "{a: 1}, ", "[1], ", "- {name: web}\n",
			"- {at: 5s, delete: {}}\n", "- a: &a [*a]\n",
		}).Draw(t, "fragment"))
	}
	count := int(math.Pow(10, rapid.Float64Range(0, 6.6).Draw(t, "power of ten")))
	text := before + strings.Repeat(unit.String(), min(count, strict.MaxFileSize/unit.Len()))
	if rapid.Bool().Draw(t, "in brackets") {
		text = before + "[" + text[len(before):] + "]"
	}
	return text[:min(len(text), strict.MaxFileSize)]
}
