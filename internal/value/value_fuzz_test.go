package value

import (
	"encoding"
	"fmt"
	"testing"
)

// FuzzText parses a text as each type of value. A value that is accepted is formatted to a text
// that stands for the same value.
func FuzzText(f *testing.F) {
	for _, seed := range []string{"45s", "1m30s", "-1m", "2s..4s", "..", "5", "2..", "5%", "v1.37", "v1.36..v1.37",
		"ok", "ok in 2s", "404 in 1s..2s", "SERVING", "never", "137", "/a.*b/", "-0s", "0.0000000001s", "1e5"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		roundTrip[Duration](t, text)
		roundTrip[Offset](t, text)
		roundTrip[Draw](t, text)
		roundTrip[TimeRange](t, text)
		roundTrip[IntRange](t, text)
		roundTrip[VersionRange](t, text)
		roundTrip[Answer](t, text)
		roundTrip[Exit](t, text)
		for _, typ := range []Type{Bool, Int, Time, Text} {
			if m, err := ParseMatch(typ, text); err == nil && m.String() != text {
				t.Fatalf("the match %q is written %q", text, m)
			}
		}
		new(Percent).UnmarshalText([]byte(text))
		new(Code).UnmarshalText([]byte(text))
	})
}

// roundTrip parses a text, formats the value, and parses it again.
func roundTrip[T any, P interface {
	*T
	encoding.TextUnmarshaler
	fmt.Stringer
}](t *testing.T, text string) {
	t.Helper()
	first, second := P(new(T)), P(new(T))
	if first.UnmarshalText([]byte(text)) != nil {
		return
	}
	if err := second.UnmarshalText([]byte(first.String())); err != nil {
		t.Fatalf("%T %q is written %q, which is invalid: %v", *first, text, first, err)
	}
	if first.String() != second.String() {
		t.Fatalf("%T %q is written %q and then %q", *first, text, first, second)
	}
}
