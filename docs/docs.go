// Package docs has the pages of this directory that the command prints.
package docs

import _ "embed" // for the pages

// Findings describes the kinds of findings of 'probesim check', a section for each: its ID, its
// severity and what is wrong, how the kubelet behaves, and what to do.
//
//go:embed findings.md
var Findings string
