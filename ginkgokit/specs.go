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

	"probesim.dev/internal/check"
	"probesim.dev/scenarios"
)

// DescribeScenarios makes a spec of each scenario in a file, or in all files below a folder, and each version of
// Kubernetes that it runs: NAME [v1.37.0]. Further arguments are decorators of the container that the specs are in:
//
//	var _ = ginkgokit.DescribeScenarios("scenarios", Label("probes"))
//
// The path is relative to the folder of the suite, where go test and ginkgo run it. Each spec is located at its
// scenario in the YAML file, so that --focus-file finds it too, and has the labels of the scenario as "key: value"; a
// slash in a key, which no label of Ginkgo may have, is a dot. A scenario with seeds is one spec, which makes all its
// runs.
//
// A spec fails if an expectation does not hold, and then tells of each that does not where it stands, what was
// expected and what there was, with the records and the timeline around the moment, and the command that runs it again.
// With -v the whole timeline of a run is shown.
//
// If there is no scenario, or anything is wrong in a file, the suite does not run, and all errors are shown.
func DescribeScenarios(path string, args ...any) bool {
	ginkgo.GinkgoHelper()
	caller := types.NewCodeLocation(1)
	return ginkgo.Describe(filepath.ToSlash(path), append(slices.Clone(args), func() {
		all, err := scenarios.Load(path)
		if err != nil {
			refuse(err, caller)
		}
		for _, s := range all {
			describe(s)
		}
	})...)
}

// refuse ends the suite before it begins, as Ginkgo does where specs are not well formed: a spec that fails would be
// left out by --focus and --label-filter.
func refuse(err error, caller types.CodeLocation) {
	if _, reporter := ginkgo.GinkgoConfiguration(); reporter.NoColor {
		formatter.SingletonFormatter.ColorMode = formatter.ColorModeNone
	}
	fmt.Fprint(formatter.ColorableStdErr, types.GinkgoError{Heading: "Scenario files are wrong: nothing was run", CodeLocation: caller}.Error())
	fmt.Fprintln(formatter.ColorableStdErr, "  "+strings.ReplaceAll(err.Error(), "\n", "\n  ")+"\n")
	os.Exit(1)
}

// describe makes the specs of a scenario.
func describe(s *scenarios.Scenario) {
	for _, plans := range check.ByVersion(s.Plans()) {
		ginkgo.It(s.Metadata.Name+" ["+plans[0].Version+"]", location(s.Pos), ginkgo.Label(labels(s.Metadata.Labels)...),
			func(ctx ginkgo.SpecContext) {
				v := check.Plans(ctx, plans)
				if v.Failure != "" {
					ginkgo.Fail(v.Failure)
				}
				ginkgo.AddReportEntry("timeline", v.Timeline, ginkgo.ReportEntryVisibilityFailureOrVerbose, location(s.Pos))
			})
	}
}

// location returns a place in a file as Ginkgo has it: with an absolute path, as those of Go files are.
func location(p scenarios.Pos) types.CodeLocation {
	name := filepath.FromSlash(p.File)
	if full, err := filepath.Abs(name); err == nil {
		name = full
	}
	return types.CodeLocation{FileName: name, LineNumber: p.Line}
}

// labels returns labels as Ginkgo has them, sorted by key.
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
