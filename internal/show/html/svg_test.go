package html

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"

	"probesim.dev/internal/show/report"
	"probesim.dev/sim/virtual"
)

// elements counts the elements of a picture. It checks that the picture is XML without scripts, and
// that nothing lies outside.
func elements(t *testing.T, run *report.Run) map[string]int {
	t.Helper()
	var b bytes.Buffer
	if err := SVG(&b, run); err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	d := xml.NewDecoder(&b)
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return counts
		}
		if err != nil {
			t.Fatal(err)
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		counts[start.Name.Local]++
		for _, a := range start.Attr {
			if strings.HasPrefix(a.Name.Local, "on") || strings.Contains(a.Value, "%!") {
				t.Errorf("%s has %s=%q", start.Name.Local, a.Name.Local, a.Value)
			}
			x, err := strconv.ParseFloat(a.Value, 64)
			if a.Name.Local == "x" && (err != nil || x < charWidth || x > charWidth*pictureColumns) {
				t.Errorf("%s lies at %s", start.Name.Local, a.Value)
			}
		}
	}
}

// TestSVG checks that pictures are well-formed whatever the names are, and that their size does not
// grow with the number of marks.
func TestSVG(t *testing.T) {
	plain := elements(t, hostile("name"))
	for _, evil := range []string{`</title><script>alert(1)</script>`, `"><svg onload=alert(1)>`, "\x00\x1b[31m\xff", `]]>`} {
		for name, n := range elements(t, hostile(evil)) {
			if name == "script" || n > plain[name] {
				t.Errorf("%q: %d of %s, %d without it", evil, n, name, plain[name])
			}
		}
	}
	if n := elements(t, big(3, 50_000, 25_000))["text"]; n > 400 {
		t.Errorf("%d texts", n)
	}
}

// TestClockTimes checks that the axis of a picture has clock times, also after midnight.
func TestClockTimes(t *testing.T) {
	run := big(1, 60, 0)
	zero := 23*time.Hour + 59*time.Minute + 50*time.Second
	run.Zero, run.Until = &zero, virtual.At(time.Minute)
	var b bytes.Buffer
	if err := SVG(&b, run); err != nil {
		t.Fatal(err)
	}
	for _, label := range []string{">23:59:50<", ">00:00:00<", ">00:00:50<"} {
		if !strings.Contains(b.String(), label) {
			t.Errorf("the axis has no %s", label)
		}
	}
}
