package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"probesim.dev/internal/long"
)

// browsers are programs with the Chrome DevTools Protocol. Tests use the first installed one.
var browsers = []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome",
	"google-chrome-stable", "chrome"}

// browser is a page in a headless browser, controlled through a pipe.
type browser struct {
	t       *testing.T
	in      *os.File
	out     *bufio.Reader
	session string
	id      int

	errors   []string // console errors and exceptions of the page
	requests []string // addresses that the page requested
}

// message is a message of the Chrome DevTools Protocol.
type message struct {
	ID     int             `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
	Session string `json:"sessionId,omitempty"`
}

// onlyLong skips a test of a page by default. The other tests open each page once.
func onlyLong(t *testing.T) {
	if !long.Enabled() {
		t.Skip("runs with PROBESIM_LONG=1")
	}
}

// openBrowser starts a browser with an empty page of a size. It skips the test if no browser is
// installed.
func openBrowser(t *testing.T, width, height int) *browser {
	t.Helper()
	path := os.Getenv("PROBESIM_BROWSER")
	for i := 0; path == "" && i < len(browsers); i++ {
		path, _ = exec.LookPath(browsers[i])
	}
	if path == "" {
		t.Skip("there is no browser: install Chromium, or set PROBESIM_BROWSER to a browser based on it")
	}
	b := &browser{t: t}
	b.start(path)
	var target struct{ TargetID, SessionID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &target)
	b.session = target.SessionID
	for _, domain := range []string{"Page", "Runtime", "Network", "Log"} {
		b.call(domain+".enable", nil, nil)
	}
	b.resize(width, height)
	return b
}

func (b *browser) start(path string) {
	theirIn, ourOut, err := os.Pipe()
	if err != nil {
		b.t.Fatal(err)
	}
	ourIn, theirOut, err := os.Pipe()
	if err != nil {
		b.t.Fatal(err)
	}
	// A browser that hangs must not hang the tests.
	ctx, cancel := context.WithTimeout(context.Background(), 25*time.Minute)
	cmd := exec.CommandContext(ctx, path, "--headless", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu",
		"--hide-scrollbars", "--no-first-run",
		"--disable-ipc-flooding-protection", "--disable-background-networking", "--disable-component-update",
		"--disable-dev-shm-usage", "--force-color-profile=srgb", "--font-render-hinting=none",
		"--user-data-dir="+filepath.Join(b.t.TempDir(), "profile"))
	cmd.Env = append(os.Environ(), "HOME="+b.t.TempDir())
	cmd.ExtraFiles = []*os.File{theirIn, theirOut}
	if err := cmd.Start(); err != nil {
		cancel()
		b.t.Fatalf("%s: %v", path, err)
	}
	theirIn.Close()
	theirOut.Close()
	b.in, b.out = ourOut, bufio.NewReader(ourIn)
	b.t.Cleanup(func() {
		b.session = ""
		if !b.t.Failed() {
			b.call("Browser.close", nil, nil)
		}
		ourOut.Close()
		cmd.Wait()
		ourIn.Close()
		cancel()
	})
}

// call sends a command and waits for its result. It records events that arrive before.
func (b *browser) call(method string, params, result any) {
	b.t.Helper()
	b.id++
	raw, err := json.Marshal(params)
	if err == nil {
		raw, err = json.Marshal(message{ID: b.id, Method: method, Params: raw, Session: b.session})
	}
	if err == nil {
		_, err = b.in.Write(append(raw, 0))
	}
	for err == nil {
		var m message
		if m, err = b.read(); err != nil || m.ID != b.id {
			continue
		}
		if m.Error != nil {
			err = errors.New(m.Error.Message)
		} else if result != nil {
			err = json.Unmarshal(m.Result, result)
		}
		break
	}
	if err != nil {
		b.t.Fatalf("the browser: %s: %v", method, err)
	}
}

func (b *browser) read() (m message, err error) {
	raw, err := b.out.ReadBytes(0)
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(raw[:len(raw)-1], &m); err != nil {
		return m, err
	}
	switch m.Method {
	case "Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded":
		b.errors = append(b.errors, string(m.Params))
	case "Network.requestWillBeSent":
		var p struct{ Request struct{ URL string } }
		if err := json.Unmarshal(m.Params, &p); err != nil {
			return m, err
		}
		b.requests = append(b.requests, p.Request.URL)
	}
	return m, nil
}

// open loads a page.
func (b *browser) open(url string) {
	b.t.Helper()
	b.errors, b.requests = nil, nil
	b.call("Page.navigate", map[string]any{"url": url}, nil)
	b.eval(`new Promise((done) => { const wait = () => document.readyState === 'complete' ? requestAnimationFrame(() `+
		`=> requestAnimationFrame(() => done(1))) : setTimeout(wait, 5); wait(); })`, nil)
}

// eval evaluates an expression in the page. It waits for promises.
func (b *browser) eval(expression string, result any) {
	b.t.Helper()
	var r struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	b.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true},
		&r)
	if r.ExceptionDetails != nil {
		b.t.Fatalf("%s: %s", expression, r.ExceptionDetails)
	}
	if result != nil {
		if err := json.Unmarshal(r.Result.Value, result); err != nil {
			b.t.Fatalf("%s: %v in %s", expression, err, r.Result.Value)
		}
	}
}

// wait waits until an expression is true.
func (b *browser) wait(expression string) {
	b.t.Helper()
	var done bool
	b.eval(fmt.Sprintf(`new Promise(done => { const end = performance.now() + 240e3; const look = () => { let is = false; `+
		`try { is = %s; } catch {} if (is || performance.now() > end) done(Boolean(is)); else setTimeout(look, 20); }; `+
		`look(); })`, expression), &done)
	if !done {
		var text string
		b.eval(`document.body.innerText`, &text)
		b.t.Fatalf("never true: %s\n%s\n%s", expression, text, strings.Join(b.errors, "\n"))
	}
}

// text returns the text of the first element that matches a selector, or "" if there is none or it
// is hidden.
func (b *browser) text(selector string) string {
	b.t.Helper()
	var s string
	b.eval(fmt.Sprintf(`(() => { const e = document.querySelector(%q); return e && e.checkVisibility() ? `+
		`e.textContent : ''; })()`, selector), &s)
	return s
}

// count returns the number of elements that match a selector.
func (b *browser) count(selector string) int {
	b.t.Helper()
	var n int
	b.eval(fmt.Sprintf(`document.querySelectorAll(%q).length`, selector), &n)
	return n
}

// place scrolls to an element and returns its center.
func (b *browser) place(selector string) (x, y float64) {
	b.t.Helper()
	var at []float64
	b.eval(fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.scrollIntoView({block: 'center'}); const r `+
		`= e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()`, selector), &at)
	return at[0], at[1]
}

func (b *browser) mouse(kind string, x, y float64, more map[string]any) {
	b.t.Helper()
	params := map[string]any{"type": kind, "x": x, "y": y}
	for k, v := range more {
		params[k] = v
	}
	b.call("Input.dispatchMouseEvent", params, nil)
	b.settle()
}

// settle waits until the page has drawn.
func (b *browser) settle() {
	b.eval(`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))`, nil)
}

func (b *browser) hover(selector string) {
	b.t.Helper()
	x, y := b.place(selector)
	b.mouse("mouseMoved", x, y, nil)
}

func (b *browser) click(selector string) {
	b.t.Helper()
	x, y := b.place(selector)
	b.mouse("mouseMoved", x, y, nil)
	b.mouse("mousePressed", x, y, map[string]any{"button": "left", "buttons": 1, "clickCount": 1})
	b.mouse("mouseReleased", x, y, map[string]any{"button": "left", "clickCount": 1})
}

// keyCodes are the keys that controls of a browser know by number.
var keyCodes = map[string]int{"Backspace": 8, "Tab": 9, "Enter": 13, " ": 32, "End": 35, "ArrowLeft": 37,
	"ArrowRight": 39, "ArrowDown": 40}

// key presses a key with modifiers: 8 is Shift, 2 Ctrl.
func (b *browser) key(key string, modifiers int) {
	b.t.Helper()
	params := map[string]any{"type": "keyDown", "key": key, "modifiers": modifiers}
	if code, named := keyCodes[key]; named {
		params["windowsVirtualKeyCode"] = code
	}
	if len(key) == 1 {
		params["text"] = key
	}
	b.call("Input.dispatchKeyEvent", params, nil)
	params["type"] = "keyUp"
	delete(params, "text")
	b.call("Input.dispatchKeyEvent", params, nil)
	b.settle()
}

func (b *browser) resize(width, height int) {
	b.t.Helper()
	b.call("Emulation.setDeviceMetricsOverride",
		map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}, nil)
	// The page gets its new size some frames later.
	b.eval(fmt.Sprintf(`new Promise((done) => {
		const wait = () => innerWidth === %d ? done(1) : requestAnimationFrame(wait);
		wait();
	})`, width), nil)
	b.settle()
}

// scheme sets the preferred color scheme to light or dark.
func (b *browser) scheme(name string) {
	b.t.Helper()
	b.call("Emulation.setEmulatedMedia",
		map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": name}}}, nil)
	b.settle()
}

// screenshot writes the visible part, or the first element that matches a selector, as a PNG.
func (b *browser) screenshot(file, selector string) {
	b.t.Helper()
	b.settle()
	params := map[string]any{"format": "png", "optimizeForSpeed": false}
	if selector != "" {
		var clip map[string]any
		b.eval(fmt.Sprintf(`(() => { const r = document.querySelector(%q).getBoundingClientRect(); return {x: r.x + `+
			`scrollX, y: r.y + scrollY, width: r.width, height: r.height, scale: 1}; })()`, selector), &clip)
		params["clip"], params["captureBeyondViewport"] = clip, true
	}
	var shot struct{ Data string }
	b.call("Page.captureScreenshot", params, &shot)
	data, err := base64.StdEncoding.DecodeString(shot.Data)
	if err == nil {
		err = os.WriteFile(file, data, 0o666)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}
