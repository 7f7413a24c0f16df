package findings

import (
	"io"
	"net/url"
	"strings"

	"probesim.dev/internal/printable"
)

// object is a part of a SARIF report.
type object map[string]any

func message(text string) object { return object{"text": text} }

// writeSARIF writes what code scanning reads of SARIF 2.1.0
// (https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/sarif-v2.1.0-os.html).
func (l *List) writeSARIF(w io.Writer, path func(string) string) error {
	rules, results := []object{}, []object{}
	for i := range l.Rules {
		r := &l.Rules[i]
		// code scanning shows the help beside a result
		rule := object{"id": r.ID, "shortDescription": message(r.Text), "help": message(r.Help)}
		if address := r.address(Address); address != "" {
			rule["helpUri"] = address
		}
		rules = append(rules, rule)
	}
	for _, c := range l.Cases {
		for _, f := range c.Findings {
			region := object{"startLine": max(f.Line, 1)}
			if f.Column > 0 {
				region["startColumn"] = f.Column
			}
			result := object{"ruleId": f.Rule, "level": f.Level, "message": message(f.Message), "locations": []object{
				{"physicalLocation": object{"artifactLocation": object{"uri": uri(path(f.File))}, "region": region}}}}
			if f.Known != "" { // code scanning closes a result with a suppression
				result["suppressions"] = []object{{"kind": "external", "justification": f.Known}}
			}
			results = append(results, result)
		}
	}
	driver := object{"name": "probesim", "version": l.Version, "informationUri": "https://probesim.dev", "rules": rules}
	return printable.WriteJSON(w, object{"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0",
		"runs": []object{{"tool": object{"driver": driver}, "results": results}}})
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
