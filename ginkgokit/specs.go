package ginkgokit

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/formatter"
	"github.com/onsi/ginkgo/v2/types"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/scenarios/verdict"
	"probesim.dev/internal/strict"
	"probesim.dev/probetest"
	"probesim.dev/scenarios"
)

// DescribeScenarios makes a Ginkgo container with a spec NAME [VERSION] for each scenario in a
// file, or in all files below a directory, and for each version of Kubernetes of the scenario. The
// arguments after the path are decorators of the container:
//
//	var _ = ginkgokit.DescribeScenarios("scenarios", Label("probes"))
//
// The path is relative to the directory of the suite. A scenario with seeds is one spec that makes
// all its runs. The location of a spec is the line of its scenario in the YAML file, which
// --focus-file can select. The labels of a scenario become labels "key: value" of its specs, with a
// dot for each slash in the key, because Ginkgo forbids slashes.
//
// A spec fails if an expectation does not hold. Its message contains the position of the
// expectation, what it expected, what happened, the records and the timeline around the failure,
// and the command that repeats the run. With -v, specs that pass show their whole timeline.
//
// If a file is invalid, or the path contains no scenario, the suite ends before any spec runs, with
// all errors listed.
//
// The result is always true, for the assignment to a package variable.
func DescribeScenarios(path string, args ...any) bool {
	ginkgo.GinkgoHelper()
	caller := types.NewCodeLocation(1)
	return ginkgo.Describe(filepath.ToSlash(path), append(slices.Clone(args), func() {
		all, err := scenarios.Load(path)
		if err != nil {
			exit(err, caller)
		}
		for _, s := range all {
			describe(s)
		}
	})...)
}

// exit ends the process before the suite begins, as Ginkgo does for malformed specs. A spec that
// fails is not enough: --focus and --label-filter could exclude it.
func exit(err error, caller types.CodeLocation) {
	if _, reporter := ginkgo.GinkgoConfiguration(); reporter.NoColor {
		formatter.SingletonFormatter.ColorMode = formatter.ColorModeNone
	}
	fmt.Fprint(formatter.ColorableStdErr,
		types.GinkgoError{Heading: "Invalid scenario files; no spec ran", CodeLocation: caller}.Error())
	fmt.Fprintln(formatter.ColorableStdErr, "  "+strings.ReplaceAll(err.Error(), "\n", "\n  ")+"\n")
	os.Exit(1)
}

// describe makes the specs of a scenario, one for each version of Kubernetes.
func describe(s *scenarios.Scenario) {
	for _, plans := range verdict.ByVersion(s.Plans()) {
		ginkgo.It(s.Metadata.Name+" ["+plans[0].Version+"]", location(s.Pos),
			ginkgo.Label(labels(s.Metadata.Labels)...),
			func(ctx ginkgo.SpecContext) {
				v := verdict.Of(ctx, plans)
				if v.Failure != "" {
					// Ginkgo takes the place of a failure from the call stack, which has no line of
					// the user. Only the message can point to the scenario.
					ginkgo.Fail(fmt.Sprintf("%s:%d: %s", printable.Text(s.Pos.File), s.Pos.Line, v.Failure))
				}
				ginkgo.AddReportEntry("timeline", v.Timeline, ginkgo.ReportEntryVisibilityFailureOrVerbose,
					location(s.Pos))
				if v.Skip != "" {
					ginkgo.Skip(fmt.Sprintf("%s:%d: %s", printable.Text(s.Pos.File), s.Pos.Line, v.Skip))
				}
			})
	}
}

// location converts a position to a code location of Ginkgo, whose paths are absolute.
func location(p strict.Pos) types.CodeLocation {
	name := filepath.FromSlash(p.File)
	if full, err := filepath.Abs(name); err == nil {
		name = full
	}
	return types.CodeLocation{FileName: printable.Text(name), LineNumber: p.Line}
}

// labels converts labels of a scenario to labels of Ginkgo, sorted by key.
func labels(all map[string]string) []string {
	var list []string
	for _, key := range slices.Sorted(maps.Keys(all)) {
		label := strings.ReplaceAll(key, "/", ".")
		if all[key] != "" {
			label += ": " + all[key]
		}
		list = append(list, label)
	}
	return list
}

// Manifest is the path of a file with manifests, for Satisfy. It is relative to the directory of
// the suite.
type Manifest = probetest.Manifest

// Satisfy succeeds if the probe settings of a workload meet requirements on every node and in every
// phase, as 'probesim check --require' does. The actual value is a Manifest or an API object that
// creates pods:
//
//	Expect(ginkgokit.Manifest("deploy.yaml")).To(ginkgokit.Satisfy("start>=70s, stall>=15s, detect<=45s"))
//
// It is MeetRequirements of package probetest, which cannot have this name: Gomega has a matcher
// Satisfy too.
func Satisfy(requirements string) *probetest.MeetRequirementsMatcher {
	return probetest.MeetRequirements(requirements)
}
