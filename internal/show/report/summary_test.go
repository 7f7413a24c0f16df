package report

import (
	"errors"
	"strings"
	"testing"
	"time"

	"probesim.dev/internal/show/document"
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
	if err := CaseSummary(&b, c, document.Options{}); err != nil {
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
