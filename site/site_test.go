package site_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"probesim.dev/site/internal/build"
)

// program returns the program of the playground. PROBESIM_WASM names one that is built already.
var program = sync.OnceValues(func() ([]byte, error) {
	if name := os.Getenv("PROBESIM_WASM"); name != "" {
		return os.ReadFile(name)
	}
	return build.Program("..")
})

// serve serves the site on this machine.
func serve(t *testing.T) string {
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
	return server.URL + "/"
}

// done is true when the program has answered, and nothing waits.
const done = `/^exit code/.test(document.getElementById('status').textContent) && document.getElementById('stop').disabled`

// answer returns the text of the answer.
func (b *browser) answer() (text string) {
	b.t.Helper()
	b.wait(done)
	b.eval(`document.getElementById('text').textContent`, &text)
	return text
}

// TestFirstVisit opens the playground: its first example explains why 6 x 5 s is not 30 s, and its
// slider changes the answer.
func TestFirstVisit(t *testing.T) {
	b := openBrowser(t, 1280, 900)
	b.open(serve(t))
	if text := b.answer(); !strings.Contains(text, "of the starts that take 28s are killed") {
		t.Errorf("the answer is\n%s", text)
	}
	b.screenshot("first")
	b.eval(`(() => { const s = document.querySelector('.sliders input'); s.value = 25; s.dispatchEvent(new Event('input')); })()`, nil)
	b.wait(`!document.getElementById('text').textContent.includes('are killed')`)
	b.screenshot("slider")
	if len(b.errors) > 0 {
		t.Error(b.errors)
	}
}
