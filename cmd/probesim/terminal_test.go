package main

import (
	"strings"
	"testing"
)

func TestColorAndCharacters(t *testing.T) {
	for _, test := range []struct {
		env            map[string]string
		color, unicode bool
	}{
		{nil, true, true},
		{map[string]string{"NO_COLOR": "1", "LANG": "en_US.UTF-8"}, false, true},
		{map[string]string{"NO_COLOR": "", "TERM": "xterm", "LANG": "C.utf8"}, true, true},
		{map[string]string{"TERM": "dumb", "LANG": "C"}, false, false},
		{map[string]string{"LC_ALL": "POSIX", "LANG": "en_US.UTF-8"}, true, false},
		{map[string]string{"LC_CTYPE": "de_DE.UTF-8", "LANG": "de_DE.ISO-8859-1"}, true, true},
	} {
		getenv := func(name string) string { return test.env[name] }
		if colorChoice("").wanted(true, getenv) != test.color || colorChoice("auto").wanted(false, getenv) ||
			!colorChoice("always").wanted(false, getenv) || colorChoice("never").wanted(true, getenv) {
			t.Errorf("%v: colors are wrong for a value of --color", test.env)
		}
		if wantsColor(getenv) != test.color || supportsUnicode(getenv) != test.unicode {
			t.Errorf("%v: color %v, Unicode %v", test.env, wantsColor(getenv), supportsUnicode(getenv))
		}
	}
}

func TestQuote(t *testing.T) {
	for word, want := range map[string]string{"a/b.yaml": "a/b.yaml", "": "''", "^x$": "'^x$'", "it's": `'it'\''s'`, "a b": "'a b'"} {
		if got := quote(word); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestFew(t *testing.T) {
	names := strings.Split(strings.Repeat("a", 22), "")
	if got := few(names[:21]); strings.Count(got, "a") != 21 {
		t.Errorf("of 21: %s", got)
	}
	if got := few(names); !strings.HasSuffix(got, ", a and 2 more") || strings.Count(got, "a, ") != 19 {
		t.Errorf("of 22: %s", got)
	}
}
