package html

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"probesim.dev/internal/answers/bounds"
	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/value"
)

// write returns the page of a report.
func write(t *testing.T, r *check.Report) string {
	t.Helper()
	var b strings.Builder
	if err := Write(&b, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func s(n float64) check.Seconds { return check.Seconds(n * float64(time.Second)) }

const none = check.Seconds(bounds.Never)

// sample is a report with every part that a page can have, in which all texts from manifests are
// text.
func sample(text string) *check.Report {
	app := check.Container{
		Name: text, Line: 7, Probes: []check.Probe{{Type: "startup", Text: text, Line: 9}},
		Limits: []check.Limit{
			{Row: check.Start, Text: "comes up if its start takes up to", Always: s(50), Never: s(60),
				Cases: []check.Range{
					{Case: "first start", Kubernetes: text, Least: s(50), Greatest: s(55)},
					{Case: "first start", Kubernetes: "v2", Least: s(50), Greatest: s(55)},
					{Case: "first start on a young kubelet", Kubernetes: text, Least: s(52), Greatest: s(60)},
				}, Formula: "10 x 5s " + text},
			{Row: check.Stall, Text: "survives a stall of up to", Always: none, Never: none},
		},
		Times: []check.Time{
			{Row: check.Detect, Text: "hung -> SIGTERM", Best: s(20), Mean: new(s(25)), Worst: s(30)},
			{Row: check.Recover, Text: "hung -> Ready again", Best: s(40), Worst: none},
		},
		StartShare: new(0.5),
		Sidecar:    text, Start: &value.Interval{Min: 45 * time.Second, Max: 70 * time.Second},
		Deleted:  &check.Deletion{SIGTERM: s(10), SIGKILL: s(40)},
		Restarts: []check.Seconds{0, s(60)},
		Findings: []check.Finding{
			{ID: check.StartKilled, Severity: check.Error, Message: text, Field: text, File: text, Line: 9, Column: 5,
				App: []string{text}},
			{ID: check.ExecTimeout, Severity: check.Note, Message: text, Field: text, File: text, Line: 10, Column: 5},
		},
	}
	other := check.Container{Name: "other", Limits: []check.Limit{{Row: check.Stall, Always: s(1), Never: s(2)}}}
	r := &check.Report{
		Kubernetes: []string{text, "v2"}, Delays: text,
		Start: &value.Interval{Min: 45 * time.Second, Max: 70 * time.Second},
		Workloads: []check.Workload{{
			Kind: text, Name: text, File: text, Line: 1, Problem: text, Containers: []check.Container{app, other},
			Requirements: []check.Verification{
				{Requirement: "start>=55s", Row: check.Start, Required: s(55), Containers: []string{text},
					Container: text, Value: new(s(50)), Case: text, Kubernetes: text, Margin: new(s(-5))},
				{Requirement: "detect<=45s", Row: check.Detect, Required: s(45), Met: true, Containers: []string{text},
					Container: text, Value: new(s(30)), Kubernetes: text, Margin: new(s(15))},
				{Requirement: "unready<=1s", Row: check.Unready, Required: s(1), Containers: []string{text},
					Missing: []string{"other"}, Reason: "container other has no readiness probe"},
			},
			NotSimulated: []string{text},
		}, {Kind: "Job", Name: "none", File: text, Line: 99, Containers: []check.Container{}, NoReadiness: true}},
	}
	r.Judge()
	return r
}

var tags, quoted = regexp.MustCompile(`<[a-zA-Z][^<>]*>`), regexp.MustCompile(`"[^"]*"`)

// TestHostileNames checks that names and messages cannot become markup or scripts, wherever the
// page shows them.
func TestHostileNames(t *testing.T) {
	plain := write(t, sample("name"))
	for _, evil := range []string{
		`</script><script>alert(1)</script>`, `<img src=x onerror=alert(1)>`, `"><svg onload=alert(1)>`,
		`' onmouseover='alert(1)`,
		`]]>--><!--<script>alert(1)`, `{{.}}`, "\u2028\u2029\x00\x1b[31m\xff", `javascript:alert(1)`, "`${alert(1)}`",
		`&lt;script&gt;alert(1)`,
	} {
		page := write(t, sample(evil))
		for _, tag := range []string{"<script", "</script", "<img", "<svg", "<!--"} {
			if got, want := strings.Count(page, tag), strings.Count(plain, tag); got != want {
				t.Errorf("%q: %d of %s in the page, %d without it", evil, got, tag, want)
			}
		}
		for _, tag := range tags.FindAllString(page, -1) {
			if bare := quoted.ReplaceAllString(tag, ""); strings.Contains(bare, " on") || strings.Contains(bare, "'") {
				t.Errorf("%q: %s", evil, tag)
			}
		}
		if strings.ContainsAny(page, "\x00\x1b\u2028") {
			t.Errorf("%q: the page has control characters", evil)
		}
	}
}

// TestNothingIsLoaded checks that the page is self-contained. Its policy forbids downloads, and
// style attributes too, which the page therefore does not have.
func TestNothingIsLoaded(t *testing.T) {
	page := write(t, sample("name"))
	for _, bad := range []string{`src="http`, `href="http`, "@import", "url(http", "fetch(", "XMLHttpRequest",
		"import(", " style="} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %s", bad)
		}
	}
	if !strings.Contains(page, `content="default-src &#39;none&#39;;`) {
		t.Error("the page has no policy against downloads")
	}
}

// TestSamePage checks that equal reports give equal pages, and that a report read from JSON, which
// has no runs, is equal.
func TestSamePage(t *testing.T) {
	text, err := json.Marshal(sample("name"))
	if err != nil {
		t.Fatal(err)
	}
	var read check.Report
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	if write(t, sample("name")) != write(t, &read) {
		t.Error("the page of a report differs after a detour over JSON")
	}
}

// TestChart checks the positions of bars and marks, in percent of an axis that ends at 80 s.
func TestChart(t *testing.T) {
	r := sample("name")
	c := newChart(&r.Workloads[0], &r.Workloads[0].Containers[0])
	if first, last := c.Ticks[0], c.Ticks[len(c.Ticks)-1]; first.Label != "0s" || last.Label != "1m20s" ||
		last.At != 100 {
		t.Fatalf("the axis goes from %v to %v, want 0s to 1m20s", first, last)
	}
	for _, test := range []struct {
		row  row
		want string
	}{
		{c.Limits[0], "always 0+62.5 between 62.5+12.5 never 75+25 | broken 68.75 known 56.25 known 87.5"},
		{c.Limits[0].Cases[0], "always 0+62.5 between 62.5+6.25 never 68.75+31.25 |"},
		{c.Limits[0].Cases[1], "always 0+65 between 65+10 never 75+25 |"},
		{c.Limits[1], "always 0+100 |"},
		{c.Times[0], "span 25+12.5 | mean 31.25 required 56.25"},
		{c.Times[1], "span 50+50 |"},
		{c.Times[2], "span 12.5+37.5 |"},
	} {
		var parts []string
		for _, b := range test.row.Bars {
			parts = append(parts, fmt.Sprintf("%s %v+%v", b.Kind, b.From, b.Width))
		}
		parts = append(parts, "|")
		for _, m := range test.row.Marks {
			parts = append(parts, fmt.Sprintf("%s %v", m.Kind, m.At))
		}
		if got := strings.Join(parts, " "); got != test.want {
			t.Errorf("%s is\n%s, want\n%s", test.row.Text, got, test.want)
		}
	}
	if len(c.Legend) != len(legend) {
		t.Errorf("the legend is %v, want all of %v", c.Legend, legend)
	}
	// The legend of a container without a requirement and without times has only what it shows.
	if got := newChart(&check.Workload{}, &r.Workloads[0].Containers[1]).Legend; !slices.Equal(got, legend[:3]) {
		t.Errorf("the legend is %v, want %v", got, legend[:3])
	}
	var cells [][3]string
	for _, x := range slices.Concat(c.Limits, c.Times) {
		cells = append(cells, x.Cells)
	}
	want := [][3]string{
		{"50.0s", "50.0s – 1m00s", "1m00s"}, {"no limit", "", ""}, {"20.0s", "25.0s", "30.0s"}, {"40.0s", "", "never"},
		{"10.0s", "", "40.0s"},
	}
	if !slices.Equal(cells, want) {
		t.Errorf("the numbers are %q, want %q", cells, want)
	}
}

// TestAxis checks that every axis has few ticks, ends after its largest value, and begins at 0.
func TestAxis(t *testing.T) {
	w := &check.Workload{}
	for _, length := range []float64{0.001, 0.5, 1, 2.9, 7, 9.99, 60, 61.1, 333, 3600, 40_000, 3e6, 9e9} {
		c := &check.Container{Limits: []check.Limit{{Always: 0, Never: s(min(length, math.MaxInt64/4e9))}}}
		a := newAxis(w, c)
		ticks := a.ticks()
		if len(ticks) < 2 || len(ticks) > maxTicks+2 || ticks[0].At != 0 || ticks[len(ticks)-1].At != 100 ||
			a.end <= c.Limits[0].Never {
			t.Errorf("%v: the axis is %v", length, ticks)
		}
	}
}

// TestParts checks the parts of the page besides the picture.
func TestParts(t *testing.T) {
	page := write(t, sample("name"))
	for _, want := range []string{
		"<h1>Probe settings: 1 error, 1 note, 2 of 3 requirements not met, 1 workload not checked</h1>",
		"<span>starts take 45s to 1m10s</span>",
		"<summary>2 cases</summary>",
		`<th scope="row">first start (name, v2)`,
		"<dd>0s 1m", "<dd>50%",
		"start&gt;=55s: 50.0s in container name, name (name) <span class=\"margin\">5.0s short of it</span>",
		`<span class="margin">margin 15.0s</span>`,
		"unready&lt;=1s: container other has no readiness probe",
		"<code>probesim run name --app name</code>",
		`<pre class="broken">not checked: name</pre>`,
		"No container has probes.",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %q", want)
		}
	}
	// The page begins with the verdict, and formulas and runs are closed.
	begin, _, _ := strings.Cut(page, "<main>")
	for _, want := range []string{
		`<p class="verdict">1 workload has no readiness probe: its pods are Ready as soon as they run. none</p>`,
		`<span class="badge failed">start&gt;=55s</span> name (50.0s)`,
		`<li><span class="badge sev-error">error</span> <b>name/name</b>: name <span class="where">name:9</span>`,
		`<span>2 workloads, `,
	} {
		if !strings.Contains(begin, want) {
			t.Errorf("the page does not begin with %q", want)
		}
	}
	if !strings.Contains(page, `<details class="formulas"><summary>Formulas</summary>`) ||
		strings.Contains(page, "<details open") {
		t.Error("the formulas are not closed")
	}
	if n := strings.Count(page, "Copy</button>"); n != 3 {
		t.Errorf("%d commands to copy, want 3", n)
	}
	// A requirement that is not met belongs to the container that decides.
	rows := strings.Split(page, "<tr><td>")
	if !strings.Contains(rows[1], "start&gt;=55s") || strings.Contains(rows[2], "start&gt;=55s") ||
		!strings.Contains(rows[2], "unready&lt;=1s") {
		t.Errorf("the list of containers is %q", rows[1:3])
	}
}

// TestNumberLinksToItsFormula checks that the number that decides links to its formula.
func TestNumberLinksToItsFormula(t *testing.T) {
	page := write(t, sample("name"))
	for _, want := range []string{
		`<a href="#c1r1" title="Show the formula">50.0s</a>`, `<details class="shown" id="c1r1">`, "10 x 5s",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %q", want)
		}
	}
}

// TestHeadings checks that workloads of one name in two files have different headings, and that
// others do without the file.
func TestHeadings(t *testing.T) {
	workload := func(file, name string) check.Workload {
		return check.Workload{Kind: "Pod", Name: name, File: file, Containers: []check.Container{{Name: "app"}},
			Requirements: []check.Verification{{}}}
	}
	page := write(t, &check.Report{Workloads: []check.Workload{workload("a.yaml", "web"), workload("b.yaml", "web"),
		workload("b.yaml", "job")}})
	for _, want := range []string{
		"<h2>Pod web of a.yaml, container app</h2>", "<h2>Pod web of b.yaml, container app</h2>",
		"<h2>Pod job, container app</h2>",
		"<h3>Requirements of Pod web of a.yaml</h3>", "<h3>Requirements of Pod web of b.yaml</h3>",
		"<h3>Requirements of Pod job</h3>",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}
