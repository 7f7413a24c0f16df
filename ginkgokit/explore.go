package ginkgokit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega/types"

	"probesim.dev/explore"
	"probesim.dev/internal/gomegacall"
	"probesim.dev/internal/runner/files"
	"probesim.dev/internal/scenarios/simulate"
	"probesim.dev/internal/strict"
	"probesim.dev/scenarios"
)

// ExploreOptions configure Explore. The zero value uses all policies, with the bounds of 'probesim
// explore'.
type ExploreOptions struct {
	explore.Options
	Kubernetes string // a version such as v1.36; empty: the newest of the scenario
	JudgeAll   bool   // judge the expectations in all runs
	// Witnesses is the directory for the witnesses of failures, relative to the suite. Empty:
	// witnesses.
	Witnesses string
}

// Exploration has the outcomes of a scenario. Explore returns one.
type Exploration struct {
	*explore.Result
	subject   explore.Subject
	file      []byte
	witnesses string
}

// GomegaString names the exploration. Gomega prints it in messages in place of the fields.
func (e *Exploration) GomegaString() string {
	if e == nil || e.Result == nil {
		return "<no exploration>"
	}
	return fmt.Sprintf("the %d outcomes of %s (%d runs)", len(e.Outcomes), e.Scenario, e.Runs)
}

// Explore finds the outcomes that a scenario of a file can have, as 'probesim explore' does, for
// assertions with [Always], [Sometimes] and [Never]. Call it in a spec:
//
//	found := ginkgokit.Explore(ctx, "scenarios/web.yaml", "rollout", ginkgokit.ExploreOptions{})
//	Expect(found).To(ginkgokit.Never(ginkgokit.Stop("app", "LivenessProbe")))
//
// The spec fails if the file is invalid, if the scenario does not exist, or if the options are
// invalid. If the context is done early, the spec fails too.
func Explore(ctx context.Context, path, name string, o ExploreOptions) *Exploration {
	ginkgo.GinkgoHelper()
	found, err := exploreScenario(ctx, path, name, o)
	if err != nil {
		ginkgo.Fail("Explore: " + err.Error())
	}
	return found
}

func exploreScenario(ctx context.Context, path, name string, o ExploreOptions) (*Exploration, error) {
	all, err := scenarios.Load(path)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, s := range all {
		names = append(names, s.Metadata.Name)
	}
	i := slices.Index(names, name)
	if i < 0 {
		return nil, fmt.Errorf("%s has no scenario %q%s; its scenarios are: %s", path, name,
			strict.DidYouMean(name, names), strings.Join(names, ", "))
	}
	version := o.Kubernetes
	if version == "" {
		plans := all[i].Plans()
		version = plans[len(plans)-1].Version
	}
	data, err := scenarios.ReadFile(filepath.ToSlash(all[i].File))
	if err != nil {
		return nil, err
	}
	e := &Exploration{subject: explore.Subject{Plan: all[i].Plan(version, nil), JudgeAll: o.JudgeAll},
		file: data, witnesses: o.Witnesses}
	if e.witnesses == "" {
		e.witnesses = "witnesses"
	}
	if e.Result, err = explore.Explore(ctx, e.subject, o.Options); err == nil {
		err = ctx.Err()
	}
	return e, err
}

// replay writes the witness of an outcome and returns the command that repeats its run.
func (e *Exploration) replay(o *explore.Outcome) string {
	w, err := e.subject.Witness(o.Change, e.file)
	if err != nil {
		return "no witness: " + err.Error()
	}
	name := filepath.Join(e.witnesses, w.FileName())
	if err := os.MkdirAll(e.witnesses, 0o777); err != nil {
		return "no witness: " + err.Error()
	}
	if err := (&files.Files{}).Write(context.Background(), name, w.JSON(), true); err != nil {
		return "no witness: " + err.Error()
	}
	return "probesim replay " + simulate.Quote(filepath.ToSlash(name))
}

// Always succeeds if each outcome of an [Exploration] matches. The matcher gets an
// *explore.Outcome.
func Always(m types.GomegaMatcher) types.GomegaMatcher {
	return &overOutcomes{matcher: m, word: "always", holds: func(matching, all int) bool {
		return matching == all
	}, shows: false}
}

// Sometimes succeeds if an outcome of an [Exploration] matches. The matcher gets an
// *explore.Outcome.
func Sometimes(m types.GomegaMatcher) types.GomegaMatcher {
	return &overOutcomes{matcher: m, word: "sometimes", holds: func(matching, _ int) bool {
		return matching > 0
	}, shows: false}
}

// Never succeeds if no outcome of an [Exploration] matches. The matcher gets an *explore.Outcome.
func Never(m types.GomegaMatcher) types.GomegaMatcher {
	return &overOutcomes{matcher: m, word: "never", holds: func(matching, _ int) bool {
		return matching == 0
	}, shows: true}
}

// overOutcomes is a matcher of explorations.
type overOutcomes struct {
	matcher types.GomegaMatcher
	word    string
	holds   func(matching, all int) bool
	shows   bool // a failure shows the outcomes that match, and otherwise those that do not

	exploration *Exploration
	matching    []bool // of each outcome
	reasons     []string
}

func (m *overOutcomes) Match(actual any) (bool, error) {
	e, ok := actual.(*Exploration)
	switch {
	case !ok || e == nil || e.Result == nil:
		return false, fmt.Errorf("%s is about the result of ginkgokit.Explore, not %T", m.word, actual)
	case m.matcher == nil:
		return false, errors.New(m.word + " needs a matcher of outcomes, such as ginkgokit.Stop")
	}
	m.exploration, m.matching, m.reasons = e, nil, nil
	n := 0
	for _, o := range e.Outcomes {
		matches, err := m.matcher.Match(o)
		if err != nil {
			return false, err
		}
		reason := m.matcher.FailureMessage(o)
		if matches {
			n++
			reason = m.matcher.NegatedFailureMessage(o)
		}
		m.matching, m.reasons = append(m.matching, matches), append(m.reasons, reason)
	}
	return m.holds(n, len(e.Outcomes)), nil
}

func (m *overOutcomes) FailureMessage(any) string { return m.message("", m.shows) }

func (m *overOutcomes) NegatedFailureMessage(any) string { return m.message("not ", !m.shows) }

// GomegaString describes the assertion. Gomega prints it in the messages of other matchers.
func (m *overOutcomes) GomegaString() string { return m.word + " " + gomegacall.Of(m.matcher) }

// String returns GomegaString in parentheses, for the messages of Or.
func (m *overOutcomes) String() string { return "(" + m.GomegaString() + ")" }

// maxShown is the number of outcomes that a failure describes.
const maxShown = 3

// message describes the first outcomes that match, or those that do not.
func (m *overOutcomes) message(not string, matching bool) string {
	var b strings.Builder
	e := m.exploration
	fmt.Fprintf(&b, "Expected %s %s%s to match.", e.GomegaString(), not, m.word)
	shown := 0
	for i, o := range e.Outcomes {
		if m.matching[i] != matching {
			continue
		}
		if shown++; shown > maxShown {
			continue
		}
		fmt.Fprintf(&b, "\n\nOutcome %s, in %d runs; the first: %s\n%s\n%s", o.ID, o.Count,
			strings.Join(o.Change.Lines(), ", "), m.reasons[i], e.replay(o))
	}
	if shown > maxShown {
		fmt.Fprintf(&b, "\n\n... and %d other outcomes", shown-maxShown)
	}
	return b.String()
}

// outcomeMatcher is a matcher of outcomes.
type outcomeMatcher struct {
	text  string // completes "to"
	holds func(*explore.History) bool
}

func (m *outcomeMatcher) Match(actual any) (bool, error) {
	o, ok := actual.(*explore.Outcome)
	if !ok || o == nil {
		return false, fmt.Errorf("this matcher is about an outcome: use it in Always, Sometimes or Never, not with %T",
			actual)
	}
	return m.holds(&o.History), nil
}

func (m *outcomeMatcher) FailureMessage(actual any) string { return m.message("to ", actual) }

func (m *outcomeMatcher) NegatedFailureMessage(actual any) string {
	return m.message("not to ", actual)
}

// GomegaString describes the outcome. Gomega prints it in the messages of other matchers.
func (m *outcomeMatcher) GomegaString() string { return m.text }

// String returns GomegaString in parentheses, for the messages of Or.
func (m *outcomeMatcher) String() string { return "(" + m.text + ")" }

func (m *outcomeMatcher) message(verb string, actual any) string {
	text := "It was expected " + verb + m.text + "."
	if o, ok := actual.(*explore.Outcome); ok {
		text += "\n" + events(&o.History)
	}
	return text
}

// events lists what happened to the containers.
func events(h *explore.History) string {
	var lines []string
	for _, p := range h.Pods {
		for _, c := range p.Containers {
			lines = append(lines, p.Pod+"/"+c.Container+": "+strings.Join(c.Events, ", "))
		}
	}
	return strings.Join(append(lines, h.Findings()...), "\n")
}

// anyEvent reports whether a container has an event. An empty name stands for all containers.
func anyEvent(h *explore.History, container string, is func(string) bool) bool {
	return slices.ContainsFunc(h.Pods, func(p explore.PodHistory) bool {
		return slices.ContainsFunc(p.Containers, func(c explore.ContainerHistory) bool {
			return (container == "" || c.Container == container) && slices.ContainsFunc(c.Events, is)
		})
	})
}

// Stop matches an outcome in which the kubelet stops a container for a reason, such as
// LivenessProbe. An empty reason stands for all reasons, and an empty name for all containers.
func Stop(container, reason string) types.GomegaMatcher {
	return &outcomeMatcher{fmt.Sprintf("stop container %q because of %q", container, reason),
		func(h *explore.History) bool {
			return anyEvent(h, container, func(e string) bool {
				got, stop := strings.CutPrefix(e, "stop ")
				return stop && (reason == "" || got == reason)
			})
		}}
}

// Restart matches an outcome in which a container starts again. An empty name stands for all
// containers.
func Restart(container string) types.GomegaMatcher {
	return &outcomeMatcher{fmt.Sprintf("restart container %q", container), func(h *explore.History) bool {
		return anyEvent(h, container, func(e string) bool { return strings.HasPrefix(e, "start ") && e != "start 0" })
	}}
}

// BecomeReady matches an outcome in which a pod is published as ready. The name is that of the pod;
// empty: any pod.
func BecomeReady(pod string) types.GomegaMatcher {
	return &outcomeMatcher{fmt.Sprintf("publish pod %q as ready", pod), func(h *explore.History) bool {
		return slices.ContainsFunc(h.Pods, func(p explore.PodHistory) bool {
			named := pod == "" || p.Pod == pod || strings.HasSuffix(p.Pod, "/"+pod)
			return named && slices.ContainsFunc(p.Status,
				func(s string) bool { return strings.HasPrefix(s, "Running, ready") })
		})
	}}
}

// FailExpectation matches an outcome in which an expectation of the scenario fails. The name is
// that of the expectation; empty: any.
func FailExpectation(name string) types.GomegaMatcher {
	return &outcomeMatcher{fmt.Sprintf("fail the expectation %q", name), func(h *explore.History) bool {
		return name == "" && len(h.Failed) > 0 || slices.Contains(h.Failed, name)
	}}
}

// BreakInvariant matches an outcome in which an invariant does not hold. An empty name stands for
// all invariants, without the known bugs of the kubelet.
func BreakInvariant(name string) types.GomegaMatcher {
	return &outcomeMatcher{fmt.Sprintf("break the invariant %q", name), func(h *explore.History) bool {
		return slices.ContainsFunc(h.Broken,
			func(b explore.Breach) bool { return b.Invariant == name || name == "" && b.Known == "" })
	}}
}
