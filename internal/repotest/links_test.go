package repotest

import (
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	codeBlock   = regexp.MustCompile("(?s)```.*?```")
	link        = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading     = regexp.MustCompile(`(?m)^#+ (.*)$`)
	namedAnchor = regexp.MustCompile(`<a id="([^"]+)"`)
	notInAnchor = regexp.MustCompile(`[^\p{L}\p{N}_\- ]`)
)

// TestLinks checks that the links between the documents of this repository lead to existing files
// and headings.
func TestLinks(t *testing.T) {
	pages := map[string]string{}
	for _, pattern := range []string{"*.md", "*/*.md", "*/*/*.md", "*/*/*/*.md"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			pages[filepath.ToSlash(name)] = codeBlock.ReplaceAllString(read(t, name), "")
		}
	}
	links := 0
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		for _, m := range link.FindAllStringSubmatch(pages[name], -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			links++
			file, anchor, _ := strings.Cut(m[1], "#")
			target := name
			if file != "" {
				target = path.Join(path.Dir(name), file)
			}
			info, err := os.Stat(target)
			if err != nil {
				t.Errorf("%s: the link %s leads to no file", name, m[1])
				continue
			}
			if info.IsDir() {
				target = path.Join(target, "README.md")
			}
			if anchor != "" && !anchors(pages[target])[anchor] {
				t.Errorf("%s: the link %s leads to no heading", name, m[1])
			}
		}
	}
	if links < 100 {
		t.Errorf("found only %d links", links)
	}
}

// anchors returns the anchors of a document: the anchors that GitHub generates for headings, and
// named anchors.
func anchors(text string) map[string]bool {
	all := map[string]bool{}
	for _, m := range namedAnchor.FindAllStringSubmatch(text, -1) {
		all[m[1]] = true
	}
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		all[strings.ReplaceAll(notInAnchor.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")] = true
	}
	return all
}
