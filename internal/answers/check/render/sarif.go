package render

import (
	"io"
	"net/url"
	"strings"

	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/show/report"
	"probesim.dev/scenarios/plan"
)

// The parts of SARIF 2.1.0 that code scanning reads
// (https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/sarif-v2.1.0-os.html).
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool    sarifTool     `json:"tool"`
		Results []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		Version        string      `json:"version"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID   string    `json:"id"`
		Text sarifText `json:"shortDescription"`
		Help sarifText `json:"help"` // code scanning shows it beside a result
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID       string             `json:"ruleId"`
		Level        string             `json:"level"`
		Message      sarifText          `json:"message"`
		Locations    []sarifLocation    `json:"locations"`
		Suppressions []sarifSuppression `json:"suppressions,omitempty"` // code scanning closes a result with one
	}
	sarifSuppression struct {
		Kind          string `json:"kind"`
		Justification string `json:"justification"`
	}
	sarifLocation struct {
		Physical sarifPhysical `json:"physicalLocation"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   sarifRegion   `json:"region"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		Line   int `json:"startLine"`
		Column int `json:"startColumn,omitempty"`
	}
)

// requirementRule is the rule of requirements that are not met, and readinessRule the one of
// workloads without a readiness probe.
const (
	requirementRule = "requirement"
	readinessRule   = "readiness-missing"
)

// SARIF writes the findings, and the requirements that are not met, for code scanning. The function
// path converts file names to paths relative to the root of the repository.
func SARIF(w io.Writer, r *check.Report, version string, path func(string) string) error {
	run := sarifRun{Results: []sarifResult{},
		Tool: sarifTool{sarifDriver{Name: "probesim", Version: version, InformationURI: "https://probesim.dev",
			Rules: []sarifRule{}}}}
	for _, rule := range check.Rules() {
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules,
			sarifRule{string(rule.ID), sarifText{rule.Text}, sarifText{rule.Kubelet + " " + rule.Do}})
	}
	run.Tool.Driver.Rules = append(run.Tool.Driver.Rules,
		sarifRule{requirementRule, sarifText{"A requirement is not met."},
			sarifText{"The value of the row misses what --require or the annotation probesim.dev/require says."}},
		sarifRule{readinessRule, sarifText{"No container of the workload has a readiness probe."},
			sarifText{"The pods are Ready as soon as they run, and get traffic before their program is up."}})
	add := func(rule, level, message, file string, line, column int, suppressed ...sarifSuppression) {
		where := sarifPhysical{sarifArtifact{uri(path(file))}, sarifRegion{max(line, 1), column}}
		run.Results = append(run.Results,
			sarifResult{rule, level, sarifText{message}, []sarifLocation{{where}}, suppressed})
	}
	findings := func(list []check.Finding, suppressed ...sarifSuppression) {
		for _, f := range list {
			add(string(f.ID), string(f.Severity), f.Text(), f.File, f.Line, f.Column, suppressed...)
		}
	}
	for _, workload := range r.Workloads {
		if workload.NoReadiness && !saysUnready(&workload) {
			add(readinessRule, "note", workload.Title()+": "+unreadyWorkload(&workload, false), workload.File,
				workload.Line, 0)
		}
		for _, c := range workload.Containers {
			findings(c.Findings)
			findings(c.Ignored, sarifSuppression{"external", "ignored by an annotation or the configuration"})
			findings(c.Known, sarifSuppression{"external", "known in the baseline"})
		}
		for _, v := range workload.Requirements {
			if !v.Met {
				add(requirementRule, "error", Requirement(&v), v.File, v.Line, v.Column)
			}
		}
	}
	return report.WriteJSON(w, sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}})
}

// uri returns the URI of a file: relative to the root of the repository, as code scanning wants it,
// or absolute for a file outside. Stdin, which has no path, is a relative URI too.
func uri(file string) string {
	switch {
	case file == "":
		return plan.Stdin
	case strings.HasPrefix(file, "/"):
		return (&url.URL{Scheme: "file", Path: file}).String()
	}
	return (&url.URL{Path: file}).String()
}
