package pages

import (
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func load(t *testing.T) *Docs {
	t.Helper()
	d, err := Load(os.DirFS("../../.."))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

var (
	hrefs   = regexp.MustCompile(`(?:href|src)="([^"]*)"`)
	anchors = regexp.MustCompile(` id="([^"]*)"`)
)

// TestLinks checks that each link of a page leads to a file of the site and to a heading in it.
func TestLinks(t *testing.T) {
	files := load(t).Files()
	ids := map[string]bool{}
	for name, data := range files {
		for _, m := range anchors.FindAllSubmatch(data, -1) {
			ids[name+"#"+string(m[1])] = true
		}
	}
	for name, data := range files {
		if !strings.HasSuffix(name, ".html") {
			continue
		}
		for _, m := range hrefs.FindAllSubmatch(data, -1) {
			checkLink(t, files, ids, name, string(m[1]))
		}
	}
}

func checkLink(t *testing.T, files map[string][]byte, ids map[string]bool, from, link string) {
	t.Helper()
	link, fragment, _ := strings.Cut(link, "#")
	if isWeb(link) || link == "data:," {
		return
	}
	to := from
	if link != "" {
		to = path.Join("docs", path.Dir(from), link)
	} else {
		to = path.Join("docs", from)
	}
	name, isDoc := strings.CutPrefix(to, "docs/")
	switch {
	case !isDoc:
		if !slices.Contains([]string{"index.html", "style.css", "docs.js"}, to) {
			t.Errorf("%s: the site has no file %s", from, to)
		}
	case files[name] == nil:
		t.Errorf("%s: the docs have no file %s", from, name)
	case fragment != "" && !ids[name+"#"+fragment]:
		t.Errorf("%s: %s has no heading %s", from, name, fragment)
	}
}

// TestBlocks checks that the blocks of the pages that can be tried have their files, and that their
// links have what they show.
func TestBlocks(t *testing.T) {
	d := load(t)
	want := map[string][]string{
		"README.md":        {"run scenarios/library/quickstart"},
		"docs/limits.md":   {"check pod.yaml", "check pod.yaml --start 24s..32s"},
		"docs/incident.md": {"incident describe.txt"},
		"docs/rollout.md":  {"check web.yaml", "rollout web.yaml --rps 200 --start 8s..15s"},
	}
	for name, list := range want {
		var found []string
		for _, s := range d.pages[name].states {
			found = append(found, s.Tab+" "+s.Args)
		}
		for _, text := range list {
			if !slices.Contains(found, text) {
				t.Errorf("%s: no block with %q, but %q", name, text, found)
			}
		}
	}
	for _, name := range d.names() {
		for _, s := range d.pages[name].states {
			if link := s.Link(); len(link) > 64<<10 {
				t.Errorf("%s: %s %s: a link of %d bytes", name, s.Tab, s.Args, len(link))
			}
		}
	}
	if _, err := d.Examples(); err != nil {
		t.Error(err)
	}
}

// TestSearch checks that the index has all pages.
func TestSearch(t *testing.T) {
	d := load(t)
	for _, name := range d.names() {
		if len(d.pages[name].sections) == 0 {
			t.Errorf("%s has no section for the search", name)
		}
	}
}

// TestFindingAddresses checks that each finding has the address that reports give it.
func TestFindingAddresses(t *testing.T) {
	d := load(t)
	page := string(d.Files()["findings.html"])
	ids := regexp.MustCompile(`(?m)^## (.+)$`).FindAllStringSubmatch(string(d.pages["docs/findings.md"].source), -1)
	if len(ids) < 10 {
		t.Fatalf("docs/findings.md has %d findings", len(ids))
	}
	for _, m := range ids {
		if !strings.Contains(page, ` id="`+m[1]+`"`) {
			t.Errorf("findings.html has no heading %s", m[1])
		}
	}
}
