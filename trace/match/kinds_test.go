package match

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"probesim.dev/trace"
)

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

var code = regexp.MustCompile("`([^`]+)`")

// tokens returns the words of a text between backquotes.
func tokens(text string) []string {
	var list []string
	for _, m := range code.FindAllStringSubmatch(text, -1) {
		list = append(list, m[1])
	}
	return list
}

// fieldsIn returns the tokens that are fields of records, sorted.
func fieldsIn(text string) []string {
	list := slices.DeleteFunc(tokens(text), func(name string) bool { return find(recordFields, name) == nil })
	slices.Sort(list)
	return slices.Compact(list)
}

// TestTraceTables compares the tables of docs/trace.md and of the README of package trace with the
// table of kinds: subjects, fields, and the possible values of fields that have few.
func TestTraceTables(t *testing.T) {
	seen := map[trace.Kind]bool{}
	for line := range strings.Lines(read(t, "../../docs/trace.md") + read(t, "../README.md")) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 6 || kindOf(trace.Kind(slices.Concat(tokens(cells[1]), []string{""})[0])) == nil {
			continue
		}
		for _, name := range tokens(cells[1]) {
			k := kindOf(trace.Kind(name))
			seen[k.Kind] = true
			if subjects := subjectsOf(k); strings.TrimSpace(cells[2]) != subjects {
				t.Errorf("%s is about %s, not %s", name, subjects, cells[2])
			}
			if k.Kind == trace.StatusPatched { // has the fields of a status, which records cannot match
				continue
			}
			want := slices.Sorted(slices.Values(k.Fields))
			if got := fieldsIn(cells[4]); !slices.Equal(got, want) {
				t.Errorf("%s has the fields %v, not %v", name, want, got)
			}
			if k.Kind == trace.CRICall || k.Kind == trace.Step || k.Kind == trace.ProbeSkipped {
				continue // the page gives examples
			}
			for _, field := range k.Fields {
				for _, word := range k.words(field) {
					if word != "" && !slices.Contains(tokens(cells[4]), word) && !isProbe(k, field) {
						t.Errorf("%s lacks the %s %s", name, field, word)
					}
				}
			}
		}
	}
	for _, k := range table {
		if !seen[k.Kind] {
			t.Errorf("docs/trace.md and trace/README.md lack %s", k.Kind)
		}
	}
}

// isProbe reports whether a field is the probe of an internal record. The page lists the types of
// probes once.
func isProbe(k *Kind, field string) bool { return field == "probe" && !k.Kind.Observable() }

func subjectsOf(k *Kind) string {
	var list []string
	for _, about := range []About{Container, Pod, Node} {
		if slices.ContainsFunc(k.Shapes, func(s Shape) bool { return s.About == about }) {
			list = append(list, string(about))
		}
	}
	return strings.Join(list, ", ")
}

// TestPodEventsOfThePage checks the list of events about pods in docs/trace.md.
func TestPodEventsOfThePage(t *testing.T) {
	var want []string
	for _, s := range kindOf(trace.Event).Shapes {
		if s.About == Pod {
			want = append(want, s.Words["reason"]...)
		}
	}
	slices.Sort(want)
	page := read(t, "../../docs/trace.md")
	text, _, _ := strings.Cut(page, " are about the pod |")
	text = text[strings.LastIndex(text, "`message`.")+len("`message`."):]
	if got := tokens(text); !slices.Equal(got, want) {
		t.Errorf("the page lists %v as events about pods, want %v", got, want)
	}
}

// TestWordsOccurInTheSource checks that the code that writes records contains each reason of the
// table, so that no expectation about a reason holds only because nothing has it.
func TestWordsOccurInTheSource(t *testing.T) {
	var source strings.Builder
	for _, dir := range []string{"kubelet", "prober", "status", "fakeruntime", "internal/world/apiserver",
		"scenarios/format", "node", "trace", "trace/traffic", "internal/world/controller",
		"internal/world/controller/deployment", "internal/world/controller/replicaset",
		"internal/world/controller/endpointslice"} {
		files, err := filepath.Glob("../../" + dir + "/*.go")
		if err != nil || len(files) == 0 {
			t.Fatalf("no source in %s: %v", dir, err)
		}
		for _, file := range files {
			if !strings.HasSuffix(file, "_test.go") {
				source.WriteString(read(t, file))
			}
		}
	}
	words := slices.Concat(PodReasons, ContainerReasons)
	for _, k := range table {
		words = append(words, k.words("reason")...)
	}
	for _, word := range words {
		// A step has its reason from the tag of its field.
		if !strings.Contains(source.String(), `"`+word+`"`) && !strings.Contains(source.String(), `json:"`+word+`,`) {
			t.Errorf("nothing writes the reason %q", word)
		}
	}
}
