package findings

import (
	"io"
	"net/url"
	"strings"

	"probesim.dev/internal/printable"
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
		Page string    `json:"helpUri,omitempty"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID       string             `json:"ruleId"`
		Level        Level              `json:"level"`
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

func (l *List) writeSARIF(w io.Writer, path func(string) string) error {
	driver := sarifDriver{Name: "probesim", Version: l.Version, InformationURI: "https://probesim.dev",
		Rules: []sarifRule{}}
	for i := range l.Rules {
		r := &l.Rules[i]
		driver.Rules = append(driver.Rules, sarifRule{r.ID, sarifText{r.Text}, sarifText{r.Help}, r.address(Address)})
	}
	run := sarifRun{sarifTool{driver}, []sarifResult{}}
	for _, c := range l.Cases {
		for _, f := range c.Findings {
			result := sarifResult{RuleID: f.Rule, Level: f.Level, Message: sarifText{f.Message},
				Locations: []sarifLocation{{sarifPhysical{sarifArtifact{uri(path(f.File))},
					sarifRegion{max(f.Line, 1), f.Column}}}}}
			if f.Known != "" {
				result.Suppressions = []sarifSuppression{{"external", f.Known}}
			}
			run.Results = append(run.Results, result)
		}
	}
	return printable.WriteJSON(w, sarifLog{"https://json.schemastore.org/sarif-2.1.0.json", "2.1.0", []sarifRun{run}})
}

// uri returns the URI of a file: relative to the root of the repository, as code scanning wants it,
// or absolute for a file outside. Stdin, which has no path, is a relative URI too.
func uri(file string) string {
	switch {
	case file == "":
		return "stdin"
	case strings.HasPrefix(file, "/"):
		return (&url.URL{Scheme: "file", Path: file}).String()
	}
	return (&url.URL{Path: file}).String()
}
