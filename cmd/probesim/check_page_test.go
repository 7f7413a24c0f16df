package main

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// checked writes a manifest, and returns the address of its page.
func checked(t *testing.T, code int, manifest string, args ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "web.yaml")
	if err := os.WriteFile(file, []byte(manifest), 0o666); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	if got := execute(t.Context(), append([]string{"check", file, "-o", "html", "--delays", "default"}, args...), &out,
		&errs); got != code {
		t.Fatalf("exit code %d, want %d: %s", got, code, errs.String())
	}
	return written(t, out.String())
}

const checkedPod = `apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  terminationGracePeriodSeconds: 3
  containers:
  - name: app
    image: web:1
    livenessProbe: {exec: {command: [check]}, periodSeconds: 2, failureThreshold: 2}
    readinessProbe: {httpGet: {port: 80}, periodSeconds: 1, failureThreshold: 1}
`

// TestCheckPage checks the page of check on wide and narrow screens, in light and dark.
func TestCheckPage(t *testing.T) {
	b := openBrowser(t, 1280, 900)
	b.open(checked(t, 1, checkedPod, "--require", "stall>=1s, detect<=1s"))
	b.want("h1", "1 of 2 requirements not met")
	b.want("main", "has the default timeout of 1s")
	b.want("main", "detect<=1s: ")
	b.bars()
	b.click("details summary")
	if text := b.text("details"); !strings.Contains(text, "on a young kubelet") {
		t.Errorf("the cases are %q", text)
	}
	b.shot("check-light", "body")
	b.scheme("dark")
	b.shot("check-dark", "body")
	b.resize(500, 900)
	b.bars()
	b.shot("check-narrow", "body")
	b.clean()
}

// bars checks that the page fits the screen, and that each bar ends where its number is on the
// axis.
func (b *browser) bars() {
	b.t.Helper()
	b.settle()
	b.fits()
	var rows []struct {
		Always, Right, Zero, Tick, Seconds float64
		Name                               string
	}
	b.eval(`(() => {
		const ticks = [...document.querySelector('svg.axis').querySelectorAll('.tick')].map((e) => e.textContent);
		return [...document.querySelector('table').tBodies[0].rows].filter((tr) => tr.querySelector('.k-always')).map((tr) => {
			const box = tr.querySelector('.k-always').getBoundingClientRect();
			const second = tr.querySelectorAll('.grid')[1].getBoundingClientRect();
			return {Name: tr.querySelector('th').textContent, Always: parseFloat(tr.cells[2].textContent), Zero: box.left, Right: box.right, Tick: second.left, Seconds: parseFloat(ticks[1])};
		});
	})()`, &rows)
	var starts []float64 // of the bars of limits, in rows and in their cases
	b.eval(`[...document.querySelectorAll('td .k-always')].filter((e) => e.checkVisibility()).map((e) => `+
		`e.getBoundingClientRect().left)`, &starts)
	for _, x := range starts {
		if math.Abs(x-starts[0]) > 1 {
			b.t.Errorf("the bars begin at different places: %v", starts)
			break
		}
	}
	if len(rows) < 4 {
		b.t.Errorf("the page has %d limits", len(rows))
	}
	for _, r := range rows {
		// The number is rounded down to a tenth of a second, and a pixel is at most a twentieth
		// here.
		if got := (r.Right - r.Zero) / (r.Tick - r.Zero) * r.Seconds; got < r.Always-0.05 || got > r.Always+0.15 {
			b.t.Errorf("%s: the bar ends at %.2fs, the number is %.2fs", r.Name, got, r.Always)
		}
	}
}

// TestCheckPageOfTwoFiles checks that workloads of one name in two files have different headings,
// on narrow screens too.
func TestCheckPageOfTwoFiles(t *testing.T) {
	onlyLong(t)
	var files []string
	for _, name := range []string{"staging", "production"} {
		file := filepath.Join(t.TempDir(), name+".yaml")
		if err := os.WriteFile(file, []byte(checkedPod), 0o666); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	var out, errs bytes.Buffer
	if got := execute(t.Context(), append([]string{"check", "-o", "html", "--delays", "default"}, files...), &out,
		&errs); got != 0 {
		t.Fatalf("exit code %d: %s", got, errs.String())
	}
	b := openBrowser(t, 1280, 900)
	b.open(written(t, out.String()))
	for i, file := range files {
		b.want(fmt.Sprintf("#s%d h2", i+1), "Pod web of "+file+", container app")
	}
	b.fits()
	b.shot("check-files", "#s2")
	b.resize(400, 900)
	b.fits()
	b.shot("check-files-narrow", "#s2")
	b.clean()
}

func TestCheckPageCopies(t *testing.T) {
	onlyLong(t)
	b := openBrowser(t, 1280, 900)
	b.open(checked(t, 0, strings.ReplaceAll(checkedPod, "web",
		"a-long-name-as-of-a-workload-in-a-chart-so-that-the-command-fills-more-than-a-line")))
	var height int
	if b.eval(`document.querySelector('.command button').offsetHeight`, &height); height > 24 {
		t.Errorf("a button with one word is %d pixels high", height)
	}
	b.click(".command button")
	b.eval(`new Promise((done) => setTimeout(done, 0))`, nil)
	if text := b.text(".command button"); text != "Copied" && text != "Selected" {
		t.Errorf("the button says %q", text)
	}
	var selected string
	if b.eval(`getSelection().toString()`, &selected); !strings.HasPrefix(selected, "probesim ") {
		t.Errorf("the selection is %q", selected)
	}
	b.clean()
}

// TestCheckPageOfHostileFile checks that names in a manifest cannot run scripts in the page.
func TestCheckPageOfHostileFile(t *testing.T) {
	onlyLong(t)
	evil := `</script><img src=x onerror=\"document.title='owned'\"><svg onload=alert(1)>`
	b := openBrowser(t, 1280, 900)
	b.open(checked(t, 0, fmt.Sprintf(`apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - {name: app, image: w, livenessProbe: {exec: {command: ["%s"]}, periodSeconds: 1}}
`, evil)))
	b.want("main", "onerror=")
	var title string
	if b.eval(`document.title`, &title); strings.Contains(title, "owned") || b.count("img") > 0 {
		t.Errorf("the page ran a script of the file: %q", title)
	}
	b.clean()
}

// TestTunePage checks the changes, and the check before and after.
func TestTunePage(t *testing.T) {
	b := openBrowser(t, 1280, 900)
	file := filepath.Join(t.TempDir(), "web.yaml")
	if err := os.WriteFile(file, []byte(checkedPod), 0o666); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	if got := execute(t.Context(),
		[]string{"tune", file, "-o", "html", "--delays", "default", "--require", "stall>=4s"}, &out, &errs); got != 0 {
		t.Fatalf("exit code %d: %s", got, errs.String())
	}
	b.open(written(t, out.String()))
	b.want("h2", "Pod web, container app")
	b.want("p.good", "livenessProbe.failureThreshold")
	b.want("table", "survives a stall of up to")
	b.shot("tune", "body")
	for _, width := range []int{500, 400} {
		b.resize(width, 900)
		b.fits()
	}
	b.clean()
}

// openComparison opens the page that compares the checked pod with a changed manifest, and returns
// the files of both.
func openComparison(t *testing.T, name, changed string) (b *browser, before, after string) {
	t.Helper()
	b = openBrowser(t, 1280, 900)
	dir := t.TempDir()
	before, after = filepath.Join(dir, "before.yaml"), filepath.Join(dir, name)
	for file, text := range map[string]string{before: checkedPod, after: changed} {
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	var out, errs bytes.Buffer
	if got := execute(t.Context(), []string{"compare", before, after, "-o", "html", "--delays", "default"}, &out,
		&errs); got != 0 {
		t.Fatalf("exit code %d: %s", got, errs.String())
	}
	b.open(written(t, out.String()))
	return b, before, after
}

// TestComparePage checks the page of compare on wide and narrow screens.
func TestComparePage(t *testing.T) {
	slower := strings.Replace(checkedPod, "periodSeconds: 2, failureThreshold: 2",
		"periodSeconds: 4, failureThreshold: 2", 1)
	b, before, after := openComparison(t, "after.yaml", slower)
	b.want("h1", "worse")
	b.want("p.dim", "before: "+before+", after: "+after)
	b.want("pre.diff", "+ liveness")
	b.want("tr:has(td.good)", "comes up if its start takes up to")
	b.want("tr:has(td.bad)", "hung -> SIGTERM")
	var widths []float64
	b.eval(`[...document.querySelectorAll('tr:has(td.good) rect:not(.k-rest)')].slice(0, 2).map((e) => `+
		`e.getBoundingClientRect().width)`, &widths)
	if len(widths) != 2 || widths[0] < 10 || widths[1] <= widths[0] {
		t.Errorf("the bars before and after are %v wide", widths)
	}
	b.shot("compare", "body")
	for _, width := range []int{500, 400} {
		b.resize(width, 900)
		b.fits()
	}
	b.shot("compare-narrow", "body")
	b.clean()
}

// TestComparePageOfRenamedWorkload checks that the page says why it compares two workloads with
// different names, on narrow screens too.
func TestComparePageOfRenamedWorkload(t *testing.T) {
	onlyLong(t)
	long := strings.Repeat("long-name-", 6) + "end" // 63 characters, the most
	renamed := strings.NewReplacer("name: web", "name: "+long, "image: web:1", "image: registry.example.com/"+long+
		":1").Replace(checkedPod)
	b, _, _ := openComparison(t, long+".yaml", renamed)
	b.want("main", "only because neither manifest has another workload left")
	b.want("h2", "(compared with web)")
	b.fits()
	b.shot("compare-renamed", "body")
	b.resize(400, 900)
	b.fits()
	b.shot("compare-renamed-narrow", "body")
	b.clean()
}
