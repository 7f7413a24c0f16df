package main

import (
	"bytes"
	"flag"
	"html"
	"image"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var screenshots = flag.Bool("screenshots", false, "write the pictures of the documentation into docs; look at them")

// TestPageScreenshots takes the pictures in docs. To update them, run
//
//	go test ./cmd/probesim -run TestPageScreenshots -screenshots
func TestPageScreenshots(t *testing.T) {
	dir := t.TempDir()
	if *screenshots {
		dir = "../../docs"
	} else {
		onlyLong(t)
	}
	b := openBrowser(t, 1120, 800)

	b.open(page(t, 1, fromReadme(t), "--seed", "2"))
	b.eval(`document.querySelector('.replay').remove(); document.querySelectorAll('.facts span:last-child, h3 .where').forEach((e) => e.remove())`, nil) // paths
	b.eval(`document.querySelector('.failure details').open = false`, nil)
	b.click(".plot .m-exit")
	b.mouse("mouseMoved", 1, 1, nil)
	b.eval(`scrollTo(0, 0)`, nil)
	b.screenshot(filepath.Join(dir, "report.png"), "")
	b.clean()

	b.open(written(t, terminalPage(colored(t, ofLibrary+"quickstart/exec-liveness.yaml", "^exec-liveness$"))))
	b.screenshot(filepath.Join(dir, "timeline.png"), "pre")
	b.clean()

	for _, name := range []string{"report.png", "timeline.png"} {
		if n := colors(t, filepath.Join(dir, name)); n < 20 {
			t.Errorf("%s is empty: it has %d colors", name, n)
		}
	}
}

// fromReadme returns the scenario of the README that fails with some seeds.
func fromReadme(t *testing.T) string {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, found := strings.Cut(string(text), "```yaml\n# web.yaml\n")
	block, _, ended := strings.Cut(block, "```")
	if !found || !ended {
		t.Fatal("README.md has no web.yaml")
	}
	file := filepath.Join(t.TempDir(), "any.yaml")
	if err := os.WriteFile(file, []byte(strings.Replace(block, "after: 40s", "after: 40s..45s", 1)), 0o666); err != nil {
		t.Fatal(err)
	}
	return file
}

// written writes a page to a file and returns its address.
func written(t *testing.T, text string) string {
	name, err := filepath.Abs(filepath.Join(t.TempDir(), "page.html"))
	if err == nil {
		err = os.WriteFile(name, []byte(text), 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
	return "file://" + filepath.ToSlash(name)
}

// colored returns the output of the command about a scenario on a terminal with colors.
func colored(t *testing.T, path, pattern string) string {
	t.Setenv("COLUMNS", "100")
	var out bytes.Buffer
	execute(t.Context(), []string{"run", path, "--run", pattern, "--kubernetes", "v1.37", "-o", "timeline", "--color", "always"}, &out, io.Discard)
	return out.String()
}

var escape = regexp.MustCompile("\x1b\\[([0-9]+)m")

// terminalPage returns a page that shows text like a terminal.
func terminalPage(text string) string {
	classes := map[string]string{"1": "bold", "2": "dim", "31": "red", "32": "green", "33": "yellow"}
	text = escape.ReplaceAllStringFunc(html.EscapeString(text), func(s string) string {
		if c := classes[escape.FindStringSubmatch(s)[1]]; c != "" {
			return `<span class="` + c + `">`
		}
		return "</span>"
	})
	return `<!DOCTYPE html><meta charset="utf-8"><link rel="icon" href="data:,"><style>
body { margin: 0; background: #16191f; }
pre { margin: 0; padding: 18px 22px; width: max-content; font: 14px/17px "DejaVu Sans Mono", monospace; color: #dfe3ea; background: #16191f; }
.bold { font-weight: bold; color: #fff; } .dim { color: #8b95a5; } .red { color: #ff6d67; } .green { color: #5fd38d; } .yellow { color: #f2c55c; }
</style><pre><span class="dim">$</span> probesim run exec-liveness.yaml
` + strings.TrimRight(text, "\n") + `</pre>`
}

// colors counts the colors of a picture.
func colors(t *testing.T, name string) int {
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var picture image.Image
	if picture, err = png.Decode(bytes.NewReader(data)); err != nil {
		t.Fatal(err)
	}
	seen := map[[3]uint32]bool{}
	for y := picture.Bounds().Min.Y; y < picture.Bounds().Max.Y; y++ {
		for x := picture.Bounds().Min.X; x < picture.Bounds().Max.X; x++ {
			r, g, b, _ := picture.At(x, y).RGBA()
			seen[[3]uint32{r, g, b}] = true
		}
	}
	return len(seen)
}
