package githubrunner

import (
	"fmt"
	"testing"
)

func TestCommands(t *testing.T) {
	for log, want := range map[string]string{
		"::error file=a%2Cb%3A,line=3::x%0Ay%25": "error map[file:a,b: line:3] x\ny%",
		" \t\u00a0\u2003::stop-commands::token":  "stop-commands map[] token",
		"a\r::ADD-MASK::x":                       "add-mask map[] x",
		"text ##[set-env name=a;b=c%5D]d%3Be":    "set-env map[b:c] name:a] d;e",
		"##[error]::warning::x":                  "error map[] ::warning::x",
		":\u200d:error::x":                       "error map[] x",
		"\x1b::error::x":                         "error map[] x",
		"#\u034f#[group]x":                       "group map[] x",
		"1:: error::x":                           "",
		"::1 is an address":                      "",
		"[::1]:8080":                             "",
		"#\\x23[error]x":                         "",
		"\\x3a:error::x":                         "",
		"::::":                                   "",
	} {
		got := ""
		for _, c := range Commands(log) {
			got += fmt.Sprintf("%s %v %s", c.Name, c.Properties, c.Data)
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", log, got, want)
		}
	}
}
