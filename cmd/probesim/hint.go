package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"probesim.dev/internal/input"
	"probesim.dev/internal/printable"
	"probesim.dev/scenarios"
)

// rendered are objects that a tool makes workloads of, and the command that prints these.
var rendered = map[string]string{
	"HelmRelease": "helm template CHART -f VALUES", "HelmChart": "helm template CHART -f VALUES",
	"Kustomization": "kubectl kustomize DIR", "Application": "argocd app manifests NAME",
}

var kindLine = regexp.MustCompile(`(?m)^kind: *(\w+) *$`)

// renderHint says how to pass what a tool makes of an object, if a file has such an object.
func renderHint(command string, files []input.File) string {
	for _, f := range files {
		for _, kind := range kindLine.FindAllStringSubmatch(string(f.Data), -1) {
			if render := rendered[kind[1]]; render != "" {
				return fmt.Sprintf("\n%s has an object of kind %s: %s | %s", printable.Text(f.Name), kind[1], render,
					command)
			}
		}
	}
	return ""
}

// templateHint says what an invalid file looks like, and how to pass it: a template or its values,
// a patch, a stream of kubectl, or a manifest inside other text.
func templateHint(command string, files []input.File, err error) string {
	var invalid scenarios.Errors
	errors.As(err, &invalid)
	for _, f := range files {
		text := string(f.Data)
		has := func(part string) bool { return strings.Contains(text, part) }
		says := func(part string) bool {
			return slices.ContainsFunc(invalid,
				func(e scenarios.Error) bool { return e.File == f.Name && strings.Contains(e.Message, part) })
		}
		isJSON := strings.HasPrefix(strings.TrimSpace(text), "{")
		hint := ""
		switch {
		case !says(""):
		case isJSON && strings.Contains(strings.ReplaceAll(text, "{{", ""), "}\n{"):
			hint = "has several JSON objects, as kubectl get --watch prints them. Pass it with --measured"
		case has("{{"):
			hint = "looks like a template. For a Helm chart: helm template CHART | " + command
		case terraform.MatchString(text):
			hint = "looks like a template of Terraform: pass what templatefile makes of it"
		case isJSON:
		case says("this key is already set"):
			hint = "has a key twice: kubectl takes the last one"
		case has("Probe:") && !has("apiVersion:"):
			hint = fmt.Sprintf("is no whole manifest. If it has the values of a Helm chart: helm template CHART -f %s "+
				"| %s", printable.Text(f.Name), command)
		case has("containers:") && has("apiVersion:") && !has("image:") && !has("selector:") && !says("must be a"):
			hint = "looks like a patch: kubectl kustomize DIR | " + command
		default:
			hint = insideHint(command, text)
		}
		if hint != "" {
			return "\n" + printable.Text(f.Name) + " " + hint
		}
	}
	return ""
}

var (
	terraform    = regexp.MustCompile(`%\{~? *(if|for) `)
	manifestLine = regexp.MustCompile(`^(\s*)apiVersion: \S`)
	// manifestBegin is a line that can come before apiVersion in a manifest: a comment, a marker,
	// an entry, or a brace.
	manifestBegin = regexp.MustCompile(`^\s*($|#|---|%|[\w."'/-]+:(\s|$)|- |[{}\]])`)
)

// insideHint says where a manifest begins that comes after other text, as in a page or a script,
// and how to pass it if its end is clear: an indented one ends before less indentation, one in
// Markdown before a fence.
func insideHint(command, text string) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	first := slices.IndexFunc(lines, manifestLine.MatchString)
	if first < 0 || !slices.ContainsFunc(lines[:first], func(l string) bool { return !manifestBegin.MatchString(l) }) {
		return ""
	}
	indent, last := manifestLine.FindStringSubmatch(lines[first])[1], first
	for i, line := range lines[first:] {
		if trimmed := strings.TrimSpace(line); strings.HasPrefix(trimmed, "```") ||
			trimmed != "" && !strings.HasPrefix(line, indent) {
			break
		} else if trimmed != "" {
			last = first + i
		}
	}
	begins := fmt.Sprintf("has a manifest inside other text, from line %d on: ", first+1)
	if indent == "" && last == len(lines)-1 {
		return begins + "pass only its lines, or what a script writes"
	}
	return begins + fmt.Sprintf("sed -n '%d,%ds/^%s//p' FILE | %s", first+1, last+1, indent, command)
}
