package site_test

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

type message struct {
	ID      int             `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   json.RawMessage `json:"error,omitempty"`
	Session string          `json:"sessionId,omitempty"`
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

func (b *browser) resize(width, height int) {
	b.t.Helper()
	b.call("Emulation.setDeviceMetricsOverride",
		map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}, nil)
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
		"--hide-scrollbars", "--no-first-run", "--disable-background-networking", "--disable-component-update",
		"--disable-dev-shm-usage", "--user-data-dir="+filepath.Join(b.t.TempDir(), "profile"))
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

// call sends a command and waits for its result. It records the errors and requests that it learns
// of before.
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
		if raw, err = b.out.ReadBytes(0); err == nil {
			err = json.Unmarshal(raw[:len(raw)-1], &m)
		}
		switch {
		case err != nil:
		case m.Method == "Runtime.exceptionThrown", m.Method == "Log.entryAdded",
			m.Method == "Runtime.consoleAPICalled":
			b.errors = append(b.errors, string(m.Params))
		case m.Method == "Network.requestWillBeSent":
			var p struct{ Request struct{ URL string } }
			err = json.Unmarshal(m.Params, &p)
			b.requests = append(b.requests, p.Request.URL)
		case m.ID == b.id && m.Error != nil:
			err = errors.New(string(m.Error))
		case m.ID == b.id && result != nil:
			err = json.Unmarshal(m.Result, result)
			fallthrough
		case m.ID == b.id:
			if err == nil {
				return
			}
		}
	}
	b.t.Fatalf("the browser: %s: %v", method, err)
}

// eval evaluates an expression in the page. It waits for promises.
func (b *browser) eval(expression string, result any) {
	b.t.Helper()
	var r struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	b.call("Runtime.evaluate",
		map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &r)
	if r.ExceptionDetails != nil {
		b.t.Fatalf("%s: %s", expression, r.ExceptionDetails)
	}
	if result == nil {
		return
	}
	if err := json.Unmarshal(r.Result.Value, result); err != nil {
		b.t.Fatalf("%s: %v in %s", expression, err, r.Result.Value)
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

// open loads a page. An address that differs only in the fragment loads it again.
func (b *browser) open(url string) {
	b.t.Helper()
	b.errors, b.requests = nil, nil
	b.call("Page.navigate", map[string]any{"url": "about:blank"}, nil)
	b.call("Page.navigate", map[string]any{"url": url}, nil)
	b.wait(`document.readyState === 'complete' && location.href !== 'about:blank'`)
}

// key presses a key.
func (b *browser) key(key string) {
	b.t.Helper()
	for _, kind := range []string{"rawKeyDown", "keyUp"} {
		code := map[string]int{"ArrowRight": 39, "ArrowLeft": 37, "ArrowDown": 40, "Enter": 13, "Tab": 9}[key]
		b.call("Input.dispatchKeyEvent",
			map[string]any{"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code}, nil)
	}
}

// dark sets the preferred color scheme.
func (b *browser) dark() {
	b.call("Emulation.setEmulatedMedia",
		map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": "dark"}}}, nil)
}

// screenshot writes the visible part into the directory PROBESIM_SCREENSHOTS, if that is set.
func (b *browser) screenshot(name string) {
	b.t.Helper()
	dir := os.Getenv("PROBESIM_SCREENSHOTS")
	if dir == "" {
		return
	}
	var shot struct{ Data []byte }
	var raw struct{ Data string }
	b.call("Page.captureScreenshot", map[string]any{"format": "png"}, &raw)
	var err error
	if shot.Data, err = base64.StdEncoding.DecodeString(raw.Data); err == nil {
		err = os.WriteFile(filepath.Join(dir, name+".png"), shot.Data, 0o666)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}
