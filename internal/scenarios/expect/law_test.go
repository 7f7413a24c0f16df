package expect

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"probesim.dev/internal/show/report"
	"probesim.dev/internal/value"
	"probesim.dev/scenarios"
	"probesim.dev/trace"
	"probesim.dev/trace/match"
)

// Each run draws the same examples, unless -rapid.seed is set.
var _ = flag.Set("rapid.seed", "1")

// everything is a scenario in which records of each kind are possible, with each subject and each
// word.
const everything = `
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  activeDeadlineSeconds: 500
  containers:
  - name: app
    image: w
    livenessProbe: {exec: {command: [live]}}
    readinessProbe: {exec: {command: [ready]}}
    startupProbe: {exec: {command: [up]}}
    lifecycle: {postStart: {exec: {command: [a]}}, preStop: {exec: {command: [b]}}}
---
apiVersion: probesim.dev/v1alpha1
kind: Scenario
metadata: {name: s}
spec:
  pods: [{name: web}]
  kubelet: {config: {shutdownGracePeriod: 1m}}
  steps:
  - {at: 1m, kill: {}}
  - {at: 1m, patch: {metadata: {labels: {a: b}}}}
  - {at: 1m, evict: {}}
  - {at: 1m, delete: {}}
  - {at: 1m, setDelays: {delays: {exec: 1s}}}
  - {at: 1m, restartKubelet: {}}
  - {at: 1m, rebootNode: {}}
  - {at: 1m, shutdownNode: {}}
  - {at: 1m, apiDown: {}}
  - {at: 1m, runtimeDown: {}}
  - {at: 1m, stepClock: {by: 1s}}
  expect:
`

// universe returns records of a kind with each combination of words, and with a few other values in
// the possible ranges.
func universe(k match.Kind) []trace.Record {
	var all []trace.Record
	for _, s := range k.Shapes {
		r := trace.Record{Kind: k.Kind}
		if s.About != match.Node {
			r.Pod = "default/web"
		}
		list := []trace.Record{r}
		if s.About == match.Container {
			list = vary(list, []int{0, 1}, func(r *trace.Record, n int) { r.Container, r.Instance = "app", n })
		}
		for _, field := range k.Fields {
			list = varyField(list, k.Kind, field, s.Words[field])
		}
		all = append(all, list...)
	}
	return all
}

func varyField(list []trace.Record, kind trace.Kind, field string, words []string) []trace.Record {
	if words == nil { // any text: for each condition, one that meets it
		words = []string{"SandboxChanged", "ImageStatus", "the container", "Failure", ""}
		words = append(words, conditions[field]...)
	}
	switch field {
	case "graceSeconds":
		return vary(list, []int64{2, 30, 1000}, func(r *trace.Record, n int64) { r.GraceSeconds = n })
	case "exitCode":
		return vary(list, []int32{0, 255}, func(r *trace.Record, n int32) { r.ExitCode = n })
	case "took":
		longest, limited := map[trace.Kind]time.Duration{trace.ProbeExecuted: 10 * time.Minute,
			trace.BackOff: 5 * time.Minute}[kind]
		if !limited {
			longest = time.Hour
		}
		return vary(list, []time.Duration{0, longest}, func(r *trace.Record, d time.Duration) { r.Took = d })
	case "probe":
		return vary(list, words, func(r *trace.Record, w string) { r.Probe = trace.Probe(w) })
	case "result":
		return vary(list, words, func(r *trace.Record, w string) { r.Result = trace.Result(w) })
	case "type":
		return vary(list, words, func(r *trace.Record, w string) { r.Type = w })
	case "reason":
		return vary(list, words, func(r *trace.Record, w string) { r.Reason = w })
	}
	return vary(list, words, func(r *trace.Record, w string) { r.Message = w })
}

// vary returns the records with each of the values.
func vary[T any](list []trace.Record, values []T, set func(*trace.Record, T)) []trace.Record {
	var all []trace.Record
	for _, r := range list {
		for _, v := range values {
			set(&r, v)
			all = append(all, r)
		}
	}
	return all
}

// conditions are conditions on fields: possible, impossible, and sometimes possible.
var conditions = map[string][]string{
	"graceSeconds": {"0", "0..1", "..2", "30", "31.."},
	"exitCode":     {"0", "255", "256..", "200..300"},
	"took":         {"0s", "..1s", "4m..", "9m..", "11m.."},
	"probe":        {"liveness", "readiness", "/live|start/", "/^$/", "livenes", "/Probe/"},
	"result":       {"success", "/fail|err/", "/warn/", "failed"},
	"type":         {"Normal", "Warning", "/N|W/", "warning"},
	"message":      {"x", "/./", `""`, "Success", "/Fail/"},
	"reason": {"x", "/./", "LivenessProbe", "Deleted", "/Probe/", "Unhealthy", "Created", "BackOff", "Evicted",
		"/Sandbox/", "kill", "patch",
		"apiDown", "delete", "ExecSync", "StopContainer", "Status", "/Image/", "APIGet", "PLEG", "liveness", "sync",
		"global", "/the container/", "Unhealty"},
}

// TestAcceptedMatchersCanMatch checks that a matcher of records is valid exactly if it matches a
// possible record. An expectation with never can thus fail in some trace, and no useful expectation
// is rejected.
func TestAcceptedMatchersCanMatch(t *testing.T) {
	records := map[trace.Kind][]trace.Record{}
	for _, k := range match.Kinds() {
		records[k.Kind] = universe(k)
	}
	valid, invalid := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.SampledFrom(match.Kinds()).Draw(t, "kind")
		record := "kind: " + string(k.Kind)
		for _, field := range k.Fields {
			if rapid.IntRange(0, 2).Draw(t, "with "+field) > 0 {
				record += fmt.Sprintf(", %s: %s", field, rapid.SampledFrom(conditions[field]).Draw(t, field))
			}
		}
		text := rapid.SampledFrom([]string{"", "pod: web, ", "container: app, ", "instance: 1, "}).Draw(t, "place")
		text = fmt.Sprintf("{%snever: .., record: {%s}}", text, record)
		all, err := scenarios.LoadBytes("s.yaml", []byte(everything+"  - "+text+"\n"), nil)
		if err != nil {
			invalid++
			if m := matches(t, records[k.Kind], text); m != nil {
				t.Fatalf("%s is invalid and would match %+v: %v", text, *m, err)
			}
			return
		}
		valid++
		results, err := Check(all[0].Plan("v1.37", nil), Run{Records: records[k.Kind], Internal: true})
		if err != nil || results[0].Outcome != report.Failed {
			t.Fatalf("%s is valid, but matches no record: %v, %v", text, results, err)
		}
	})
	if valid == 0 || invalid == 0 {
		t.Errorf("%d matchers were valid, %d invalid: the test needs both", valid, invalid)
	}
}

// matches returns the first record that fits the text of a matcher, field by field, or nil. It does
// not use the loader.
func matches(t *rapid.T, records []trace.Record, text string) *trace.Record {
	for i := range records {
		r := &records[i]
		if fits(t, r, text) {
			return r
		}
	}
	return nil
}

// fits compares a record with the text of a matcher.
func fits(t *rapid.T, r *trace.Record, text string) bool {
	switch {
	case strings.Contains(text, "pod:") && r.Pod == "",
		strings.Contains(text, "container:") && r.Container == "",
		strings.Contains(text, "instance:") && (r.Container == "" || r.Instance != 1):
		return false
	}
	_, fields, _ := strings.Cut(text, "record: {")
	for _, part := range strings.Split(strings.TrimSuffix(fields, "}}"), ", ")[1:] {
		name, condition, _ := strings.Cut(part, ": ")
		if !meets(t, r, name, condition) {
			return false
		}
	}
	return true
}

// meets compares a field of a record with a condition.
func meets(t *rapid.T, r *trace.Record, name, condition string) bool {
	var v value.Scalar
	switch name {
	case "graceSeconds":
		v = value.IntOf(r.GraceSeconds)
	case "exitCode":
		v = value.IntOf(int64(r.ExitCode))
	case "took":
		v = value.TimeOf(r.Took)
	default:
		v = value.TextOf(map[string]string{
			"probe": string(r.Probe), "result": string(r.Result), "type": r.Type, "reason": r.Reason,
			"message": r.Message,
		}[name])
	}
	m, err := value.ParseMatch(v.Type, strings.ReplaceAll(condition, `""`, ""))
	if err != nil {
		t.Fatal(err)
	}
	return m.Matches(v)
}
