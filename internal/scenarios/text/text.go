// Package text writes scenario files.
package text

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/strict"
	"probesim.dev/scenarios/format"
)

// File is a scenario file with one Scenario. Its lines are fields, items of lists such as "- {for:
// 10s, probes: down}", and comments.
type File struct {
	Comments []string // at the head
	Objects  []byte   // the documents before the scenario, each with the three dashes after it
	Name     string
	Spec     [][2]string // lines of the fields before the pods, each with a comment or nothing
	Pods     []Pod
	Lists    []List // the fields after the pods
}

// Pod is an entry of spec.pods.
type Pod struct {
	LeftOut          []string // comments in place of an entry; nil: there is one
	Name, Kind, File string   // empty: not written
	Replicas         string   // a number, and a comment; empty: not written
	Containers       []List   // with behavior
}

// List is a list with its key, or the behavior of a container with its name.
type List struct {
	Key, Comment string
	Lines        []string
}

// commented returns a line with a comment at its end, which is in a column with others.
func commented(line, comment string) string {
	if comment == "" {
		return line
	}
	return fmt.Sprintf("%-29s # %s", line, printable.Text(comment))
}

// Item returns the line of an item with a comment at its end.
func Item(item fmt.Stringer, comment string) string {
	return "- " + item.String() + " # " + printable.Text(comment)
}

// Bytes returns the text of the file.
func (f *File) Bytes() []byte {
	var b bytes.Buffer
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	lines := func(indent string, list []string) {
		for _, l := range list {
			line("%s%s", indent, l)
		}
	}
	for _, comment := range f.Comments {
		line("# %s", printable.Text(comment))
	}
	b.Write(f.Objects)
	line("apiVersion: %s\nkind: Scenario\nmetadata:\n  name: %s\nspec:", format.APIVersion, strict.Quoted(f.Name))
	for _, l := range f.Spec {
		line("%s", commented("  "+l[0], l[1]))
	}
	line("  pods:")
	for _, p := range f.Pods {
		if p.LeftOut != nil {
			lines("  # ", p.LeftOut)
			continue
		}
		line("  - name: %s", strict.Quoted(p.Name))
		for _, field := range [][2]string{{"kind", p.Kind}, {"file", p.File}, {"replicas", p.Replicas}} {
			if value := field[1]; value != "" {
				if field[0] == "file" {
					value = strict.Quoted(value)
				}
				line("    %s: %s", field[0], value)
			}
		}
		if len(p.Containers) > 0 {
			line("    containers:")
		}
		for _, c := range p.Containers {
			line("    - name: %s", strict.Quoted(c.Key))
			line("%s", commented("      behavior:", c.Comment))
			lines("      ", c.Lines)
		}
	}
	for _, l := range f.Lists {
		if key := "  " + l.Key + ":"; slices.ContainsFunc(l.Lines, func(line string) bool { return line[0] != '#' }) {
			line("%s", commented(key, l.Comment))
		} else if len(l.Lines) > 0 {
			line("%s", commented("  # "+l.Key+":", l.Comment))
		}
		lines("  ", l.Lines)
	}
	return b.Bytes()
}

var notOfNames = regexp.MustCompile(`[^a-z0-9]+`)

// Name returns a text as the name of a scenario.
func Name(text string) string {
	text = strings.Trim(notOfNames.ReplaceAllString(strings.ToLower(text), "-"), "-")
	return strings.TrimSuffix(text[:min(len(text), 200)], "-")
}

// NameOf returns the name of a scenario for a manifest: that of its only workload, or a name from
// the file name, or else the last resort.
func NameOf(manifest string, workloads []manifests.Workload, last string) string {
	only := ""
	if len(workloads) == 1 {
		only = Name(workloads[0].Name)
	}
	return cmp.Or(only, Name(strings.TrimSuffix(path.Base(manifest), path.Ext(manifest))), last)
}

// Schema is the name of the JSON Schema file to which the files of Modeline refer, for editors.
const Schema = "probesim.schema.json"

// Modeline is the comment that names the schema for the YAML language server. Each document needs
// its own.
const Modeline = "yaml-language-server: $schema=" + Schema

// Copy returns the workloads of a manifest, each as a document that three dashes follow. It leaves
// out all other objects, because a scenario file cannot have them.
func Copy(name string, data []byte) ([]byte, error) {
	errs := &strict.Collector{}
	var out strings.Builder
	for _, object := range manifests.Parse(name, data, errs).Manifests {
		out.WriteString(object.YAML() + "---\n# " + Modeline + "\n")
	}
	return []byte(out.String()), errs.Err()
}
