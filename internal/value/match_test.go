package value

import (
	"testing"
	"time"
)

func TestMatch(t *testing.T) {
	for _, test := range []struct {
		typ     Type
		text    string
		yes, no []Scalar
	}{
		{Bool, "true", []Scalar{BoolOf(true)}, []Scalar{BoolOf(false)}},
		{Bool, "false", []Scalar{BoolOf(false)}, []Scalar{BoolOf(true)}},
		{Int, "5", []Scalar{IntOf(5)}, []Scalar{IntOf(4), IntOf(6)}},
		{Int, "1..", []Scalar{IntOf(1), IntOf(99)}, []Scalar{IntOf(0)}},
		{Time, "1s..2s", []Scalar{TimeOf(time.Second), TimeOf(2 * time.Second)}, []Scalar{TimeOf(time.Millisecond)}},
		{Text, "Error", []Scalar{TextOf("Error")}, []Scalar{TextOf("error"), TextOf("Errors"), TextOf("")}},
		{Text, "", []Scalar{TextOf("")}, []Scalar{TextOf("Error")}},
		{Text, "5..6", []Scalar{TextOf("5..6")}, []Scalar{TextOf("5")}},
		{Text, "/^a.*b$/", []Scalar{TextOf("ab"), TextOf("a b")}, []Scalar{TextOf("abc")}},
		{Text, "/a/b/", []Scalar{TextOf("xa/bx")}, []Scalar{TextOf("ab")}},
	} {
		m, err := ParseMatch(test.typ, test.text)
		if err != nil {
			t.Error(err)
			continue
		}
		if m.String() != test.text {
			t.Errorf("%s is formatted as %s", test.text, m)
		}
		for _, s := range test.yes {
			if !m.Matches(s) {
				t.Errorf("%s does not match %s", m, s)
			}
		}
		for _, s := range test.no {
			if m.Matches(s) {
				t.Errorf("%s matches %s", m, s)
			}
		}
	}
}

func TestMatchErrors(t *testing.T) {
	for _, test := range []struct {
		typ        Type
		text, want string
	}{
		{Bool, "yes", `"yes" is neither true nor false`},
		{Int, "x", `"x" is not a whole number`},
		{Int, "2..1", `"2..1" is empty: it ends before it begins`},
		{Time, "5", `"5" has no unit: write 5s or 5ms`},
		{Text, "/", `"/" begins with a slash but does not end with one`},
		{Text, "//", `// matches every text: leave the field out`},
		{Text, "/a", `"/a" begins with a slash but does not end with one`},
		{Text, "/[/", "\"/[/\" is not an RE2 expression: missing closing ]: `[`"},
	} {
		if _, err := ParseMatch(test.typ, test.text); err == nil || err.Error() != test.want {
			t.Errorf("%q: %v", test.text, err)
		}
	}
}

func TestScalarText(t *testing.T) {
	for want, s := range map[string]Scalar{
		"true": BoolOf(true), "false": BoolOf(false), "137": IntOf(137), "1m": TimeOf(time.Minute),
		"Error": TextOf("Error"),
	} {
		if s.String() != want {
			t.Errorf("%s is formatted as %s", want, s)
		}
	}
}
