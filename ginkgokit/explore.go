package ginkgokit

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/onsi/ginkgo/v2"

	"probesim.dev/explore"
	"probesim.dev/internal/runner/files"
	"probesim.dev/internal/scenarios/simulate"
	"probesim.dev/internal/strict"
	"probesim.dev/scenarios"
)

// ExploreOptions configure Explore. The zero value uses all policies, with the bounds of 'probesim
// explore'.
type ExploreOptions struct {
	explore.Options
	Kubernetes string   // a version such as v1.36; empty: the newest of the scenario
	Off        []string // invariants that are not checked
	JudgeAll   bool     // judge the expectations in all runs
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
	e := &Exploration{subject: explore.Subject{Plan: all[i].Plan(version, nil), Off: o.Off, JudgeAll: o.JudgeAll},
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
