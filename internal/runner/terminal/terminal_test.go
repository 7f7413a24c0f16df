package terminal

import "testing"

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
		if wantsColor("", true, getenv) != test.color || wantsColor("auto", false, getenv) ||
			!wantsColor("always", false, getenv) || wantsColor("never", true, getenv) {
			t.Errorf("%v: colors are wrong for a value of --color", test.env)
		}
		if supportsUnicode(getenv) != test.unicode {
			t.Errorf("%v: Unicode %v", test.env, supportsUnicode(getenv))
		}
	}
}
