package report

import "testing"

// TestItem checks where the end of an item stands.
func TestItem(t *testing.T) {
	for _, test := range []struct{ head, text, end, want string }{
		{"1. ", "short", "a:1", "1. short                                     a:1\n"},
		{"1. ", "a text that needs more than one of the lines here", "a:1",
			"1. a text that needs more than one of the lines\n   here                                      a:1\n"},
		{"1. ", "a text that fills all of its first line", "a/file:1",
			"1. a text that fills all of its first line\n   a/file:1\n"},
		{"1. ", "short", "a/file/whose/name/needs/a/part/of/the/margin:1",
			"1. short\n  a/file/whose/name/needs/a/part/of/the/margin:1\n"},
		{"head", "", "a:1", "head                                         a:1\n"},
		{"a head ", "a text", "", "a head a text\n"},
	} {
		w := Writer{Options: Options{Width: 48}}
		w.Item(Cell{Text: test.head}, test.text, test.end)
		if w.String() != test.want {
			t.Errorf("%q, %q, %q is\n%s\nwant\n%s", test.head, test.text, test.end, w.String(), test.want)
		}
	}
}
