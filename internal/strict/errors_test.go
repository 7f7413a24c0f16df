package strict

import (
	"fmt"
	"testing"
)

// TestErrorsAboutOnePlace checks that many errors about one field are shortened, and few are not.
func TestErrorsAboutOnePlace(t *testing.T) {
	for n, want := range map[int]string{
		4: "a.yaml:2:3: name: 0\na.yaml:2:3: name: 1\na.yaml:2:3: name: 2\na.yaml:2:3: name: 3\na.yaml:9:1: kind: other",
		6: "a.yaml:2:3: name: 0\na.yaml:2:3: name: 1\na.yaml:2:3: name: 2\na.yaml:2:3: name: and 3 more errors about this\na.yaml:9:1: kind: other",
	} {
		var c Collector
		c.Add(Error{Pos: Pos{"a.yaml", 9, 1}, Path: "kind", Message: "other"})
		for i := range n {
			c.Add(Error{Pos: Pos{"a.yaml", 2, 3}, Path: "name", Message: fmt.Sprint(i)})
		}
		if got := c.Err().Error(); got != want {
			t.Errorf("%d errors:\n%s\nwant\n%s", n, got, want)
		}
	}
}
