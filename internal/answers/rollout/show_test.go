package rollout_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"probesim.dev/internal/answers/rollout"
	"probesim.dev/internal/input"
	"probesim.dev/internal/show/why"
	"probesim.dev/internal/value"
	"probesim.dev/trace"
)

// Show makes the worst run of a report again: it loses as many requests, and its trace explains all
// of them.
func TestShow(t *testing.T) {
	for name, file := range map[string]manifest{"with a readiness probe": {replicas: 3},
		"without one":       {replicas: 2, noReadiness: true},
		"with two Services": {replicas: 3, more: service("internal", 8080)}} {
		o := options()
		o.App.Start.Ordinary = &value.Interval{Min: 3 * time.Second, Max: 6 * time.Second}
		o.Runs, o.Keep = 8, true
		files := []input.File{file.file()}
		r, err := rollout.Run(files, nil, o)
		if err != nil {
			t.Fatal(err)
		}
		w := &r.Workloads[0]
		shown, err := rollout.Show(t.Context(), files, nil, o, w.Worst.Seed)
		if err != nil {
			t.Fatal(err)
		}
		s := shown[0]
		most, all := 0.0, 0.0
		for _, l := range s.Lost {
			most, all = max(most, l.Lost), all+l.Lost
		}
		if math.Abs(most-w.Lost.Greatest) > 0.001 || !slices.Equal(w.Worst.Run.Lost, s.Lost) || most == 0 {
			t.Errorf("%s: the run with seed %d loses %v, and the report says %v", name, s.Seed, s.Lost, w.Lost.Greatest)
		}
		if trace.Hash(s.Records) != trace.Hash(w.Worst.Run.Records) {
			t.Errorf("%s: the run of the report and the shown one differ", name)
		}
		explained, sum := why.New(s.Records, s.Pods, s.End), 0.0
		for n := 1; n <= explained.Losses(); n++ {
			race, _ := explained.Lost(n)
			if race.From >= s.Change {
				sum += race.Lost
			}
			if race.Text == "" || race.Begin.Text == "" || len(race.Fork)+len(race.Begin.Steps) == 0 {
				t.Errorf("%s: loss %d is explained by %+v", name, n, race)
			}
		}
		if math.Abs(sum-all) > 0.001 {
			t.Errorf("%s: the losses have %v requests, and the run loses %v", name, sum, s.Lost)
		}
	}
}

// Each step of each loss is described in words, not by the name of a record.
func TestShowExplainsInWords(t *testing.T) {
	o := options()
	losses := 0
	for seed := int64(1); seed <= 40; seed++ {
		shown, err := rollout.Show(t.Context(), []input.File{manifest{replicas: 3}.file()}, nil, o, seed)
		if err != nil {
			t.Fatal(err)
		}
		run := why.New(shown[0].Records, shown[0].Pods, shown[0].End)
		for n := 1; n <= run.Losses(); n++ {
			race, _ := run.Lost(n)
			losses++
			for _, l := range race.Fork {
				wordsOnly(t, seed, l.Text)
			}
			for _, h := range slices.Concat(race.Begin.Steps, race.End.Steps) {
				wordsOnly(t, seed, h.Text)
			}
		}
	}
	if losses < 40 {
		t.Errorf("only %d losses", losses)
	}
}

// A loss names its Service if requests to several are lost.
func TestShowNamesServices(t *testing.T) {
	for more, named := range map[string]bool{"": false, service("internal", 8080): true} {
		shown, err := rollout.Show(t.Context(), []input.File{manifest{replicas: 3, more: more}.file()}, nil, options(),
			1)
		if err != nil {
			t.Fatal(err)
		}
		race, _ := why.New(shown[0].Records, shown[0].Pods, shown[0].End).Lost(1)
		if strings.Contains(race.Text, " to Service ") != named {
			t.Errorf("named %v: %s", named, race.Text)
		}
	}
}

func wordsOnly(t *testing.T, seed int64, text string) {
	t.Helper()
	if text == "" || strings.Contains(text, "the record ") {
		t.Errorf("seed %d has the step %q", seed, text)
	}
}

// The only Deployment of a name is rolled out, and the command that shows a run of several names
// the one.
func TestWorkload(t *testing.T) {
	two := []input.File{manifest{replicas: 3}.file(), {Name: "api.yaml", Data: []byte(other)}}
	o := options()
	o.Runs, o.Command = 1, "probesim rollout ."
	r, err := rollout.Run(two, nil, o)
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Workloads[1].Worst.Command; got != "probesim rollout . --workload default/api --seed 0" {
		t.Errorf("the command is %q", got)
	}
	o.Workload = "api"
	if r, err = rollout.Run(two, nil, o); err != nil || len(r.Workloads) != 1 || r.Workloads[0].Name != "api" {
		t.Errorf("%v: %+v", err, r)
	}
	o.Workload = "apo"
	if _, err = rollout.Run(two, nil, o); err == nil ||
		err.Error() != `there is no Deployment "apo" (did you mean "api"?); there are: web, api` {
		t.Error(err)
	}
}

const other = `{apiVersion: apps/v1, kind: Deployment, metadata: {name: api}, spec: {selector: {matchLabels: {app: api}}, template: {metadata: {labels: {app: api}},
  spec: {containers: [{name: app, image: "api:1"}]}}}}
`

// options restart a Deployment on typical nodes at 100 requests a second.
func options() rollout.Options {
	return rollout.Options{Delays: "typical", Rate: 100,
		Latency: value.Interval{Min: 10 * time.Millisecond, Max: 50 * time.Millisecond}}
}
