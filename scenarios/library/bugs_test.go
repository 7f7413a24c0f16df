package library

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"probesim.dev/scenarios"
)

// bugsPage is generated from the scenarios with the label bug and from bugs/rows.json.
const bugsPage = "bugs/README.md"

// row is a row of the page. Scenarios show the row, or the scenarios of the row As do, or Pending
// says why none can.
type row struct {
	ID       string `json:"row"`
	Title    string `json:"title"`
	Issue    string `json:"issue"` // URLs, with spaces between them
	Versions string `json:"versions"`
	As       string `json:"as"`
	Pending  string `json:"pending"`

	state     string // open, changed or held
	scenarios []*scenarios.Scenario
}

// states are the possible states of a row with scenarios, with the assertion of each.
var states = map[string]string{
	"open":    "v1.37 has this behavior",
	"changed": "the simulated versions differ, and the scenario asserts both sides",
	"held":    "all simulated versions have the newer side",
}

// TestBugsPage checks that bugs/README.md is up to date; -rewrite writes the page.
func TestBugsPage(t *testing.T) {
	page := writeBugs(bugRows(t))
	if rewrite := flag.Lookup("rewrite"); rewrite != nil && rewrite.Value.String() == "true" {
		if err := os.WriteFile(bugsPage, page, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(bugsPage); err != nil || !bytes.Equal(got, page) {
		t.Errorf("%s is not up to date (%v). Run: go test ./scenarios/library -rewrite", bugsPage, err)
	}
}

// TestBugRows checks that each row exists once, B1 to B72 with B13a and C1 to C31, and is complete.
func TestBugRows(t *testing.T) {
	rows, shown := bugRows(t), map[string]bool{}
	var got []string
	for _, r := range rows {
		got = append(got, r.ID)
		shown[r.ID] = r.scenarios != nil || r.Pending != ""
		if n := count(r.scenarios != nil, r.As != "", r.Pending != ""); n != 1 {
			t.Errorf("%s: needs exactly one of a scenario, another row, and a reason why it is pending; it has %d",
				r.ID, n)
		}
		if r.Title == "" || r.Issue == "" || r.Versions == "" || r.scenarios != nil && states[r.state] == "" {
			t.Errorf("%s: needs a title, an issue, versions, and a state if it runs: %+v", r.ID, r)
		}
		for _, link := range strings.Fields(r.Issue) {
			if !urlForm.MatchString(link) {
				t.Errorf("%s: %s is not an issue, pull request or file of Kubernetes", r.ID, link)
			}
		}
	}
	for _, r := range rows {
		if r.As != "" && !shown[r.As] {
			t.Errorf("%s: refers to the row %s, which no scenario shows", r.ID, r.As)
		}
	}
	if want := allRows(); !slices.Equal(got, want) {
		t.Errorf("the rows are\n%v\nand should be\n%v", got, want)
	}
}

// TestBugComments checks that each file in bugs has one row, and that its comment has the issue,
// the trigger, the observation, and the reason with a file and a version of Kubernetes.
func TestBugComments(t *testing.T) {
	rows := map[string]string{}
	for _, s := range load(t) {
		id := s.Metadata.Labels["bug"]
		if strings.HasPrefix(s.File, "bugs/") && id == "" || rows[s.File] != "" && rows[s.File] != id {
			t.Errorf("%s:%d: the label bug is %q; the previous scenario of the file has %q", s.File, s.Line, id,
				rows[s.File])
		}
		if rows[s.File] = id; !strings.HasPrefix(s.File, "bugs/") {
			continue
		}
		if !strings.HasPrefix(s.File, "bugs/"+fileOf(id)+"-") {
			t.Errorf("%s: the name of a file with the row %s begins with %s-", s.File, id, fileOf(id))
		}
		if text := comment(t, s.File); !commentForm.MatchString(text) {
			t.Errorf("%s: the comment lacks an issue, Trigger, Observed or Reason:\n%s", s.File, text)
		}
	}
}

var (
	urlForm = regexp.MustCompile(`^https://github\.com/kubernetes/[a-z]+/(?:(?:issues|pull)/(\d+)` +
		`|blob/v[\d.]+/(pkg/\S+))$`)
	commentForm = regexp.MustCompile(`(?s)^[BC]\d+a?: .*\. https://github\.com/kubernetes/\S+ Trigger: .*\. ` +
		`Observed: .*\. Reason: .*pkg/.*\bv1\.3\d\.\d.*\.$`)
)

func count(conditions ...bool) int {
	return len(slices.DeleteFunc(conditions, func(c bool) bool { return !c }))
}

func allRows() []string {
	var ids []string
	for _, part := range []struct {
		letter string
		last   int
	}{{"B", 75}, {"C", 31}} {
		for i := range part.last {
			ids = append(ids, fmt.Sprint(part.letter, i+1))
			if ids[len(ids)-1] == "B13" {
				ids = append(ids, "B13a")
			}
		}
	}
	return ids
}

// fileOf returns the prefix of the files of a row: b07 for B7, b13a for B13a.
func fileOf(id string) string {
	letter, digits := id[:1], id[1:]
	if len(strings.TrimRight(digits, "a")) == 1 {
		digits = "0" + digits
	}
	return strings.ToLower(letter) + digits
}

// comment returns the comment at the top of a file, with single spaces.
func comment(t *testing.T, file string) string {
	t.Helper()
	data, err := FS.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for line := range strings.Lines(string(data)) {
		if !strings.HasPrefix(line, "#") {
			break
		}
		words = append(words, strings.Fields(line[1:])...)
	}
	return strings.Join(words, " ")
}

// bugRows returns all rows in order, from rows.json and from the scenarios.
func bugRows(t *testing.T) []row {
	t.Helper()
	var rows []row
	data, err := FS.ReadFile("bugs/rows.json")
	if err == nil {
		decoder := json.NewDecoder(bytes.NewReader(data))
		decoder.DisallowUnknownFields()
		err = decoder.Decode(&rows)
	}
	if err != nil {
		t.Fatalf("bugs/rows.json: %v", err)
	}
	for _, s := range load(t) {
		if id := s.Metadata.Labels["bug"]; id != "" {
			rows = addScenario(t, rows, id, s)
		}
	}
	order := allRows()
	slices.SortStableFunc(rows, func(a, b row) int { return slices.Index(order, a.ID) - slices.Index(order, b.ID) })
	return rows
}

// addScenario adds a scenario to its row. The first scenario of a row creates the row.
func addScenario(t *testing.T, rows []row, id string, s *scenarios.Scenario) []row {
	t.Helper()
	r := row{ID: id, Issue: strings.Join(strings.Fields(s.Metadata.Annotations["issue"]), " "),
		Versions: s.Metadata.Annotations["versions"], state: s.Metadata.Labels["state"]}
	if title, ok := strings.CutPrefix(comment(t, s.File), id+": "); ok {
		r.Title, _, _ = strings.Cut(title, ". http")
	}
	for i := range rows {
		same := &rows[i]
		if same.ID != id || same.scenarios == nil {
			continue
		}
		if same.Title != r.Title || same.Issue != r.Issue || same.Versions != r.Versions || same.state != r.state ||
			same.scenarios[0].File != s.File {
			t.Errorf("%s:%d: disagrees about %s with %s", s.File, s.Line, id, same.scenarios[0].File)
		}
		same.scenarios = append(same.scenarios, s)
		return rows
	}
	r.scenarios = []*scenarios.Scenario{s}
	return append(rows, r)
}
