package pages

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
)

// TestLink checks that a link has what assets/link.js reads: deflated JSON in base64url.
func TestLink(t *testing.T) {
	s := State{Tab: "run", Args: "a.yaml --start 5s", Files: []File{{"a.yaml", "kind: Pod\n# é\n"}}}
	link := s.Link()
	t.Log(link)
	text, is := strings.CutPrefix(link, "#v=1&d=")
	data, err := base64.RawURLEncoding.DecodeString(text)
	if !is || err != nil {
		t.Fatalf("%s: %v", link, err)
	}
	var got struct {
		T, A string
		F    [][2]string
	}
	if err := json.NewDecoder(flate.NewReader(bytes.NewReader(data))).Decode(&got); err != nil {
		t.Fatal(err)
	}
	if got.T != s.Tab || got.A != s.Args || len(got.F) != 1 || got.F[0] != [2]string{"a.yaml", s.Files[0].Text} {
		t.Errorf("the link has %+v", got)
	}
}
