package verdict

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestClassify checks the class of each output that a probe can have, in the words of the programs
// that write them.
func TestClassify(t *testing.T) {
	data, err := os.ReadFile("testdata/classes.txt")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[Class]bool{}
	for line := range strings.Lines(string(data)) {
		want, output, is := strings.Cut(strings.TrimSpace(line), ":")
		if !is || line[0] == '#' {
			continue
		}
		seen[Class(want)] = true
		output = strings.ReplaceAll(strings.TrimPrefix(output, " "), `\n`, "\n")
		if got := classify(output); got != Class(want) {
			t.Errorf("classify(%q) = %s, want %s", output, got, want)
		}
	}
	for class := range known {
		if !seen[class] {
			t.Errorf("testdata/classes.txt has no message of the class %s", class)
		}
	}
}

// TestWordsClaimNoMore checks that the words about the failures of a class claim no connection and
// no answer that its messages do not prove.
func TestWordsClaimNoMore(t *testing.T) {
	claims := []struct {
		words *regexp.Regexp
		needs func(Known) bool
	}{
		{regexp.MustCompile(`server (?:answers|does not have)|do not agree`), func(k Known) bool { return k.Answer == Yes }},
		{regexp.MustCompile(`connection came about\{port\}, and|got a connection|closed the connection|took the`),
			func(k Known) bool { return k.Connection == Yes }},
		{regexp.MustCompile(`No connection came about\{port\}: the|got no connection\{port\}: the packets got no answer\.`),
			func(k Known) bool { return k.Connection == No }},
		{regexp.MustCompile(`^No answer came|in time\.$`), func(k Known) bool { return k.Answer == No }},
	}
	for class := range known {
		for _, of := range []string{"", " of tool"} {
			text := phrases["failure "+string(class)+of].sentence
			if text == "" && of == "" {
				t.Errorf("no words for the class %s", class)
			}
			for _, claim := range claims {
				if claim.words.MatchString(text) && !claim.needs(known[class]) {
					t.Errorf("the words for %s%s say %q, but its messages prove %v", class, of, text, known[class])
				}
			}
		}
	}
}
