package explore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"probesim.dev/internal/answers/invariants"
	"probesim.dev/internal/answers/shrink"
	"probesim.dev/internal/scenarios/expect"
	"probesim.dev/internal/show/report"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/plan"
	"probesim.dev/sim/choose"
	"probesim.dev/trace"
)

// ShrinkOptions configure Shrink. The zero value shrinks the first finding that is not a known bug,
// or else the first one.
type ShrinkOptions struct {
	Finding  string      // the beginning of the finding to keep, such as "no-ready-while-stopping"; empty: see above
	Trials   int         // maximum number of smaller files to try; 0: 2000
	Enough   func() bool // ends the search when it returns true, unless nil
	ReadFile func(path string) ([]byte, error)
	Progress func(lines int) // called with the number of lines of each smaller file, unless nil
}

// Shrunk is the smallest scenario that fails in the same way.
type Shrunk struct {
	File    []byte
	Finding string
	Change  Change // the choices that the file needs; the zero value if the file alone shows the finding
	Minimal bool   // no part of the file can be removed
}

// maxSeed is the number of seeds that Shrink tries, so that a file needs no choices.
const maxSeed = 300

// Shrink finds the smallest scenario file that fails as a change of a scenario of the file does.
// Restarts, moved times, the age of the kubelet and the seed become part of the file, and so does
// an expectation that describes the failure.
func (s *Subject) Shrink(ctx context.Context, c Change, data []byte, o ShrinkOptions) (*Shrunk, error) {
	x := &shrinking{subject: s, options: o, ctx: ctx}
	run := s.Run(c, false)
	if run.plan == nil {
		return nil, run.Err
	}
	var err error
	if x.finding, err = chosen(run.History.Findings(), o.Finding); err != nil {
		return nil, err
	}
	x.alone = x.signature(x.finding)
	if failed := x.failed(run); failed != nil {
		x.kind = failed.Failures[0].Kind
	}
	text, err := x.write(data, c)
	if err != nil {
		return nil, err
	}
	choices, seeded, err := x.fewest(text, c)
	if err != nil {
		return nil, err
	}
	if seeded != nil {
		if text, err = shrink.Edit(text, s.Plan.Scenario.Metadata.Name,
			[]shrink.Field{{Path: "spec.seeds", Value: fmt.Sprint(*seeded)}}); err != nil {
			return nil, err
		}
	}
	x.needed = Change{Choices: choices}
	small, err := shrink.File(text, x.shows,
		shrink.Options{Trials: o.Trials, Enough: o.Enough, ReadFile: o.ReadFile, Progress: x.progress})
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	file, err := x.expecting(small.File)
	if err != nil {
		return nil, err
	}
	return &Shrunk{File: file, Finding: x.finding, Change: x.needed, Minimal: small.Minimal}, nil
}

// chosen returns the finding to keep.
func chosen(findings []string, prefix string) (string, error) {
	if len(findings) == 0 {
		return "", errors.New("nothing fails in this run")
	}
	i := slices.IndexFunc(findings,
		func(f string) bool { return strings.HasPrefix(f, prefix) || strings.HasPrefix(f, failedPrefix+prefix) })
	if i < 0 {
		return "", fmt.Errorf("no finding begins with %q; the findings are: %s", prefix, strings.Join(findings, "; "))
	}
	return findings[i], nil
}

// failedPrefix begins a finding that is an expectation.
const failedPrefix = "expectation failed: "

type shrinking struct {
	subject *Subject
	options ShrinkOptions
	ctx     context.Context
	finding string
	alone   string      // the finding without the names of the pod and the container
	kind    expect.Kind // how the expectation fails; empty: the finding is an invariant
	needed  Change
}

func (x *shrinking) progress(r shrink.Result) {
	if x.options.Progress != nil {
		x.options.Progress(strings.Count(string(r.File), "\n"))
	}
}

// signature is what the smaller files must show: for an invariant the case that breaks it, for an
// expectation its name.
func (x *shrinking) signature(finding string) string {
	if strings.HasPrefix(finding, failedPrefix) {
		return finding
	}
	text, _, _ := strings.Cut(finding, " (")
	return text
}

// write writes the change of the scenario into the file, except its seed and its choices.
func (x *shrinking) write(data []byte, c Change) ([]byte, error) {
	scenario := x.subject.Plan.Scenario
	edits := []shrink.Field{{Path: "spec.kubernetesVersions[0]", Value: x.subject.Plan.Version}}
	if len(scenario.Spec.KubernetesVersions) == 0 {
		edits[0].Path = "spec.kubernetesVersions[+]"
	}
	if len(scenario.Spec.KubernetesVersions) > 1 {
		edits[0] = shrink.Field{Path: "spec.kubernetesVersions", Value: "[" + x.subject.Plan.Version + "]"}
	}
	if c.Uptime != nil {
		edits = append(edits, shrink.Field{Path: "spec.kubelet.uptime", Value: value.Format(*c.Uptime)})
	}
	varied, err := scenario.Vary(plan.Variation{Shifts: c.Shifts})
	if err != nil {
		return nil, err
	}
	for _, t := range varied.Times() {
		if slices.ContainsFunc(c.Shifts, func(s plan.Shift) bool { return s.Path == t.Path }) {
			edits = append(edits, shrink.Field{Path: t.Path, Value: t.Value.String()})
		}
	}
	for _, f := range c.Faults {
		edits = append(edits, shrink.Field{Path: "spec.steps[+]", Value: strict.Encode(f.Step(), nil).Text()})
	}
	return shrink.Edit(data, scenario.Metadata.Name, edits)
}

// load returns the only scenario of a file as a subject.
func (x *shrinking) load(text []byte) (*Subject, error) {
	all, err := scenarios.LoadBytes("scenario.yaml", text, x.options.ReadFile)
	if err != nil {
		return nil, err
	}
	if len(all) != 1 {
		return nil, errors.New("the file has several scenarios")
	}
	s := *x.subject
	s.JudgeAll = true
	var seed *int64
	if seeds := all[0].Spec.Seeds; seeds != nil {
		seed = new(int64(seeds.Min))
	}
	s.Plan = all[0].Plan(x.subject.Plan.Version, seed)
	return &s, nil
}

// fails reports whether a file fails in the same way with a change.
func (x *shrinking) fails(text []byte, c Change) bool {
	s, err := x.load(text)
	return err == nil && x.failing(s, c) != nil
}

// failing returns the run of a subject if it fails in the same way as the original, or nil. What is
// missing in a shorter run could just come too late for it, so it must be missing in a run that is
// as long as the original, too.
func (x *shrinking) failing(s *Subject, c Change) *Run {
	r := s.run(c, runOptions{ctx: x.ctx})
	if !x.failsIn(r) {
		return nil
	}
	couldCome := x.kind == expect.Missing || x.kind == expect.TooFew || x.kind == expect.Unchecked
	if original := x.subject.Plan.Duration; couldCome && s.Plan.Duration < original {
		longer, plan := *s, *s.Plan
		plan.Duration, longer.Plan = original, &plan
		if !x.failsIn(longer.run(c, runOptions{ctx: x.ctx})) {
			return nil
		}
	}
	return r
}

func (x *shrinking) failsIn(r *Run) bool {
	if x.kind != "" {
		failed := x.failed(r)
		return failed != nil && failed.Failures[0].Kind == x.kind
	}
	return slices.ContainsFunc(r.History.Findings(), func(f string) bool { return x.signature(f) == x.alone })
}

// failed returns the result of the expectation that the finding is about, or nil if it does not
// fail in a run.
func (x *shrinking) failed(r *Run) *expect.Result {
	for i := range r.Results {
		if result := &r.Results[i]; result.Outcome == report.Failed && failedPrefix+expectName(i, *result) == x.alone {
			return result
		}
	}
	return nil
}

// shows is the test of package shrink. An expectation must stay as it is written, and hold without
// the choices if it held before.
func (x *shrinking) shows(text []byte) (string, bool) {
	s, err := x.load(text)
	if err != nil || x.ctx.Err() != nil {
		return "", false
	}
	r := x.failing(s, x.needed)
	switch {
	case r == nil:
		return "", false
	case x.kind == "":
		return x.alone, true
	}
	return x.alone + " " + x.failed(r).Expect.Text, true
}

// fewest returns the fewest choices with which the file fails: none, those of a seed that the file
// can name, or some of the choices.
func (x *shrinking) fewest(text []byte, c Change) (choices []Choice, seed *int64, err error) {
	if x.fails(text, Change{}) {
		return nil, nil, nil
	}
	if c.Seed != nil && len(c.Choices) == 0 && x.subject.Plan.Seed == nil {
		if c.Choices, err = x.recorded(text, *c.Seed); err != nil {
			return nil, nil, err
		}
	}
	choices = c.Choices
	if !x.fails(text, Change{Choices: choices}) {
		if c.Seed != nil && x.fails(text, Change{Seed: c.Seed}) {
			return nil, c.Seed, nil // the seed also decides times within ranges
		}
		return nil, nil, errors.New("the file with the change in it does not fail as the witness does")
	}
	for size := max(1, len(choices)/2); ; size /= 2 {
		for from := 0; from < len(choices); {
			without := slices.Concat(choices[:from], choices[min(from+size, len(choices)):])
			if x.fails(text, Change{Choices: without}) {
				choices = without
			} else {
				from += size
			}
		}
		if size <= 1 {
			break
		}
	}
	for n := range int64(maxSeed) {
		if x.fails(text, Change{Seed: new(n + 1)}) {
			return nil, new(n + 1), nil
		}
	}
	return choices, nil, nil
}

// recorded returns the choices that a seed makes in the run of a file.
func (x *shrinking) recorded(text []byte, seed int64) ([]Choice, error) {
	s, err := x.load(text)
	if err != nil {
		return nil, err
	}
	recorder := &choose.Recorder{Of: choose.Seeded(seed)}
	s.run(Change{Seed: &seed}, runOptions{chooser: recorder})
	var list []Choice
	for i, m := range recorder.Made {
		list = append(list, choiceOf(m, i, 0))
	}
	return list, nil
}

// expecting returns the file with an expectation that describes the broken invariant. For an
// expectation that fails, it returns the file.
func (x *shrinking) expecting(text []byte) ([]byte, error) {
	s, err := x.load(text)
	if err != nil {
		return nil, err
	}
	r := s.run(x.needed, runOptions{})
	for _, v := range r.Violations {
		if v.Invariant+": "+v.Case != x.alone {
			continue
		}
		e := describe(r, v)
		file, err := shrink.Edit(text, s.Plan.Scenario.Metadata.Name,
			[]shrink.Field{{Path: "spec.expect[+]", Value: e}})
		if err != nil {
			return nil, err
		}
		with, err := x.load(file)
		if err != nil {
			return nil, fmt.Errorf("the expectation %s is not valid: %w", e, err)
		}
		results := with.run(x.needed, runOptions{}).Results
		if len(results) == 0 || results[len(results)-1].Outcome != report.OK {
			return nil, fmt.Errorf("the expectation %s does not hold", e)
		}
		return file, nil
	}
	return text, nil
}

// describe returns an expectation that asserts a violation.
func describe(r *Run, v invariants.Violation) string {
	at := value.Format(v.T.Offset())
	name := fmt.Sprintf("name: %q, ", v.Invariant+" does not hold: "+v.Case)
	pod := ""
	if len(r.plan.Pods()) > 1 {
		_, short, _ := strings.Cut(v.Pod, "/")
		pod = "pod: " + short + ", "
	}
	record := trace.ByStep(r.Records, v.Step)
	where := pod + "container: " + v.Container + ", "
	if record == nil {
		return "{" + name + where + "at: " + at + ", " + settledState(r, v) + "}"
	}
	exact := "first: " + at + ".." + at
	switch record.Kind {
	case trace.StatusPatched:
		for _, c := range record.Status.Containers {
			if c.Name == v.Container {
				return fmt.Sprintf("{%s%sat: %s, status: {started: %t, ready: %t, restartCount: %d}}", name, where, at,
					c.Started, c.Ready, c.RestartCount)
			}
		}
	case trace.ContainerStopping:
		return fmt.Sprintf("{%s%sinstance: %d, %s, record: {kind: ContainerStopping, reason: %s}}", name, where,
			record.Instance, exact, record.Reason)
	case trace.ProbeExecuted:
		return fmt.Sprintf("{%s%sinstance: %d, within: %s..%s, count: 1.., record: {kind: ProbeExecuted, probe: %s}}",
			name, where, record.Instance, at, at, record.Probe)
	}
	return fmt.Sprintf("{%s%s%s, record: {kind: %s}}", name, where, exact, cmp.Or(string(record.Kind), "Step"))
}

// settledState is the state of a container at the end of the run.
func settledState(r *Run, v invariants.Violation) string {
	for i := len(r.Records) - 1; i >= 0; i-- {
		if rec := &r.Records[i]; rec.Kind == trace.StatusPatched && rec.Pod == v.Pod {
			for _, c := range rec.Status.Containers {
				if c.Name == v.Container {
					return fmt.Sprintf("status: {started: %t, ready: %t}", c.Started, c.Ready)
				}
			}
		}
	}
	return "status: {ready: false}"
}
