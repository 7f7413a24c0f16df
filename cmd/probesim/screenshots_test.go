package main

import (
	"bytes"
	"flag"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var screenshots = flag.Bool("screenshots", false, "write the picture of the documentation into docs; look at it")

// TestPageScreenshots takes the picture in docs. To update it, run
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

	b.open(page(t, 1, fromDocs(t), "--seed", "2"))
	// paths, and the records around the failure
	b.eval(`document.querySelectorAll('.facts, .command, li.bad li:first-child, li.bad .scroll').forEach((e) => `+
		`e.remove())`, nil)
	b.click(".plot .m-exit")
	b.mouse("mouseMoved", 1, 1, nil)
	b.eval(`scrollTo(0, 0)`, nil)
	b.screenshot(filepath.Join(dir, "report.png"), "")
	b.clean()

	if n := colors(t, filepath.Join(dir, "report.png")); n < 20 {
		t.Errorf("the picture is empty: it has %d colors", n)
	}
}

// fromDocs returns the scenario of docs/authoring.md that fails with some seeds.
func fromDocs(t *testing.T) string {
	text, err := os.ReadFile("../../docs/authoring.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, found := strings.Cut(string(text), "```yaml\n# web.yaml\n")
	block, _, ended := strings.Cut(block, "```")
	if !found || !ended {
		t.Fatal("docs/authoring.md has no web.yaml")
	}
	file := filepath.Join(t.TempDir(), "any.yaml")
	if err := os.WriteFile(file, []byte(strings.Replace(block, "after: 40s", "after: 40s..45s", 1)), 0o666); err !=
		nil {
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
