package verdict

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestPhrasesExist checks that phrases.txt has the phrases that the rules name.
func TestPhrasesExist(t *testing.T) {
	named := regexp.MustCompile(`(?:saying\(|r\.words = |phrases\[|": +)"([^"]+)"[\],)\n]`)
	count := 0
	for _, file := range []string{"rules.go", "of.go", "words.go"} {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range named.FindAllStringSubmatch(string(source), -1) {
			if count++; phrases[m[1]] == (phrase{}) {
				t.Errorf("%s names %q, which phrases.txt does not have", file, m[1])
			}
		}
	}
	for _, p := range problems {
		group, name, _ := strings.Cut(p.Name, ": ")
		event := slices.Contains([]string{"mount", "create", "start"}, group)
		if name != "" && !event && phrases[name].advice+phrases[name].question == "" {
			t.Errorf("phrases.txt has no advice for %q", name)
		}
	}
	if count < 25 {
		t.Errorf("the rules name only %d phrases", count)
	}
}
