package site_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"probesim.dev/site/internal/build"
	"probesim.dev/site/internal/pages"
)

// program returns the program of the playground. PROBESIM_WASM names one that is built already.
var program = sync.OnceValues(func() ([]byte, error) {
	if name := os.Getenv("PROBESIM_WASM"); name != "" {
		return os.ReadFile(name)
	}
	return build.Program("..")
})

// serve serves the site on this machine.
func serve(t *testing.T) *httptest.Server {
	t.Helper()
	wasm, err := program()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := build.Site("..", dir, wasm); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(server.Close)
	return server
}

// TestFirstVisit measures how long the first visit waits for an answer on a line of 30 Mbit/s, from a
// server that compresses as GitHub Pages does.
func TestFirstVisit(t *testing.T) {
	if os.Getenv("PROBESIM_LONG") == "" {
		t.Skip("measures wall time, which other tests at the same time disturb: runs with PROBESIM_LONG=1")
	}
	b := openBrowser(t, 1280, 900)
	wasm, err := program()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := build.Site("..", dir, wasm); err != nil {
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
	b.open(server.URL + "/")
	b.wait(`document.getElementById('page').shadowRoot?.textContent.includes('start-killed')`)
	took := time.Since(began)
	b.wait(done)
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
}

// done is true when the program has answered, and nothing waits.
const done = `/^exit code/.test(document.getElementById('status').textContent) && document.getElementById('stop').disabled`

// answer waits for the answer of the program, and returns it and its exit code.
func (b *browser) answer() (text string, code int) {
	b.t.Helper()
	b.wait(done)
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
	b.wait(done)
}

// show opens a state of the playground by its link.
func (b *browser) show(s pages.State) {
	b.t.Helper()
	b.fragment(s.Link())
}

// fragment follows a link within the page.
func (b *browser) fragment(link string) {
	b.t.Helper()
	raw, _ := json.Marshal(link)
	b.eval(`document.getElementById('status').textContent = ''`, nil)
	b.eval(`location.hash = `+string(raw), nil)
}

func oneFile(tab, args, name, text string) pages.State {
	return pages.State{Tab: tab, Args: args, Files: []pages.File{{Name: name, Text: text}}}
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
	b := openBrowser(t, 1280, 900)
	server := serve(t)
	b.open(server.URL + "/")
	t.Run("the first example explains why 6 x 5 s is not 30 s", func(t *testing.T) {
		b.wait(done + ` && document.getElementById('page').shadowRoot.textContent.includes('that take 29s are killed')`)
		b.screenshot("first-page")
		b.look("text")
		if text, code := b.answer(); code != 1 || !strings.Contains(text, "of the starts that take 29s are killed") {
			t.Errorf("exit code %d\n%s", code, text)
		}
		b.screenshot("first")
		var note string
		if b.eval(`document.getElementById('note').textContent`, &note); !strings.Contains(note, "phase") {
			t.Errorf("the text beside it is %q", note)
		}
		b.eval(`document.querySelector('.sliders input').focus()`, nil)
		for range 4 {
			b.key("ArrowLeft")
		}
		b.wait(`document.getElementById('args').value === 'pod.yaml --start 25s' && !document.getElementById('text').` +
			`textContent.includes('are killed')`)
		b.screenshot("slider")
	})
	t.Run("a slider changes the manifest", func(t *testing.T) {
		b.eval(`document.querySelector('[data-name$=failureThreshold] input').focus()`, nil)
		b.key("ArrowRight")
		b.wait(done + ` && document.getElementById('text').textContent.includes('30.0s  35.2s')`)
	})
	t.Run("examples", b.examples)
	t.Run("tabs by the keyboard", func(t *testing.T) {
		b.show(oneFile("check", "pod.yaml", "pod.yaml", healthy))
		b.answer()
		b.eval(`document.getElementById('tab-check').focus()`, nil)
		b.key("ArrowRight")
		b.wait(done + ` && document.getElementById('tab-run').ariaSelected === 'true' && document.getElementById('text').` +
			`textContent.includes('liveness')`)
	})
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
	t.Run("360 px and dark", func(t *testing.T) {
		b.dark()
		b.resize(360, 740)
		b.wait(done)
		b.screenshot("narrow-dark")
		var width int
		if b.eval(`document.scrollingElement.scrollWidth`, &width); width > 360 {
			t.Errorf("the page is %d px wide", width)
		}
		var paper string
		if b.eval(`getComputedStyle(document.body).backgroundColor`, &paper); paper != "rgb(22, 24, 28)" {
			t.Errorf("the background is %s", paper)
		}
	})
	for _, url := range b.requests {
		if !strings.HasPrefix(url, server.URL+"/") && !strings.HasPrefix(url, "data:") &&
			!strings.HasPrefix(url, "blob:") {
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
		b.open(server.URL + "/")
		b.wait(done + ` && document.getElementById('page').shadowRoot.textContent.includes('start-killed')`)
		b.open(server.URL + "/docs/check.html")
		b.eval(`(() => { const i = document.querySelector('.search input'); i.value = 'silence errors'; `+
			`i.dispatchEvent(new Event('input')); })()`, nil)
		b.wait(`document.querySelectorAll('#found a').length > 2`)
	})
	noErrors()
}

// examples opens each example of the menu, as text and as a page or picture.
func (b *browser) examples(t *testing.T) {
	want := []string{"start-killed", "start-killed", "liveness-exec", "Ready", "a rollout loses", "liveness"}
	for i, text := range want {
		b.eval(fmt.Sprintf(`(() => { document.getElementById('status').textContent = ''; const s = document.getElementById(`+
			`'examples'); s.value = %d; s.dispatchEvent(new Event('change')); })()`, i), nil)
		b.wait(fmt.Sprintf(`document.getElementById('text').textContent.includes(%q)`, text))
		if i == 4 { // the other runs take a while: fewer are enough
			b.wait(`document.getElementById('text').textContent.includes('4 runs ')`)
			b.eval(`(() => { const a = document.getElementById('args'); a.value += ' --runs 2'; a.dispatchEvent(new Event(`+
				`'input')); })()`, nil)
			b.wait(`document.getElementById('text').textContent.includes('2 runs ')`)
		}
		if got, code := b.answer(); code > 1 || !strings.Contains(got, text) {
			t.Errorf("example %d: exit code %d, and no %q in\n%s", i, code, text, got)
		}
		b.look("page")
		b.screenshot(fmt.Sprintf("example-%d", i))
		var shown bool
		b.eval(`(() => { const p = document.getElementById('page'), i = document.getElementById('picture'); return !i.hidden `+
			`&& i.naturalWidth > 100 || !p.hidden && p.shadowRoot.textContent.length > 100 || !document.getElementById('text').`+
			`hidden; })()`, &shown)
		if !shown {
			t.Errorf("example %d has no page", i)
		}
		b.look("text")
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
		b.call("Input.dispatchKeyEvent", map[string]any{"type": "keyDown", "key": "End", "code": "End",
			"windowsVirtualKeyCode": 35, "modifiers": 2}, nil)
		b.call("Input.insertText", map[string]any{"text": text[len(text)-1:]}, nil)
		b.call("Input.dispatchKeyEvent", map[string]any{"type": "keyDown", "key": "Backspace", "code": "Backspace",
			"windowsVirtualKeyCode": 8}, nil)
		b.call("Input.dispatchKeyEvent", map[string]any{"type": "keyDown", "key": " ", "code": "Space",
			"windowsVirtualKeyCode": 32, "modifiers": 2}, nil)
		b.wait(view + `.querySelector('.cm-tooltip-autocomplete li')?.textContent === '` + want + `'`)
		b.screenshot("completion-" + want)
		// the editor takes no key for a list that has just come up
		b.eval(`new Promise(done => setTimeout(done, 200))`, nil)
		b.key("Enter")
		b.wait(view + `.querySelector('.cm-content').textContent.includes('` + want + `:')`)
	}
}

// oldLink is a link of the first version. It must work for ever: people have pasted such links.
const oldLink = "#v=1&d=PY3NDoIwDIBfpdlZFBMPZi_glZMX8FBHlQXWNazxJ4R3d0DirV--r-1k1FgwriPXmx0YXEhiu_9iGKAokuKocCrTIh9Z1" +
	"vVfr734K43JR7bwOjbce24tVLFtOJBii4oWJsZAFt50nxtOQs42DOAiK3rO2ysWsFUosiCAD_jMTB8MMtDexXDIF-xxs4N_EVNK1" +
	"RjvuZo6VbmQ5klQOwuHHUgcM5_LOX81t9v8Aw"

// links opens links of this and of other versions.
func (b *browser) links(t *testing.T) {
	b.fragment(oldLink)
	if text, code := b.answer(); code != 1 || !strings.Contains(text, "starts that take 40s are killed") {
		t.Errorf("an old link: exit code %d\n%s", code, text)
	}
	b.fragment("#v=7&d=abc")
	b.wait(`document.getElementById('note').textContent.includes('another version')`)
	b.fragment("#v=1&d=abc")
	b.wait(`document.getElementById('note').textContent.includes('damaged')`)
}

// inputs shows what is not valid.
func (b *browser) inputs(t *testing.T) {
	b.show(oneFile("check", "pod.yaml", "pod.yaml", strings.Replace(healthy, "livenessProbe", "livenesProbe", 1)))
	if text, code := b.answer(); code != 2 || !strings.Contains(text, "livenessProbe") {
		t.Errorf("bad input: exit code %d\n%s", code, text)
	}
	b.eval(`document.querySelector('#problems .place').click()`, nil)
	b.wait(`document.getElementById('editor').shadowRoot.activeElement?.classList.contains('cm-content')`)
	b.screenshot("problem")

	evil := `x<img src=x onerror="window.hacked=1"></pre><script>window.hacked=1</script>`
	for _, tab := range []string{"check", "incident", "run", "rollout"} {
		b.show(pages.State{Tab: tab, Args: "evil.yaml '" + evil + "'", Files: []pages.File{{Name: "evil.yaml",
			Text: strings.Replace(healthy, "name: app", "name: '"+evil+"'", 1)}, {Name: evil, Text: evil}}})
		b.answer()
	}
	event := strings.ReplaceAll("Events:\n  Type     Reason     Age  From     Message\n"+
		"  ----     ------     ---  ----     -------\n"+
		"  Warning  Unhealthy  11s (x14 over 3m)  kubelet  Liveness probe failed: EVIL\n", "EVIL", evil)
	b.show(oneFile("incident", "describe.txt", "describe.txt", event))
	b.answer()
	b.look("page")
	var hacked bool
	if b.eval(`Boolean(window.hacked) || document.querySelectorAll('main img').length > 1 || [...(document.getElementById(`+
		`'page').shadowRoot?.querySelectorAll('img, script') ?? [])].length > 0`, &hacked); hacked {
		t.Error("hostile input became markup")
	}
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
	b.wait(`document.getElementById('note').textContent.includes('too large')`)
}
