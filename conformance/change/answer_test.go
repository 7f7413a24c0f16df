package main

import (
	"bytes"
	"strings"
	"testing"

	"probesim.dev/conformance/runs"
	"probesim.dev/internal/show/document"
)

// bugRun returns a run of a scenario of a bug that differs.
func bugRun(hash string, d *runs.Difference, failed, as []string) runs.Run {
	return runs.Run{Scenario: "started-carried-over", File: "bugs/b18.yaml", Line: 20, Bug: "B18",
		Issue: "https://github.com/kubernetes/kubernetes/issues/141155 https://github.com/kubernetes/kubernetes/pull/1",
		Hash:  hash, Difference: d, Failed: failed, As: as}
}

// TestCompareRuns checks which runs count as altered, and the first line of the answer.
func TestCompareRuns(t *testing.T) {
	seed := int64(7)
	random := func(r runs.Run) runs.Run {
		r.Scenario, r.Seed = "random", &seed
		return r
	}
	killed := &runs.Difference{At: "31.000s", What: "no ContainerStopping LivenessProbe, which the release has then",
		Text: "-      31.000s  default/shop#0  ContainerStopping\n"}
	for title, test := range map[string]struct {
		before, after  runs.Run
		headline, text string
		unknown, once  int
	}{
		"the same trace": {
			before: random(runs.Run{Hash: "1"}), after: random(runs.Run{Hash: "1"}),
			headline: "alters 0 of 0 runs of bugs, 0 of 1 in all",
		},
		"another order of events": {
			before: random(runs.Run{Hash: "1"}), after: random(runs.Run{Hash: "2"}),
			headline: "alters 0 of 0 runs of bugs, 0 of 1 in all",
		},
		"once of two runs": {
			before: random(runs.Run{Hash: "1"}), after: random(runs.Run{Hash: "2", Once: true}),
			headline: "alters 0 of 0 runs of bugs, 0 of 1 in all", text: "1 run differed once", once: 1,
		},
		"a difference": {
			before: random(runs.Run{Hash: "1"}), after: random(runs.Run{Hash: "2", Difference: killed}),
			headline: "alters 0 of 0 runs of bugs, 1 of 1 in all",
			text:     "1 run: no ContainerStopping LivenessProbe, which the release has then",
		},
		"a crash": {
			before: random(runs.Run{Hash: "1"}), after: random(runs.Run{Fault: "exit status 2: panic: \x1b[31mboom"}),
			headline: "alters 0 of 0 runs of bugs, 1 of 1 in all", text: "panic: \\x1b[31mboom",
		},
		"a crash of the release, too": {
			before: random(runs.Run{Fault: "x"}), after: random(runs.Run{Fault: "x"}),
			headline: "alters 0 of 0 runs of bugs, 0 of 1 in all", text: "1 run cannot be compared", unknown: 1,
		},
		"a release that the simulator does not make": {
			before: random(runs.Run{Hash: "1", Difference: killed}), after: random(runs.Run{Hash: "2"}),
			headline: "alters 0 of 0 runs of bugs, 0 of 1 in all", unknown: 1,
		},
		"a bug that behaves as in another version": {
			before:   bugRun("1", nil, nil, nil),
			after:    bugRun("2", killed, []string{"the liveness probe kills"}, []string{"v1.38"}),
			headline: "alters 1 of 1 runs of bugs (#141155 as in v1.38), 1 of 1 in all",
			text:     "no longer holds: the liveness probe kills",
		},
		"a bug of no other version": {
			before: bugRun("1", nil, nil, nil), after: bugRun("2", killed, []string{"x"}, nil),
			headline: "alters 1 of 1 runs of bugs (#141155 no longer so), 1 of 1 in all",
		},
		"a bug whose expectations hold": {
			before: bugRun("1", nil, nil, nil), after: bugRun("2", killed, nil, nil),
			headline: "alters 1 of 1 runs of bugs (#141155 differs), 1 of 1 in all", text: "B18 started-carried-over",
		},
	} {
		a, err := compareRuns([]runs.Run{test.before}, []runs.Run{test.after})
		if err != nil {
			t.Errorf("%s: %v", title, err)
			continue
		}
		if got := a.headline(); got != "The change "+test.headline || a.unknown != test.unknown || a.once != test.once {
			t.Errorf("%s: %s; %d unknown, %d once", title, got, a.unknown, a.once)
		}
		a.release = "v1.37.2"
		for _, format := range document.Formats {
			var b bytes.Buffer
			if err := a.document().Write(&b, format, document.Options{Width: 400}); err != nil {
				t.Errorf("%s: %v", title, err)
			}
			if format == "text" && (!strings.HasPrefix(b.String(), "The change alters ") ||
				!strings.Contains(b.String(), test.text)) {
				t.Errorf("%s:\n%s", title, b.String())
			}
		}
	}
}

// TestOtherRuns checks that lists of different runs are not compared.
func TestOtherRuns(t *testing.T) {
	one := []runs.Run{{Scenario: "a"}}
	for _, other := range [][]runs.Run{nil, {{Scenario: "b"}}, {{Scenario: "a", File: "x"}}} {
		if _, err := compareRuns(one, other); err == nil {
			t.Errorf("compared with %+v", other)
		}
	}
}
