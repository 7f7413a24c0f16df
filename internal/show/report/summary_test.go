package report

import (
	"errors"
	"strings"
	"testing"
	"time"

	"probesim.dev/internal/show/summary"
	"probesim.dev/sim/virtual"
)

// seeded returns a case with a run for each of the numbers, whose seeds count from 1. Nil stands
// for a run that ended early.
func seeded(numbers ...*summary.Numbers) *Case {
	c := &Case{Scenario: "web", File: "web.yaml", Line: 3, Kubernetes: "v1.37", Statistics: summary.New(nil)}
	for i, n := range numbers {
		r := &Run{Scenario: c.Scenario, Kubernetes: c.Kubernetes, Seed: new(int64(i + 1)),
			Until: virtual.At(time.Minute), Replay: "probesim run web.yaml"}
		if n == nil {
			r.Err = errors.New("stopped at 5s: too many pods\nTo repeat this run: probesim run")
		} else {
			r.Total = *n
			c.Statistics.Add(int64(i+1), []summary.Pod{{Name: "default/web", Numbers: *n}})
		}
		c.Runs = append(c.Runs, r)
	}
	return c
}

func summarized(t *testing.T, c *Case) string {
	var b strings.Builder
	if err := CaseSummary(&b, c, 0, Options{}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestSummaryOfRunsThatEndedEarly(t *testing.T) {
	got := summarized(t, seeded(&summary.Numbers{ToReady: 2 * time.Second}, nil, nil,
		&summary.Numbers{ToReady: 3 * time.Second}, nil))
	want := `ERROR   web  v1.37  seeds 1..5  1m  2 ok, 3 ended early
  ERROR  seed 2: stopped at 5s: too many pods
    To repeat this run: probesim run
  and seeds 3, 5 ended early

                             min  median     p95     max  seed
  web
    restarts                   0       0       0       0
    time to Ready         2.000s  2.000s  3.000s  3.000s     4
    not Ready afterwards  0.000s  0.000s  0.000s  0.000s
  The numbers do not include 3 runs that ended early.

  first failure and worst run: seed 2, ended early
    probesim run web.yaml

`
	if got != want {
		t.Errorf("got\n%s", got)
	}
}

// TestSummaryNeverReady checks that a pod that is not Ready at any time gets words instead of
// numbers.
func TestSummaryNeverReady(t *testing.T) {
	got := summarized(t, seeded(&summary.Numbers{ToReady: summary.Never},
		&summary.Numbers{ToReady: summary.Never, Restarts: 2}))
	want := `ok      web  v1.37  seeds 1..2  1m  2 ok  nothing was checked

                   min  median  p95    max  seed
  web
    restarts         0       0    2      2     2
    time to Ready                    never
      not Ready at any time of the run

  worst run: seed 2, 2 restarts, never Ready
    probesim run web.yaml

`
	if got != want {
		t.Errorf("got\n%s", got)
	}
}

func TestTable(t *testing.T) {
	table := &Table{Left: 1}
	table.Head("", "least", "most")
	table.Line("pods", Bold)
	table.Row(Cell{"  web\x1b[1m", Plain}, Cell{"1s", Plain}, Cell{"10.5s", Bad})
	table.Row(Cell{"  é", Plain}, Cell{"22m", Warn})
	for _, test := range []struct {
		o    Options
		want string
	}{
		{Options{Indent: 1}, "               least   most\n pods\n   web\\x1b[1m     1s  10.5s\n   é             " +
			"22m\n"},
		{Options{Color: true}, "              \x1b[2mleast\x1b[0m   \x1b[2mmost\x1b[0m\n\x1b[1mpods\x1b[0m\n  " +
			"web\\x1b[1m     1s  \x1b[31m10.5s\x1b[0m\n  é             \x1b[33m22m\x1b[0m\n"},
		{Options{Width: 40, Indent: 20}, strings.Repeat(" ", 20) + "pods\n" + strings.Repeat(" ", 20) +
			"  web\\x1b[1m\n" + strings.Repeat(" ", 26) + "least 1s, most 10.5s\n" +
			strings.Repeat(" ", 20) + "  é\n" + strings.Repeat(" ", 26) + "least 22m\n"},
	} {
		var b strings.Builder
		if err := table.Write(&b, test.o); err != nil || b.String() != test.want {
			t.Errorf("%+v:\n%q, want\n%q", test.o, b.String(), test.want)
		}
	}
}
