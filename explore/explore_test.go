package explore_test

import (
	"bytes"
	"context"
	"encoding/json"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"probesim.dev/explore"
	"probesim.dev/internal/show/document"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/library"
)

// TestMain lets the garbage collector run less often: the heap of a run is small, and the runs
// allocate much.
func TestMain(m *testing.M) {
	debug.SetGCPercent(800)
	m.Run()
}

// race is a scenario in which a race decides when the pod becomes ready (B6).
const race = `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec: {containers: [{name: app, image: "web:1", readinessProbe: {exec: {command: [ready]}, periodSeconds: 5}}]}
---
apiVersion: probesim.dev/v1alpha1
kind: Scenario
metadata: {name: race}
spec:
  duration: 20s
  pods: [{name: web}]
  expect: [{name: ready at once, first: 0s..4s, becomes: {ready: true}}]
`

// subject returns the last scenario of a file, on the newest version that it runs on.
func subject(t testing.TB, text string) explore.Subject {
	t.Helper()
	all, err := scenarios.LoadBytes("scenario.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return subjectOf(all[len(all)-1])
}

func subjectOf(s *scenarios.Scenario) explore.Subject {
	plans := s.Plans()
	return explore.Subject{Plan: s.Plan(plans[len(plans)-1].Version, nil)}
}

// countedOverACrash returns a scenario of the library about failures or successes that count over a
// crash.
func countedOverACrash(t testing.TB, name string) explore.Subject {
	t.Helper()
	text, err := library.FS.ReadFile("bugs/b22-count-survives-a-crash.yaml")
	if err != nil {
		t.Fatal(err)
	}
	all, err := scenarios.LoadBytes("b22.yaml", text, library.FS.ReadFile)
	if err != nil {
		t.Fatal(err)
	}
	return subjectOf(all[slices.IndexFunc(all, func(s *scenarios.Scenario) bool { return s.Metadata.Name == name })])
}

func exploreSubject(t testing.TB, s explore.Subject, o explore.Options) *explore.Result {
	t.Helper()
	r, err := explore.Explore(context.Background(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// A race is found by one choice, as an expectation that fails.
func TestExploreFindsARace(t *testing.T) {
	r := exploreSubject(t, subject(t, race), explore.Options{Policies: []string{"canonical", "orders"}})
	if !r.Bad() || len(r.Findings()) != 1 || r.Findings()[0].Text != "expectation failed: ready at once" {
		t.Errorf("the findings are %+v", r.Findings())
	}
	if r.Complete != "orders with one deviation" || r.Ended != "everything within the bounds was searched" {
		t.Errorf("ended by %s, complete for %q", r.Ended, r.Complete)
	}
	failed := slices.IndexFunc(r.Outcomes, func(o *explore.Outcome) bool { return o.History.Bad() })
	if o := r.Outcomes[failed]; len(o.Change.Choices) != 1 || o.Change.Choices[0].Kind != "preemption" ||
		o.Policy != "orders" {
		t.Errorf("the witness is %+v", o.Change)
	}
}

// Without the expectation, the history is the same: the times show the race.
func TestSpread(t *testing.T) {
	text, _, _ := strings.Cut(race, "  expect:")
	r := exploreSubject(t, subject(t, text), explore.Options{Policies: []string{"canonical", "orders"}})
	if len(r.Outcomes) != 1 || len(r.Outcomes[0].Spread) != 1 {
		t.Fatalf("outcomes: %+v", r.Outcomes)
	}
	s := r.Outcomes[0].Spread[0]
	if s.Period != 5*time.Second || s.To.Sub(s.From) < 4*time.Second || s.Early == nil || len(s.Late.Choices) != 1 {
		t.Errorf("the spread is %+v", s)
	}
}

// Each witness repeats its run: the same history, and the same trace.
func TestWitnessesReplay(t *testing.T) {
	for _, s := range []explore.Subject{subject(t, race), countedOverACrash(t, "failures-are-counted-over-a-crash")} {
		r := exploreSubject(t, s, explore.Options{Runs: 600,
			Policies: []string{"canonical", "restarts", "moves", "orders", "seeds", "products"}})
		if len(r.Outcomes) < 2 {
			t.Errorf("%s has %d outcomes", r.Scenario, len(r.Outcomes))
		}
		for _, o := range r.Outcomes {
			w, err := s.Witness(o.Change, nil)
			if err != nil {
				t.Fatal(err)
			}
			if w, err = explore.ReadWitness("w.json", w.JSON()); err != nil {
				t.Fatal(err)
			}
			again, err := w.Subject([]*scenarios.Scenario{s.Plan.Scenario})
			if err != nil {
				t.Fatal(err)
			}
			run := again.Run(w.Change, true)
			if run.Hash() != w.TraceHash || run.History.ID() != o.ID || w.Outcome != o.ID {
				t.Errorf("%s: the witness of %s (%v) repeats %s with trace %s, want %s", r.Scenario, o.ID,
					o.Change.Lines(), run.History.ID(), run.Hash(), w.TraceHash)
			}
		}
	}
}

// Any number of shards gives the same result as one exploration, in any order, through JSON.
func TestShards(t *testing.T) {
	s := countedOverACrash(t, "successes-are-counted-over-a-crash")
	o := explore.Options{Runs: 700}
	want := toJSON(t, exploreSubject(t, s, o))
	for _, shards := range []int{1, 2, 7} {
		var parts []*explore.Result
		for i := range shards {
			o.Shard, o.Shards = shards-1-i, shards
			part := &explore.Result{}
			if err := json.Unmarshal(toJSON(t, exploreSubject(t, s, o)), part); err != nil {
				t.Fatal(err)
			}
			parts = append(parts, part)
		}
		merged, err := explore.Merge(parts)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), string(toJSON(t, merged))); diff != "" {
			t.Errorf("%d shards (-want +got):\n%s", shards, diff)
		}
	}
}

func TestMergeRejectsOtherParts(t *testing.T) {
	s := subject(t, race)
	part := func(shard, shards, runs int) *explore.Result {
		return exploreSubject(t, s, explore.Options{Runs: runs, Shard: shard, Shards: shards,
			Policies: []string{"canonical", "phases"}})
	}
	whole := exploreSubject(t, s, explore.Options{Runs: 5})
	for _, test := range []struct {
		parts []*explore.Result
		want  string
	}{
		{nil, "there is no result"},
		{[]*explore.Result{whole}, "is not a part"},
		{[]*explore.Result{part(0, 3, 9), part(2, 3, 9)}, "parts are missing: 1/3"},
		{[]*explore.Result{part(0, 2, 9), part(0, 2, 9)}, "part 0 of 2 is there twice"},
		{[]*explore.Result{part(0, 2, 9), part(1, 2, 8)}, "not of the same exploration"},
	} {
		if _, err := explore.Merge(test.parts); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("the error is %v, want %q", err, test.want)
		}
	}
}

// Parts that are done in any order, by several workers, give the same result when they are added in
// order.
func TestOrderOfTasks(t *testing.T) {
	s, o := countedOverACrash(t, "failures-are-counted-over-a-crash"), explore.Options{Runs: 300}
	x, err := explore.New(context.Background(), s, o)
	if err != nil {
		t.Fatal(err)
	}
	parts := make([]*explore.Part, x.Tasks())
	for i := range slices.Backward(parts) {
		parts[i] = x.Do(context.Background(), i)
	}
	for _, p := range parts {
		x.Add(p)
	}
	if diff := cmp.Diff(exploreSubject(t, s, o), x.Result(), cmpopts.IgnoreUnexported(explore.Result{})); diff != "" {
		t.Errorf("another order of the tasks gives another result (-want +got):\n%s", diff)
	}
}

// An exploration that is stopped keeps what it found.
func TestStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	x, err := explore.New(ctx, subject(t, race), explore.Options{Runs: 50})
	if err != nil {
		t.Fatal(err)
	}
	x.Add(x.Do(ctx, 0))
	cancel()
	x.Add(x.Do(ctx, 1))
	r := x.Result()
	if r.Runs != 1 || len(r.Outcomes) != 1 || r.Ended != "the search was stopped before its end" || r.Complete != "" {
		t.Errorf("the result is %+v", r)
	}
}

// The bound that ended a search is named, and a search that it cut is not complete.
func TestBounds(t *testing.T) {
	s := subject(t, race)
	r := exploreSubject(t, s, explore.Options{Runs: 10, Policies: []string{"canonical", "orders", "pairs"}})
	if r.Runs != 10 || r.Ended != "the maximum number of runs" || r.Complete != "" {
		t.Errorf("%d runs, ended by %s, complete for %q", r.Runs, r.Ended, r.Complete)
	}
	r = exploreSubject(t, s, explore.Options{Deviations: 1, Policies: []string{"orders", "pairs"}})
	if r.Ended != "everything within the bounds was searched" || r.Complete != "orders with one deviation" {
		t.Errorf("ended by %s, complete for %q", r.Ended, r.Complete)
	}
}

func TestInvalidOptions(t *testing.T) {
	_, err := explore.New(context.Background(), subject(t, race),
		explore.Options{Policies: []string{"luck"}, Runs: -1, Deviations: 3, Seeds: -1, Shard: 2, Shards: 2})
	for _, want := range []string{`no policy "luck"`, "number of runs", "number of deviations", "number of seeds",
		"number of a shard"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want also %q", err, want)
		}
	}
}

// The text for a terminal has no line of more than 80 columns, and names the command that replays a
// failure.
func TestText(t *testing.T) {
	var b bytes.Buffer
	r := exploreSubject(t, subject(t, race), explore.Options{Runs: 400})
	err := explore.Text(&b, r, explore.TextOptions{Options: document.Options{Width: 80},
		Replay: func(*explore.Outcome) string {
			return "probesim replay w.json"
		}})
	if err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for _, want := range []string{"race  v1.37  320 runs", "Ended by: the maximum number of runs.",
		"FAIL  expectation failed: ready at once", "  probesim replay w.json\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("the text lacks %q:\n%s", want, text)
		}
	}
	for line := range strings.Lines(text) {
		if len(line) > 81 {
			t.Errorf("more than 80 columns: %s", line)
		}
	}
}

func TestReadWitnessRejects(t *testing.T) {
	s := subject(t, race)
	change := explore.Change{
		Uptime: new(time.Minute), Faults: []explore.Fault{{Kind: explore.KubeletRestart, At: time.Second}},
		Choices: []explore.Choice{{Kind: "jitter", Fraction: 0.25, Value: 7}},
	}
	w, err := s.Witness(change, nil)
	if err != nil {
		t.Fatal(err)
	}
	valid := string(w.JSON())
	for change, want := range map[string]string{
		`"kind": "Witness"/"kind": "Pod"`:         "needs apiVersion",
		`"kind": "kubelet restart"/"kind": "sun"`: `no fault of kind "sun"`,
		`"at": 1000000000/"at": -1`:               "must not be negative",
		`"scenario": "race"/"scenario": ""`:       "scenario: must be set",
		`"outcome"/"result"`:                      "unknown field",
		`"value": 7/"value": -7`:                  "value must not be negative",
		`"fraction": 0.25/"fraction": 1`:          "fraction must be from 0 to below 1",
		"\"uptime\": 60000000000,\n    \"faults\"/\"uptime\": -1,\n    \"faults\"": "change.uptime: must be from 0",
	} {
		old, new, _ := strings.Cut(change, "/")
		text := strings.Replace(valid, old, new, 1)
		if text == valid {
			t.Fatalf("%s changes nothing in\n%s", change, valid)
		}
		if _, err := explore.ReadWitness("w.json", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v, want %q", change, err, want)
		}
	}
}

func toJSON(t testing.TB, r *explore.Result) []byte {
	t.Helper()
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Errors about a witness name the place and what is wrong.
func TestReadWitnessErrors(t *testing.T) {
	const head = `{"apiVersion": "probesim.dev/v1alpha1", "kind": "Witness", `
	for _, test := range []struct{ data, want string }{
		{"{\n  \"kind\": \"Witness\",\n", "w.json:2:21: is not a witness of 'probesim explore': from here on, it is " +
			"not valid JSON"},
		{"", "w.json:1:1: is not a witness of 'probesim explore': from here on, it is not valid JSON"},
		{"kind: Witness", "w.json:1:1: is not a witness of 'probesim explore': from here on, it is not valid JSON"},
		{"{\n  \"kind\": }", "w.json:2:11: is not a witness of 'probesim explore': from here on, it is not valid JSON"},
		{"{\"kind\": \"Witness\"}", "w.json:1:1: is not a witness of 'probesim explore': it needs apiVersion " +
			"probesim.dev/v1alpha1 and kind Witness"},
		{head + "\"change\": {\"choices\": [{\n\"index\": \"x\"}]}}",
			"w.json:2:10: change.choices[0].index: must be a whole number, not the string \"x\""},
		{head + "\"change\": 1}", "change: must be a mapping, not the number 1"},
		{head + "\"colour\": 1}", "colour: unknown field"},
		{head + "\"uptime\": 10000000000000000000}", "uptime: 10000000000000000000 is out of range for 64 bits"},
		{head + "\"scenario\": \"s\", \"traceHash\": \"0\"}", "file: must be set"},
		{head + "\"file\": \"f\", \"scenario\": \"s\", \"traceHash\": \"0\", \"kubernetes\": \"v9\"}",
			"kubernetes: must be a version that probesim supports"},
	} {
		if _, err := explore.ReadWitness("w.json", []byte(test.data)); err == nil ||
			!strings.Contains(err.Error(), test.want) {
			t.Errorf("%q gives %v, want %q", test.data, err, test.want)
		}
	}
}
