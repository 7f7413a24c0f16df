package report

import (
	"errors"
	"strings"
	"testing"
)

func TestGitHub(t *testing.T) {
	seeds := []int64{1, 2, 3}
	held, failed := []Expectation{{Name: "first", Outcome: OK}},
		[]Expectation{{Name: "first", File: "f.yaml", Line: 4, Column: 2, Outcome: Failed,
			Failures: []Failure{{Expected: "this", Got: "that"}}, More: 1}}
	run := func(i int, e []Expectation) *Run {
		return &Run{Seed: &seeds[i], Replay: "run --seed " + string(rune('1'+i)), Expectations: e}
	}
	broken := run(2, nil)
	broken.Err = errors.New("a limit\nwas hit")
	all := []Case{
		{Scenario: "s", Kubernetes: "v1", File: "f.yaml", Line: 1, Runs: []*Run{run(0, held), run(1, failed), broken}},
		{Scenario: "ok", Kubernetes: "v1", File: "f.yaml", Line: 9, Runs: []*Run{run(0, held)}},
		{Scenario: "some", Kubernetes: "v1", File: "f.yaml", Line: 9, Runs: []*Run{run(0, held), run(1, held)},
			Expectations: failed},
	}
	var b strings.Builder
	if err := Findings(all).Write(&b, "github", func(file string) string { return "sub/" + file }); err != nil {
		t.Fatal(err)
	}
	want := `::error file=sub/f.yaml,line=1,title=s [v1] ended early::a limit%0Awas hit%0ATo repeat this run: run --seed 3
::error file=sub/f.yaml,line=4,col=2,title=s [v1] failed::first%0Aexpected  this%0Agot       that%0Aand 1 more%0AIt failed in 1 of 3 runs.%0ATo repeat this run: run --seed 2
::error file=sub/f.yaml,line=4,col=2,title=some [v1] failed::first%0Aexpected  this%0Agot       that%0Aand 1 more%0AIt did not hold in any of 2 runs.
`
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}
