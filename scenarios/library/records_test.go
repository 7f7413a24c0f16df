package library

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"probesim.dev/internal/long"
	"probesim.dev/internal/proof/random"
	"probesim.dev/scenarios"
	"probesim.dev/trace"
	"probesim.dev/trace/match"
)

// TestRecordsFitTheirTable checks each record of the library and of random scenarios, internal
// records included, against the table of kinds: it has a shape of its kind, and no field that the
// table does not list. Each kind and each field must occur. Expectations accept each status.
func TestRecordsFitTheirTable(t *testing.T) {
	kinds := map[trace.Kind]*fit{}
	for _, k := range match.Kinds() {
		kinds[k.Kind] = &fit{kind: k, set: map[string]bool{}}
	}
	for _, s := range withRandom(t) {
		records := simulate(t, s.Plans()[0], options{internal: true}).records
		for i := range records {
			if why := kinds[records[i].Kind].add(&records[i]); why != "" {
				t.Fatalf("%s: %s: %s", s.Metadata.Name, why, trace.AppendJSON(nil, &records[i]))
			}
		}
		for _, why := range impossible(s, records) {
			t.Errorf("%s: %s", s.Metadata.Name, why)
		}
	}
	for _, k := range match.Kinds() {
		fields := append(slices.Clone(k.Fields), "a record")
		if slices.ContainsFunc(k.Shapes, func(s match.Shape) bool { return s.About == match.Container }) {
			fields = append(fields, "an instance")
		}
		for _, field := range fields {
			if !kinds[k.Kind].set[field] {
				t.Errorf("%s never has %s", k.Kind, field)
			}
		}
	}
}

// withRandom returns the scenarios of the library and random ones.
func withRandom(t *testing.T) []*scenarios.Scenario {
	all := slices.Clone(load(t))
	for seed := uint64(1); seed <= uint64(long.Sample(20, 120)); seed++ {
		loaded, err := scenarios.LoadBytes("s.yaml", random.Options{Seeds: int(seed % 2)}.Scenario(seed), nil)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, loaded...)
	}
	return all
}

// fit compares records of a kind with the table.
type fit struct {
	kind match.Kind
	set  map[string]bool // fields that were not zero in some record, and what else occurred
}

// add returns what is wrong with a record.
func (f *fit) add(r *trace.Record) string {
	if f == nil {
		return "the kind is not in the table"
	}
	f.set["a record"] = true
	f.set["an instance"] = f.set["an instance"] || r.Instance > 0
	if r.Kind == trace.ResultChanged && !strings.Contains(r.Reason, "_"+r.Container+"_") {
		return "it is about another container than its ID"
	}
	values := map[string]string{
		"probe": string(r.Probe), "result": string(r.Result), "type": r.Type, "reason": r.Reason, "message": r.Message,
		"graceSeconds": nonZero(r.GraceSeconds), "exitCode": nonZero(r.ExitCode), "took": nonZero(r.Took),
	}
	for field, value := range values {
		switch {
		case value == "":
		case !slices.Contains(f.kind.Fields, field):
			return "the table does not list the field " + field
		default:
			f.set[field] = true
		}
	}
	if (r.Status != nil) != (r.Kind == trace.StatusPatched) {
		return "a status"
	}
	for _, s := range f.kind.Shapes {
		if fitsShape(r, s, values) {
			return ""
		}
	}
	return "it has no shape of the table"
}

func nonZero[T comparable](v T) string {
	var zero T
	if v == zero {
		return ""
	}
	return fmt.Sprint(v)
}

func fitsShape(r *trace.Record, s match.Shape, values map[string]string) bool {
	about := match.Node
	switch {
	case r.Container != "" && r.Pod == "":
		return false
	case r.Container != "":
		about = match.Container
	case r.Pod != "":
		about = match.Pod
	}
	if about != s.About || about != match.Container && r.Instance != 0 {
		return false
	}
	for field, words := range s.Words {
		if !slices.Contains(words, values[field]) {
			return false
		}
	}
	return true
}

// impossible describes the statuses in the records of a run that expectations would reject.
func impossible(s *scenarios.Scenario, records []trace.Record) (wrong []string) {
	reasons := slices.Clone(match.ContainerReasons)
	for _, step := range s.Spec.Steps {
		if step.Kill != nil {
			reasons = append(reasons, step.Kill.ReasonOr())
		}
	}
	for _, r := range records {
		if r.Status == nil {
			continue
		}
		if !slices.Contains(match.PodReasons, r.Status.Reason) {
			wrong = append(wrong, fmt.Sprintf("a pod is %+v", *r.Status))
		}
		for _, c := range r.Status.Containers {
			if !slices.Contains(reasons, c.Reason) {
				wrong = append(wrong, fmt.Sprintf("a container is %+v", c))
			}
		}
	}
	return wrong
}
