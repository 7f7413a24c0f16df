package check

import (
	"fmt"
	"slices"
	"strings"

	"probesim.dev/docs"
	"probesim.dev/internal/strict"
)

// Rule describes a kind of finding.
type Rule struct {
	ID       FindingID
	Severity string // one severity, or when it has which
	Text     string // what is wrong, in a sentence
	Kubelet  string // how the kubelet behaves, and what comes of it
	Do       string // what to do
}

// Rules returns the kinds of findings, those most worth a change first.
func Rules() []Rule { return slices.Clone(rules) }

// FindRule returns the rule of an ID. The error suggests another one.
func FindRule(id string) (Rule, error) {
	var known []string
	for _, r := range rules {
		if string(r.ID) == id {
			return r, nil
		}
		known = append(known, string(r.ID))
	}
	return Rule{}, fmt.Errorf("there is no finding %s%s: the findings are %s", strict.Quote(id),
		strict.DidYouMean(id, known), strings.Join(known, ", "))
}

// rules are those of docs/findings.md, in its order.
var rules = readRules(docs.Findings)

// readRules reads a page with a section for each rule: the ID, "*Severity.* Text", and a paragraph
// each for Kubelet and Do.
func readRules(page string) (list []Rule) {
	for _, section := range strings.Split(page, "\n## ")[1:] {
		parts := strings.Split(strings.TrimSpace(section), "\n\n")
		severity, text, _ := strings.Cut(strings.TrimPrefix(parts[1], "*"), ".* ")
		list = append(list, Rule{FindingID(parts[0]), strings.ToLower(severity[:1]) + severity[1:], text, parts[2],
			parts[3]})
	}
	return list
}
