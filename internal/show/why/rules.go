package why

import (
	"slices"
	"strconv"
	"strings"

	"probesim.dev/internal/printable"
	"probesim.dev/trace"
)

// withRule adds the rules that made a program fail or exit to a chain that ends with this record.
// It also returns the record that the last of the rules waited for, or nil.
func (r *Run) withRule(chain []Link, rec *trace.Record) ([]Link, *trace.Record) {
	var behind []*trace.Record
	switch {
	case rec.Kind == trace.ContainerExited:
		behind = append(behind, r.exitRule(rec))
	case succeeded(rec):
		behind = r.rulesOf(r.failuresBefore(rec))
	default:
		runs, _ := r.streak(rec, r.threshold(rec))
		behind = r.rulesOf(runs)
	}
	var says []string
	var last *trace.Record
	for _, b := range behind {
		if text := r.says(b); text != "" && !slices.Contains(says, text) {
			says, last = append(says, text), b
		}
	}
	if last == nil {
		return chain, nil
	}
	end := &chain[len(chain)-1]
	if lease := r.leaseOf(containerOf(rec), rec.T); succeeded(rec) && lease != nil && lease.holder != nil &&
		lease.since >= last.T && containerOf(lease.holder) == containerOf(rec) {
		says = append(says, printable.Text(rec.Container)+" "+lease.words(r, lease.holder))
	}
	rule := Link{T: last.T, Step: last.Step, Kind: last.Kind, Text: strings.Join(says, ", and "), Root: end.Root}
	end.Root = ""
	return append(chain, rule), r.record(r.source(last).Since)
}

// source returns the rule of a Behavior record, or a zero Source if there is none or it is not
// known.
func (r *Run) source(b *trace.Record) Source {
	if r.Rule == nil || b == nil {
		return Source{}
	}
	number, err := strconv.Atoi(b.Message)
	if err != nil {
		return Source{}
	}
	return r.Rule(b.Pod, b.Container, number)
}

// says returns what the rule of a Behavior record says, or "".
func (r *Run) says(b *trace.Record) string { return r.source(b).Says }

// step returns the step of the scenario that wrote a record, if it says more than the clause of the
// record: it waited for something, or it stopped the kubelet.
func (r *Run) step(rec *trace.Record) Source {
	if r.Step == nil || roots[rec.Kind] == "" || rec.Kind == trace.PodAdded {
		return Source{}
	}
	if s := r.Step(rec); s.Since > 0 || rec.Kind == trace.KubeletStopped {
		return s
	}
	return Source{}
}

// Failing returns what the rule says that made a probe run fail, or "".
func (r *Run) Failing(run *trace.Record) string {
	if run.Kind != trace.ProbeExecuted || succeeded(run) {
		return ""
	}
	return r.says(r.ruleOf(run))
}

// inParentheses returns the words of the rule of a Behavior record in parentheses after a space, or
// "".
func (r *Run) inParentheses(b *trace.Record) string { return around(" (", r.says(b), ")") }

// around returns a text between two others, or "" if it is empty.
func around(before, text, after string) string {
	if text == "" {
		return ""
	}
	return before + text + after
}

// exitRule returns the record of the rule that decided an exit, or nil.
func (r *Run) exitRule(exit *trace.Record) *trace.Record {
	return first(r.about[topic{trace.Behavior, containerOf(exit)}],
		func(b *trace.Record) bool { return b.Instance == exit.Instance && b.Reason == "exit" })
}

// rulesOf returns the last request of each probe run, with the rule that decided its answer.
func (r *Run) rulesOf(runs []*trace.Record) []*trace.Record {
	var list []*trace.Record
	for _, run := range runs {
		if b := r.ruleOf(run); b != nil {
			list = append(list, b)
		}
	}
	return list
}

// ruleOf returns the last request of a probe run, or nil if it reached no program.
func (r *Run) ruleOf(run *trace.Record) *trace.Record {
	b := last(r.about[topic{trace.Behavior, probeOf(run)}], func(b *trace.Record) bool { return b.Step < run.Step })
	if b == nil || b.T < run.T.Add(-run.Took) {
		return nil // or of an earlier run
	}
	return b
}
