package main

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var shots = flag.String("shots", "", "directory for screenshots of the pages in the browser tests")

const ofLibrary = "../../scenarios/library/"

// page runs the command with -o html and returns the address of the page.
func page(t *testing.T, code int, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if got := execute(t.Context(), append([]string{"run", "-o", "html"}, args...), &out, &errs); got != code {
		t.Fatalf("exit code %d, want %d: %s", got, code, errs.String())
	}
	return written(t, out.String())
}

// clean checks that a page had no errors and loaded nothing.
func (b *browser) clean() {
	b.t.Helper()
	b.settle()
	for i, e := range b.errors {
		if i == 3 {
			b.t.Errorf("and %d more errors", len(b.errors)-i)
			break
		}
		b.t.Errorf("the page has an error: %.600s", e)
	}
	for _, url := range b.requests[1:] {
		if !strings.HasPrefix(url, "data:") {
			b.t.Errorf("the page loaded %s", url)
		}
	}
}

func (b *browser) shot(name, selector string) {
	if *shots != "" {
		b.screenshot(filepath.Join(*shots, name+".png"), selector)
	}
}

// run is the page of a quickstart run whose third liveness probe in a row fails at 45.020 s.
func run(t *testing.T) *browser {
	b := openBrowser(t, 1280, 900)
	b.open(page(t, 0, ofLibrary+"quickstart/exec-liveness.yaml", "--run", "^exec-liveness$"))
	return b
}

// fits checks that the page is not wider than the screen.
func (b *browser) fits() {
	b.t.Helper()
	var wide bool
	if b.eval(`document.documentElement.scrollWidth > innerWidth`, &wide); wide {
		b.t.Error("the page is wider than the screen")
	}
}

func (b *browser) want(selector, text string) {
	b.t.Helper()
	if got := b.text(selector); !strings.Contains(got, text) {
		b.t.Errorf("%s contains %q, want %q", selector, got, text)
	}
}

// ticks returns the labels of the axis.
func (b *browser) ticks() string {
	b.t.Helper()
	var labels string
	b.eval(`[...document.querySelectorAll('section:not([hidden]) svg.axis .tick')].map((e) => e.textContent).join(' ')`,
		&labels)
	return labels
}

func (b *browser) wantTicks(labels string) {
	b.t.Helper()
	if got := b.ticks(); got != labels {
		b.t.Errorf("the axis has %q, want %q", got, labels)
	}
}

const whole = "0s 15s 30s 45s 60s 75s 90s 105s 120s 135s 150s"

// markAt returns a selector of the mark at a time.
func markAt(glyph, at string) string { return ".m-" + glyph + "[aria-label^='" + at + "s ']" }

func TestPageShowsTheRun(t *testing.T) {
	b := run(t)
	b.wantTicks(whole)
	for selector, n := range map[string]int{".m-failure": 6, ".m-success": 13, ".m-exit": 2, ".m-stop": 2,
		".b-running": 3, ".b-stopping": 2, "svg .podname": 1} {
		if got := b.count(".plot " + selector); got != n {
			t.Errorf("%d of %s, want %d", got, selector, n)
		}
	}
	b.want("main", "documented: the third failure in a row stops")
	b.want("main", "120.020s (x6 over 1m25s)")
	b.shot("light", "")
	b.scheme("dark")
	b.shot("dark", "")
	b.clean()
}

func TestPageHover(t *testing.T) {
	onlyLong(t)
	b := run(t)
	b.hover(markAt("failure", "45.020"))
	b.want(".tip", "45.020s liveness probe: failure")
	b.want(".tip", "No such file or directory")
	b.want(".tip", "started at 45.000s, took 20ms")
	b.hover(markAt("stop", "45.027"))
	b.want(".tip", "stop signal: LivenessProbe")
	b.want(".tip", "caused by liveness probe: failure")
	b.shot("hover", "")
	b.hover(".b-stopping")
	b.want(".tip", "45.027s – 75.027s, 30s")
	b.hover(".m-flip")
	b.want(".tip", "Ready is true")
	b.mouse("mouseMoved", 2, 2, nil)
	if got := b.text(".tip"); got != "" {
		t.Errorf("the details did not close: %q", got)
	}
	b.clean()
}

func TestPageGoesToTheCause(t *testing.T) {
	b := run(t)
	b.click(markAt("exit", "75.027"))
	b.want(".details", "container exited with 137")
	b.want(".details .causes li:nth-child(1)", "stop signal: LivenessProbe")
	b.want(".details .causes li:nth-child(2)", "liveness probe: failure")
	if n := b.count(".selection .chain"); n != 2 {
		t.Errorf("%d lines to causes, want 2", n)
	}
	b.shot("chain", "")
	b.click(".details .causes li:nth-child(2) .jump")
	b.want(".details > p", "45.020s liveness probe: failure")
	b.want(".details .effects", "stop signal: LivenessProbe")
	b.wantSelected(markAt("failure", "45.020"))

	// The chart scrolls to a cause that is not visible. Rows of tables lead to marks too.
	b.click("button[aria-label='Zoom in']")
	b.click("button[aria-label='Zoom in']")
	b.click("button[aria-label='Zoom in']")
	b.click("tr:last-child .jump")
	b.wantSelected(markAt("start", "150.116"))
	b.clean()
}

// wantSelected checks the position of the ring around the selected mark.
func (b *browser) wantSelected(mark string) {
	b.t.Helper()
	var off float64
	expression := `(() => { const c = (e) => { const r = document.querySelector(e).getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; };
		const a = c("circle.selected"), b = c("` + mark + ` .hit"); return Math.hypot(a[0] - b[0], a[1] - b[1]); })()`
	if b.eval(expression, &off); off > 2 {
		b.t.Errorf("the ring is %f pixels off %s", off, mark)
	}
}

func TestPageZooms(t *testing.T) {
	onlyLong(t)
	b := run(t)
	x, y := b.place("figure svg.lanes")
	b.mouse("mouseWheel", x, y, map[string]any{"deltaX": 0, "deltaY": 100})
	b.wantTicks(whole) // the wheel scrolls the page
	x, y = b.place("figure svg.lanes")
	b.mouse("mouseWheel", x, y, map[string]any{"deltaX": 0, "deltaY": -240, "modifiers": 2})
	if b.ticks() == whole {
		t.Error("the wheel with Ctrl does not zoom")
	}
	zoomed := b.ticks()
	b.mouse("mousePressed", x, y, map[string]any{"button": "left", "buttons": 1, "clickCount": 1})
	b.mouse("mouseMoved", x+300, y, map[string]any{"button": "left", "buttons": 1})
	b.mouse("mouseReleased", x+300, y, map[string]any{"button": "left", "clickCount": 1})
	if b.ticks() == zoomed {
		t.Error("dragging moves nothing")
	}
	b.click("button[aria-label='Show the whole run']")
	b.wantTicks(whole)
	b.click("button[aria-label='Zoom in']")
	b.wantTicks("50s 60s 70s 80s 90s 100s 110s 120s")
	b.click("button[aria-label='Later']")
	b.wantTicks("90s 100s 110s 120s 130s 140s 150s 160s")
	b.clean()
}

func TestPageKeys(t *testing.T) {
	onlyLong(t)
	b := run(t)
	b.eval(`document.querySelector('.plot').focus()`, nil)
	b.key("ArrowRight", 0)
	b.want(".tip", "Ready is true")
	b.key("ArrowDown", 0)
	b.key("ArrowRight", 0)
	b.want(".tip", "stop signal")
	b.key("c", 0)
	b.want(".details > p", "45.020s liveness probe: failure")
	b.key("ArrowLeft", 0)
	b.want(".tip", "40.020s liveness probe: failure")
	b.key("Enter", 0)
	b.want(".details > p", "40.020s")
	b.key("Escape", 0)
	if got := b.text(".details"); got != "" {
		t.Errorf("after Escape: %q", got)
	}
	b.key("+", 0)
	if b.ticks() == whole {
		t.Error("+ does not zoom")
	}
	b.key("ArrowRight", 8)
	b.key("0", 0)
	b.wantTicks(whole)
	b.clean()
}

// TestPageOfLibrary checks that the page of the library has no errors, loads nothing and shows the
// timelines. Outside CI, it checks only a part of the library, because the whole page has 7 MB.
func TestPageOfLibrary(t *testing.T) {
	onlyLong(t)
	part, least := ofLibrary+"lifecycle", 20
	if os.Getenv("CI") != "" {
		part, least = ofLibrary, 150
	}
	b := openBrowser(t, 1280, 900)
	b.open(page(t, 0, part))
	if runs := b.count("section[id^=r]"); runs < least {
		t.Fatalf("the page of the library has %d runs", runs)
	}
	var blank []string
	b.eval(`(async () => { const blank = []; for (const s of document.querySelectorAll('section[id^=r]')) {
		location.hash = '#' + s.id; await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
		if (s.hidden || !s.querySelector('svg.lanes .m')) blank.push(s.querySelector('h2').textContent);
	} return blank; })()`, &blank)
	if len(blank) > 0 {
		t.Errorf("without a timeline: %q", blank)
	}
	b.clean()
}

// TestPageOfHostileFile checks that names and messages in a file cannot run scripts in the page.
func TestPageOfHostileFile(t *testing.T) {
	evil := `</script><img src=x onerror=\"document.title='owned'\"><svg onload=alert(1)>`
	file := filepath.Join(t.TempDir(), "evil.yaml")
	text := `apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - {name: app, image: "w", livenessProbe: {exec: {command: [x]}}}
---
apiVersion: probesim.dev/v1alpha1
kind: Scenario
metadata: {name: evil}
spec:
  duration: 40s
  description: "` + evil + `"
  pods: [{name: web, containers: [{name: app, answers: [{name: evil, code: 1, body: "` + evil +
		`"}], behavior: [{liveness: evil}]}]}]
  expect:
  - {name: "` + evil + `", never: .., record: {kind: ContainerStopping}}
`
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	b := openBrowser(t, 1280, 900)
	b.open(page(t, 1, file))
	b.want("main", "onerror=")
	b.hover(".m-failure")
	b.want(".tip", "onerror=")
	b.click(".plot .m-exit")
	b.want(".details", "onerror=")
	var title string
	if b.eval(`document.title`, &title); strings.Contains(title, "owned") || b.count("img") > 0 {
		t.Errorf("the page ran a script of the file: %q", title)
	}
	b.clean()
}

// TestPagePrints checks that the page prints, and looks the same afterwards.
func TestPagePrints(t *testing.T) {
	onlyLong(t)
	b := run(t)
	var pdf struct{ Data []byte }
	b.call("Page.printToPDF", map[string]any{"preferCSSPageSize": true}, &pdf)
	if !bytes.HasPrefix(pdf.Data, []byte("%PDF-")) || len(pdf.Data) < 20_000 {
		t.Errorf("the printed page has %d bytes", len(pdf.Data))
	}
	b.settle()
	b.wantTicks(whole)
	b.clean()
}

// many is a scenario whose 40 runs differ, with three replicas and an init container.
const many = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      initContainers:
      - {name: migrate, image: w}
      containers:
      - {name: app, image: w, readinessProbe: {exec: {command: [ready]}, periodSeconds: 2}, livenessProbe: {exec: {command: [live]}, periodSeconds: 5}}
---
apiVersion: probesim.dev/v1alpha1
kind: Scenario
metadata: {name: many}
spec:
  duration: 4m
  seeds: 1..40
  pods:
  - name: web
    containers:
    - name: migrate
      behavior: [{after: 1s, exit: 0}]
    - name: app
      behavior:
      - {for: 10s..60s, readiness: fail}
      - {after: 60s..400s, exit: 1}
  expect:
  - {pod: web-0, first: ..60s, becomes: {ready: true}}
  - {pod: web-1, always: 90s..95s, status: {ready: true}}
`

// manyRuns writes the scenario many to a file whose name is wider than a narrow page.
func manyRuns(t *testing.T) string {
	file := filepath.Join(t.TempDir(), strings.Repeat("many", 30)+".yaml")
	if err := os.WriteFile(file, []byte(many), 0o666); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestPageOfManyRuns checks the summary of many runs, and the list of runs, which starts with the
// worst and can be sorted.
func TestPageOfManyRuns(t *testing.T) {
	onlyLong(t)
	b := openBrowser(t, 1280, 900)
	b.open(page(t, 1, manyRuns(t)))
	b.want("nav details", "web (3 pods")
	b.want("nav > .warn", "timelines of 10 of 40 runs")
	if sections, bars := b.count("section[id^=r]"), b.count("rect.k-span"); sections != 10 || bars < 20 {
		t.Errorf("%d sections and %d bars of histograms", sections, bars)
	}
	column := func(n int) []string {
		var list []string
		b.eval(fmt.Sprintf(`[...document.querySelectorAll('nav > .scroll tbody tr')].map((r) => r.cells[%d].textContent)`, n),
			&list)
		return list
	}
	if outcomes := column(0); len(outcomes) != 40 || !slices.IsSortedFunc(outcomes, func(a, b string) int {
		return cmp.Compare(a, b)
	}) || outcomes[0] != "FAILED" {
		t.Errorf("the list does not start with the failed runs: %q", outcomes)
	}
	b.shot("many", "")
	b.click("nav > .scroll th:nth-child(7) button")
	ready := column(6)
	least := slices.Index(ready, slices.MinFunc(ready,
		func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) }))
	if first := ready[0]; least != len(ready)-1 && ready[least] != ready[len(ready)-1] || first < ready[len(ready)-1] {
		t.Errorf("sorted by the time to Ready: %q", ready)
	}
	b.click("nav > .scroll th:nth-child(7) button")
	slices.Reverse(ready)
	if got := column(6); !slices.Equal(got, ready) {
		t.Errorf("sorted the other way: %q, want %q", got, ready)
	}
	for _, width := range []int{500, 1280} {
		b.resize(width, 900)
		b.settle()
		b.shot(fmt.Sprintf("many-%d", width), "")
		b.eval(`document.querySelector('section[id^=r]:not([hidden])').scrollIntoView()`, nil)
		b.shot(fmt.Sprintf("many-%d-run", width), "")
		b.eval(`document.querySelector('section[id^=r]:not([hidden]) details').scrollIntoView()`, nil)
		b.shot(fmt.Sprintf("many-%d-story", width), "")
		var wide int
		if b.eval(`document.documentElement.scrollWidth`, &wide); wide > width {
			t.Errorf("at %d pixels, the page is %d wide", width, wide)
		}
	}
	b.clean()
}
