package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"probesim.dev/internal/long"
)

// site builds the playground and the docs into a directory, once. PROBESIM_WASM names a program of
// the playground that is built already.
var site = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "probesim-site-") // TestMain removes it
	if err != nil {
		return "", err
	}
	cmd := exec.Command("go", "run", "-C", "../../site", "./cmd/serve", "-o", dir, "-program",
		os.Getenv("PROBESIM_WASM"))
	if out, err := cmd.CombinedOutput(); err != nil {
		return dir, fmt.Errorf("%w\n%s", err, out)
	}
	return dir, nil
})

// siteBuilt is the directory of the site, once a test has built it.
var siteBuilt string

// playground returns the directory of the site, for the tests in a browser.
func playground(t *testing.T) string {
	t.Helper()
	if !long.Enabled() && os.Getenv("PROBESIM_WASM") == "" {
		t.Skip("builds the playground, which takes minutes: runs with PROBESIM_LONG=1")
	}
	var err error
	if siteBuilt, err = site(); err != nil {
		t.Fatal(err)
	}
	return siteBuilt
}

// openPlayground opens the playground of a server.
func openPlayground(t *testing.T) (*browser, *httptest.Server) {
	t.Helper()
	server := httptest.NewServer(http.FileServer(http.Dir(playground(t))))
	t.Cleanup(server.Close)
	b := openBrowser(t, 1280, 900)
	b.visit(server.URL + "/")
	return b, server
}

// visit loads a page. An address that differs only in the fragment loads it again.
func (b *browser) visit(url string) {
	b.t.Helper()
	b.call("Page.navigate", map[string]any{"url": "about:blank"}, nil)
	b.errors, b.requests = nil, nil
	b.call("Page.navigate", map[string]any{"url": url}, nil)
	b.wait(`document.readyState === 'complete' && location.href !== 'about:blank'`)
}

const (
	// framed is the document of the report in its frame.
	framed = `document.querySelector('#page iframe').contentDocument`
	// answered is true when the program has answered, and nothing waits.
	answered = `/^exit code/.test(document.getElementById('status').textContent) && document.getElementById('stop').disabled`
)

// TestFirstVisit measures how long the first visit waits for an answer on a line of 30 Mbit/s, from
// a server that compresses as GitHub Pages does, and then how long a slider waits for its answer.
func TestFirstVisit(t *testing.T) {
	onlyLong(t) // measures wall time, which other tests at the same time disturb
	dir := playground(t)
	b := openBrowser(t, 1280, 900)
	wasm, err := os.ReadFile(filepath.Join(dir, "probesim.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	var compressed bytes.Buffer
	w := gzip.NewWriter(&compressed)
	_, _ = w.Write(wasm) // to memory
	w.Close()
	files := http.FileServer(http.Dir(dir))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/probesim.wasm" {
			files.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/wasm")
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(compressed.Bytes()) // the page says if it breaks off
	}))
	defer server.Close()
	const bits = 30e6
	b.call("Network.emulateNetworkConditions", map[string]any{"offline": false, "latency": 20,
		"downloadThroughput": bits / 8, "uploadThroughput": bits / 8}, nil)
	began := time.Now()
	b.visit(server.URL + "/")
	b.wait(framed + `.body.textContent.includes('start-killed')`)
	took := time.Since(began)
	b.wait(answered)
	ready := time.Since(began)
	loads := 0
	for _, url := range b.requests {
		if strings.HasSuffix(url, "/probesim.wasm") {
			loads++
		}
	}
	if loads != 1 {
		t.Errorf("the page loads the program %d times", loads)
	}
	t.Logf("an answer after %s; the program has %d bytes, and answers after %s", took.Round(10*time.Millisecond),
		compressed.Len(), ready.Round(10*time.Millisecond))
	if took > 3500*time.Millisecond {
		t.Errorf("the first visit waits %s for its answer", took)
	}
	for example, tab := range map[int]string{0: "check", 3: "run", 4: "rollout"} {
		b.example(example)
		took := b.dragged()
		t.Logf("%s: a slider shows an answer after %.0f ms", tab, took)
		if took > 500 {
			t.Errorf("%s: a slider waits %.0f ms for an answer", tab, took)
		}
	}
}

// dragged moves the first slider six times, so slowly that a rollout begins to refine its answer,
// and returns the milliseconds of the fastest answer: others share this machine.
func (b *browser) dragged() (least float64) {
	b.t.Helper()
	for i := range 6 {
		b.eval(`new Promise(done => setTimeout(done, 900))`, nil)
		b.wait(`document.querySelectorAll('#page iframe').length === 1`)
		var took float64
		b.eval(`new Promise(done => { const input = document.querySelector('.sliders input'), last = document.querySelector(`+
			`'#page iframe'), began = performance.now(); input.value = Number(input.value) + 1; input.dispatchEvent(new Event(`+
			`'input')); const look = () => { const now = performance.now() - began; if (last.isConnected && now < 60e3) requestAnimationFrame(`+
			`look); else done(now); }; look(); })`, &took)
		if i == 0 || took < least {
			least = took
		}
	}
	return least
}

// example opens an example of the menu.
func (b *browser) example(number int) {
	b.t.Helper()
	b.eval(fmt.Sprintf(`(() => { document.getElementById('status').textContent = ''; const s = document.getElementById(`+
		`'examples'); s.value = %d; s.dispatchEvent(new Event('change')); })()`, number), nil)
}

// answer waits for the answer of the program, and returns it and its exit code.
func (b *browser) answer() (text string, code int) {
	b.t.Helper()
	b.wait(answered)
	var status string
	b.eval(`document.getElementById('status').textContent`, &status)
	b.eval(`document.getElementById('text').textContent`, &text)
	fmt.Sscanf(status, "exit code %d", &code)
	return text, code
}

// look selects a view, and waits for the answer.
func (b *browser) look(view string) {
	b.t.Helper()
	b.eval(`document.getElementById('status').textContent = ''`, nil)
	b.eval(fmt.Sprintf(`document.querySelector('[data-view=%s]').click()`, view), nil)
	b.wait(answered)
}

// pageState is what the playground shows, as its links have it.
type pageState struct {
	Tab   string     `json:"tab"`
	Args  string     `json:"args"`
	Files []pageFile `json:"files"`
}

type pageFile struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// show opens a state of the playground by its link.
func (b *browser) show(s pageState) {
	b.t.Helper()
	data, _ := json.Marshal(s) // texts
	b.eval(fmt.Sprintf(`(async () => { const {write} = await import('./link.js'), link = await write(%s); `+
		`document.getElementById('status').textContent = ''; location.hash = link; })()`, data), nil)
}

// fragment follows a link within the page.
func (b *browser) fragment(link string) {
	b.t.Helper()
	raw, _ := json.Marshal(link) // a text
	b.eval(`document.getElementById('status').textContent = ''`, nil)
	b.eval(`location.hash = `+string(raw), nil)
}

func oneFile(tab, args, name, text string) pageState {
	return pageState{Tab: tab, Args: args, Files: []pageFile{{Name: name, Text: text}}}
}

const healthy = `apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: app
    image: example.com/web:1
    livenessProbe: {httpGet: {path: /, port: 80}}
`

// TestPlayground opens the page once, and uses it as a person does.
func TestPlayground(t *testing.T) {
	b, server := openPlayground(t)
	t.Run("the first example explains why 6 x 5 s is not 30 s", func(t *testing.T) {
		b.wait(answered + ` && ` + framed + `.body.innerText.includes('that take 29s are killed')`)
		b.shot("first-page", "")
		b.look("text")
		if text, code := b.answer(); code != 1 || !strings.Contains(text, "of the starts that take 29s are killed") {
			t.Errorf("exit code %d\n%s", code, text)
		}
		b.shot("first", "")
		b.want("#note", "phase")
		b.eval(`document.querySelector('.sliders input').focus()`, nil)
		for range 4 {
			b.key("ArrowLeft", 0)
		}
		b.wait(`document.getElementById('args').value === 'pod.yaml --start 25s' && !document.getElementById('text').` +
			`textContent.includes('are killed')`)
		b.shot("slider", "")
	})
	t.Run("a slider changes the manifest", func(t *testing.T) {
		b.eval(`document.querySelector('[data-name$=failureThreshold] input').focus()`, nil)
		b.key("ArrowRight", 0)
		b.wait(answered + ` && document.getElementById('text').textContent.includes('30.0s  35.2s')`)
	})
	t.Run("examples", b.examples)
	t.Run("tabs by the keyboard", func(t *testing.T) {
		b.show(oneFile("check", "pod.yaml", "pod.yaml", healthy))
		b.answer()
		b.eval(`document.getElementById('tab-check').focus()`, nil)
		b.key("ArrowRight", 0)
		b.wait(answered + ` && document.getElementById('tab-run').ariaSelected === 'true' && document.getElementById('text').` +
			`textContent.includes('liveness')`)
	})
	t.Run("keyboard and screen reader", b.reachable)
	t.Run("the editor completes fields", b.completes)
	t.Run("links", b.links)
	t.Run("bad, huge and hostile input", b.inputs)
	t.Run("Stop", func(t *testing.T) {
		b.show(oneFile("check", "pod.yaml --kubernetes v1.33..", "pod.yaml",
			strings.ReplaceAll(strings.Repeat(healthy+"---\n", 300), "name: web", "generateName: web-")))
		b.wait(`document.getElementById('status').textContent === '' && !document.getElementById('stop').disabled`)
		b.eval(`document.getElementById('stop').click()`, nil)
		b.wait(`document.getElementById('status').textContent === 'Stopped.'`)
		b.show(oneFile("check", "pod.yaml", "pod.yaml", healthy))
		if text, code := b.answer(); code != 0 || !strings.Contains(text, "Pod web") {
			t.Errorf("after Stop: exit code %d\n%s", code, text)
		}
	})
	t.Run("360 px and dark", b.narrow)
	for _, url := range b.requests {
		if !slices.ContainsFunc([]string{server.URL + "/", "data:", "blob:"},
			func(ours string) bool { return strings.HasPrefix(url, ours) }) {
			t.Errorf("the page requests %s", url)
		}
	}
	noErrors := func() {
		t.Helper()
		if len(b.errors) > 0 {
			t.Errorf("errors of the page:\n%s", strings.Join(b.errors, "\n"))
		}
	}
	noErrors()
	t.Run("offline", func(t *testing.T) {
		b.wait(`navigator.serviceWorker.controller`)
		b.eval(`(async () => { while (!(await caches.match('probesim.wasm'))) await new Promise(done => setTimeout(done, 50)); `+
			`})()`, nil)
		server.Close()
		b.visit(server.URL + "/")
		b.wait(answered + ` && ` + framed + `.body.textContent.includes('start-killed')`)
		b.visit(server.URL + "/docs/check.html")
		b.eval(`(() => { const i = document.querySelector('.search input'); i.value = 'silence errors'; `+
			`i.dispatchEvent(new Event('input')); })()`, nil)
		b.wait(`document.querySelectorAll('#found a').length > 2`)
		var link string // that the build has written
		b.eval(`document.querySelector('a.try').href`, &link)
		b.visit(link)
		b.wait(answered + ` && document.getElementById('args').value.includes('orders.yaml')`)
	})
	noErrors()
}

// narrow shows an example of each tab on a small screen in the dark.
func (b *browser) narrow(t *testing.T) {
	b.scheme("dark")
	b.resize(360, 740)
	b.look("page")
	for i := range 6 {
		b.example(i)
		b.wait(answered)
		b.eval(`document.getElementById('page').scrollIntoView()`, nil)
		b.shot(fmt.Sprintf("narrow-dark-%d", i), "")
		b.fits()
		var wide int
		if b.eval(framed+`.scrollingElement.scrollWidth`, &wide); wide > 360 {
			t.Errorf("the answer to example %d is %d px wide", i, wide)
		}
		var paper, sheet string
		b.eval(`getComputedStyle(document.body).backgroundColor`, &paper)
		b.eval(`getComputedStyle(`+framed+`.body).backgroundColor`, &sheet)
		if paper != "rgb(22, 24, 28)" || sheet != "rgb(20, 23, 28)" {
			t.Errorf("the backgrounds are %s and %s", paper, sheet)
		}
	}
}

// examples opens each example of the menu, as text and as the page of its report.
func (b *browser) examples(t *testing.T) {
	b.wait(answered)
	b.look("text")
	want := []string{"start-killed", "start-killed", "liveness-exec", "Ready", "a rollout loses", "liveness"}
	for i, text := range want {
		b.example(i)
		b.wait(fmt.Sprintf(`document.getElementById('text').textContent.includes(%q)`, text))
		if i == 4 { // the other runs take a while: fewer are enough
			b.wait(`/\d runs? /.test(document.getElementById('text').textContent)`)
			b.eval(`(() => { const a = document.getElementById('args'); a.value += ' --runs 2'; a.dispatchEvent(new Event(`+
				`'input')); })()`, nil)
			b.wait(`document.getElementById('text').textContent.includes('2 runs ')`)
		}
		if got, code := b.answer(); code > 1 || !strings.Contains(got, text) {
			t.Errorf("example %d: exit code %d, and no %q in\n%s", i, code, text, got)
		}
		b.look("page")
		b.wait(fmt.Sprintf(framed+`.body.textContent.includes(%q)`, text))
		if i > 1 { // the script of the report has drawn its timeline
			b.wait(framed + `.querySelectorAll('figure.chart .lanes .m').length > 0`)
		}
		b.shot(fmt.Sprintf("example-%d", i), "")
		if i == 2 { // links of the report lead to its parts
			b.eval(framed+`.querySelector('a[href="#r2"]').click()`, nil)
			b.wait(framed + `.getElementById('r2').checkVisibility()`)
		}
		b.look("text")
	}
}

// reachable checks that the Tab key reaches all controls of the page, and that each has a name for
// screen readers.
func (b *browser) reachable(t *testing.T) {
	b.example(0)
	b.wait(answered)
	b.look("page")
	b.eval(`document.activeElement.blur(), scrollTo(0, 0)`, nil)
	var seen []string
	for range 60 {
		b.key("Tab", 0)
		var name string
		b.eval(`(() => { const e = document.activeElement; return e.id || e.dataset.view || e.className || e.tagName; })()`,
			&name)
		seen = append(seen, name)
	}
	for _, name := range []string{"skip", "tab-check", "examples", "slider-", "add", "editor", "args", "copy", "link",
		"page", "IFRAME"} {
		if !slices.ContainsFunc(seen, func(s string) bool { return strings.HasPrefix(s, name) }) {
			t.Errorf("the Tab key does not reach %s, but %q", name, seen)
		}
	}
	var tree struct {
		Nodes []struct {
			Ignored    bool
			Role, Name struct{ Value any }
			Backend    int `json:"backendDOMNodeId"`
		}
	}
	b.call("Accessibility.getFullAXTree", nil, &tree)
	named := 0
	for _, n := range tree.Nodes {
		control := slices.Contains([]any{"button", "slider", "textbox", "combobox", "tab", "link", "tabpanel", "Iframe",
			"progressbar", "group", "tablist"}, n.Role.Value)
		switch name, _ := n.Name.Value.(string); {
		case n.Ignored || !control:
		case name == "" && n.Role.Value != "group":
			t.Errorf("a %v has no name", n.Role.Value)
		case name != "":
			named++
		}
	}
	if named < 20 {
		t.Errorf("only %d controls have names", named)
	}
}

// completes writes the beginning of a field of a manifest, and then one of a scenario.
func (b *browser) completes(t *testing.T) {
	for text, want := range map[string]string{
		healthy + "    startupProbe:\n      failureT":                               "failureThreshold",
		"kind: Scenario\nspec:\n  pods:\n  - name: web\n    containers:\n    - beh": "behavior",
	} {
		b.show(oneFile("check", "pod.yaml", "pod.yaml", text))
		b.answer()
		const view = `document.getElementById('editor').shadowRoot`
		b.eval(view+`.querySelector('.cm-content').focus()`, nil)
		b.key("End", 2)
		b.call("Input.insertText", map[string]any{"text": text[len(text)-1:]}, nil)
		b.key("Backspace", 0)
		b.key(" ", 2)
		b.wait(view + `.querySelector('.cm-tooltip-autocomplete li')?.textContent === '` + want + `'`)
		b.shot("completion-"+want, "")
		// the editor takes no key for a list that has just come up
		b.eval(`new Promise(done => setTimeout(done, 200))`, nil)
		b.key("Enter", 0)
		b.wait(view + `.querySelector('.cm-content').textContent.includes('` + want + `:')`)
	}
}

// oldLink is a link of the first version. It must work for ever: people have pasted such links.
const oldLink = "#v=1&d=PY3NDoIwDIBfpdlZFBMPZi_glZMX8FBHlQXWNazxJ4R3d0DirV--r-1k1FgwriPXmx0YXEhiu_9iGKAokuKocCrTIh9Z1" +
	"vVfr734K43JR7bwOjbce24tVLFtOJBii4oWJsZAFt50nxtOQs42DOAiK3rO2ysWsFUosiCAD_jMTB8MMtDexXDIF-xxs4N_EVNK1" +
	"RjvuZo6VbmQ5klQOwuHHUgcM5_LOX81t9v8Aw"

// links opens links of this and of other versions.
func (b *browser) links(t *testing.T) {
	b.look("text")
	b.fragment(oldLink)
	if text, code := b.answer(); code != 1 || !strings.Contains(text, "starts that take 40s are killed") {
		t.Errorf("an old link: exit code %d\n%s", code, text)
	}
	b.fragment("#v=7&d=abc")
	b.wait(`document.getElementById('note').textContent.includes('another version')`)
	b.fragment("#v=1&d=abc")
	b.wait(answered + ` && document.getElementById('note').textContent.includes('damaged')`)
}

// inputs shows what is not valid.
func (b *browser) inputs(t *testing.T) {
	b.show(oneFile("check", "pod.yaml", "pod.yaml", strings.Replace(healthy, "livenessProbe", "livenesProbe", 1)))
	if text, code := b.answer(); code != 2 || !strings.Contains(text, "livenessProbe") {
		t.Errorf("bad input: exit code %d\n%s", code, text)
	}
	b.eval(`document.querySelector('#problems .place').click()`, nil)
	b.wait(`document.getElementById('editor').shadowRoot.activeElement?.classList.contains('cm-content')`)
	b.shot("problem", "")

	b.look("page")
	evil := `x<img src=x onerror="top.hacked=1"></pre><script>top.hacked=1</script>`
	for _, tab := range []string{"check", "incident", "run", "rollout"} {
		b.show(pageState{Tab: tab, Args: "evil.yaml '" + evil + "'", Files: []pageFile{{Name: "evil.yaml",
			Text: strings.Replace(healthy, "name: app", "name: '"+evil+"'", 1)}, {Name: evil, Text: evil}}})
		b.answer()
	}
	event := strings.ReplaceAll("Events:\n  Type     Reason     Age  From     Message\n"+
		"  ----     ------     ---  ----     -------\n"+
		"  Warning  Unhealthy  11s (x14 over 3m)  kubelet  Liveness probe failed: EVIL\n", "EVIL", evil)
	b.show(oneFile("incident", "describe.txt", "describe.txt", event))
	b.answer()
	b.wait(framed + `.body.innerText.includes('top.hacked=1')`)
	b.mustBeHarmless()
	// markup that a report would let through runs no script either
	errors := len(b.errors)
	b.eval(`new Promise(done => { const frame = document.createElement('iframe'); frame.onload = done; frame.src = `+
		`URL.createObjectURL(new Blob(['<script>top.hacked=1<\/script><img src=x onerror=top.hacked=1>'], {type: 'text/html'})); `+
		`document.body.append(frame); }).then(() => document.body.lastElementChild.remove())`, nil)
	b.settle()
	if b.mustBeHarmless(); len(b.errors) == errors {
		t.Error("the policy of the page allows any script")
	}
	b.errors = b.errors[:errors]
	b.look("text")

	comments := func(lines int) {
		b.eval(fmt.Sprintf(`(async () => { const {write} = await import('./link.js'); document.getElementById('status').`+
			`textContent = ''; location.hash = await write({tab: 'check', args: 'pod.yaml', files: [{name: 'pod.yaml', text: `+
			`'# x\n'.repeat(%d)}]}); })()`, lines), nil)
	}
	comments(700e3)
	if text, code := b.answer(); code != 2 || !strings.Contains(text, "nothing was checked") {
		t.Errorf("2.8 MB of comments: exit code %d\n%s", code, text)
	}
	comments(5e6)
	b.wait(answered + ` && document.getElementById('note').textContent.includes('too large')`)
}

// mustBeHarmless checks that no script but those of the page and of the report has run.
func (b *browser) mustBeHarmless() {
	b.t.Helper()
	var hacked bool
	if b.eval(`Boolean(window.hacked) || document.querySelectorAll('main img').length > 0 || `+framed+
		`.querySelectorAll('img').length > 0 || `+framed+`.querySelectorAll('script:not([type])').length > 1`, &hacked); hacked {
		b.t.Error("hostile input became markup")
	}
}
