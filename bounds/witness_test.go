package bounds

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Every end of a bound has witnesses, whose expectations hold.
func TestWitnesses(t *testing.T) {
	list := slices.DeleteFunc(theorems(), func(th theorem) bool { return *only != "" && *only != th.name })
	rapid.Check(t, func(t *rapid.T) {
		th := rapid.SampledFrom(list).Draw(t, "theorem")
		s := drawSubject(t, th.needs...)
		b, err := th.bound(s, drawNodes(t))
		if err != nil || b.Least == Never || b.Greatest == Never {
			t.Skip(err)
		}
		for _, c := range []Case{b.AtLeast, b.AtGreatest} {
			if _, err := s.Witnesses("end", c); err != nil {
				t.Errorf("%s: %v\n%s", th.name, err, showCase(c))
			}
		}
	})
}
