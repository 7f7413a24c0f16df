package verdict_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"probesim.dev/internal/answers/incident"
	"probesim.dev/internal/answers/incident/verdict"
	"probesim.dev/internal/input"
)

// answer is the right answer for a text, which a person who knows the kubelet concluded from the
// text alone.
type answer struct {
	Files          []string
	Source         string // the public thread
	Pod, Container string
	Cause          verdict.Cause
	Or             causes // further causes that the text leaves open
	Sure           verdict.Sure
	Because        string
	Known          string // why the verdict is known to be wrong
	Class          string
	Must           []string
	MustNot        []string `yaml:"mustNot"`
}

type causes []verdict.Cause

func (c *causes) UnmarshalYAML(n *yaml.Node) error {
	var list []verdict.Cause
	if n.Kind == yaml.ScalarNode {
		list = []verdict.Cause{verdict.Cause(n.Value)}
	} else if err := n.Decode(&list); err != nil {
		return err
	}
	*c = list
	return nil
}

func answers(t *testing.T, file string) (list []answer) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err == nil {
		err = yaml.Unmarshal(data, &list)
	}
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// texts reads the files of an answer, each changed by a function.
func (a answer) texts(t *testing.T, dir string, change func(string) string) (list []input.File) {
	t.Helper()
	for _, name := range a.Files {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, input.File{Name: filepath.Base(name), Data: []byte(change(string(data)))})
	}
	return list
}

// grade is how good a verdict is.
type grade string

const (
	right grade = "right"
	open  grade = "open"  // the causes that are left contain the right one, or none is named
	wrong grade = "wrong" // likely and wrong
	worst grade = "certain and wrong"
)

// of grades the verdict on the main trouble, the first one.
func (a answer) grade(r *verdict.Report) (grade, string) {
	v := verdict.Verdict{Cause: verdict.Nothing, Sure: verdict.Open}
	if len(r.Verdicts) > 0 {
		v = *a.main(r)
	}
	possible := append(causes{a.Cause}, a.Or...)
	says := fmt.Sprintf("%s %s %v in %q: %s", v.Sure, v.Cause, v.Or, v.Container, v.Sentence)
	named := slices.ContainsFunc(append([]verdict.Cause{v.Cause}, v.Or...),
		func(c verdict.Cause) bool { return slices.Contains(possible, c) })
	where := a.Container == "" || v.Container == a.Container || v.Container == "" && len(r.Verdicts) == 1
	switch {
	case a.Cause == verdict.NoFacts && v.Cause == verdict.NoFacts:
		return right, says
	case a.Sure == verdict.Open && named && v.Sure == verdict.Open,
		slices.Contains(possible, v.Cause) && where && v.Sure != verdict.Open && (a.Sure != verdict.Open ||
			v.Sure == verdict.Likely):
		return right, says
	case v.Sure == verdict.Open:
		return open, says
	case v.Sure == verdict.Certain:
		return worst, says
	}
	return wrong, says
}

// main returns the verdict on the container of the answer, or else the first.
func (a answer) main(r *verdict.Report) *verdict.Verdict {
	for i, v := range r.Verdicts {
		if a.Container != "" && v.Container == a.Container && (a.Pod == "" || v.Pod.Name == a.Pod) {
			return &r.Verdicts[i]
		}
	}
	return &r.Verdicts[0]
}

// words returns all that a verdict says.
func (a answer) words(r *verdict.Report) string {
	v := a.main(r)
	parts := append([]string{v.Sentence, v.Because}, v.Details...)
	parts = append(parts, v.Advice...)
	if v.Question != nil {
		parts = append(parts, v.Question.Asks, v.Question.Command)
	}
	return strings.Join(parts, " ")
}

var (
	headers = regexp.MustCompile(`(?m)^(> ?)?\s*(NAMESPACE|NAME|LAST ?SEEN|FIRST ?SEEN|Type\s+Reason|FirstSeen|----` +
		`|Events:|Containers:).*\n`)
	spaces = regexp.MustCompile(`[ \t]+`)
)

// variants are the forms in which each text is read. The last two are those of texts that lost
// their layout on the way.
var variants = []struct {
	name   string
	change func(string) string
}{
	{"as it is", func(s string) string { return s }},
	{"without its header", func(s string) string { return headers.ReplaceAllString(s, "") }},
	{"with its spaces collapsed", func(s string) string { return spaces.ReplaceAllString(s, " ") }},
}

// layout reports whether the layout of a file matters: YAML needs its indentation.
func layout(a answer) bool {
	return slices.ContainsFunc(a.Files, func(f string) bool { return strings.HasSuffix(f, ".yaml") })
}

// TestTexts holds the verdicts on texts that people posted, and on recordings of clusters, against
// the right answers.
func TestTexts(t *testing.T) {
	dir, table := "../testdata", "testdata/answers.yaml"
	if other := os.Getenv("PROBESIM_TEXTS"); other != "" { // a folder with texts and their answers.yaml, to score them
		dir, table = other, filepath.Join(other, "answers.yaml")
	}
	for _, variant := range variants {
		count := map[grade]int{}
		for _, a := range answers(t, table) {
			if variant.name != "as it is" && layout(a) {
				continue
			}
			r := verdict.Of(incident.Read(a.texts(t, dir, variant.change)))
			g, says := a.grade(r)
			count[g]++
			said := strings.ToLower(a.words(r))
			for _, w := range a.Must {
				if g == right && !strings.Contains(said, strings.ToLower(w)) {
					t.Errorf("%s, %s: it does not say %q: %s", a.Files[0], variant.name, w, said)
				}
			}
			for _, w := range a.MustNot {
				if strings.Contains(said, strings.ToLower(w)) {
					t.Errorf("%s, %s: it says %q: %s", a.Files[0], variant.name, w, said)
				}
			}
			says = fmt.Sprintf("%s: %s, %s: want %s %s %v in %q, got %s", g, a.Files[0], variant.name, a.Sure, a.Cause,
				a.Or, a.Container, says)
			switch {
			case g == wrong && a.Known == "", g == worst:
				t.Error(says)
			case g != right:
				t.Log(says, a.Known)
			}
		}
		all := count[right] + count[open] + count[wrong] + count[worst]
		t.Logf("%s: %d texts, %v", variant.name, all, count)
		if count[right]*100 < all*90 {
			t.Errorf("%s: only %d of %d verdicts are right", variant.name, count[right], all)
		}
	}
}
