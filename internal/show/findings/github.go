package findings

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"probesim.dev/internal/printable"
)

// Annotation is an error, or another notice, that GitHub Actions displays at a line of a file. Zero
// fields are left out.
type Annotation struct {
	Level        Level  // Error by default
	File         string // relative to the root of the repository, with slashes
	Line, Column int
	Title        string
	Message      string // may have several lines
}

// Annotate writes an annotation as a workflow command of GitHub Actions. Nothing in the annotation
// can be another command.
func Annotate(w io.Writer, a Annotation) error {
	var properties []string
	add := func(name, value string) {
		if value != "" && value != "0" {
			properties = append(properties, name+"="+propertyEscapes.Replace(printable.Text(value)))
		}
	}
	add("file", a.File)
	add("line", fmt.Sprint(a.Line))
	add("col", fmt.Sprint(a.Column))
	add("title", a.Title)
	command := "::" + strings.Replace(string(cmp.Or(a.Level, Error)), string(Note), "notice", 1)
	if len(properties) > 0 {
		command += " " + strings.Join(properties, ",")
	}
	_, err := fmt.Fprintf(w, "%s::%s\n", command, dataEscapes.Replace(printable.Lines(a.Message)))
	return err
}

// Escapes of workflow commands, from packages/core/src/command.ts of actions/toolkit, and of tabs,
// which could move text out of sight.
var (
	dataEscapes     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", "\t", `\t`)
	propertyEscapes = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

func (l *List) writeGitHub(w io.Writer, path func(string) string) error {
	joined := map[string]*Rule{}
	for i := range l.Rules {
		if l.Rules[i].Joined {
			joined[l.Rules[i].ID] = &l.Rules[i]
		}
	}
	for i := range l.Cases {
		c := &l.Cases[i]
		for _, f := range c.Findings {
			title, message := f.Title, strings.TrimSuffix(f.Message+"\n"+f.Command, "\n")
			if rule, join := joined[f.Rule]; join && rule != nil && f.Known == "" {
				title, message = rule.Text, l.messages(f.Rule)
				joined[f.Rule] = nil
			} else if join || f.Known != "" {
				continue
			}
			if err := Annotate(w, Annotation{f.Level, path(f.File), f.Line, f.Column, title, message}); err != nil {
				return err
			}
		}
		if c.Problem != "" {
			if err := Annotate(w, Annotation{File: path(c.File), Line: c.Line, Title: c.Name + " was not judged",
				Message: c.Problem}); err != nil {
				return err
			}
		}
	}
	return nil
}

// messages joins the messages of all findings of a rule.
func (l *List) messages(rule string) string {
	var list []string
	for _, c := range l.Cases {
		for _, f := range c.Findings {
			if f.Rule == rule && f.Known == "" {
				list = append(list, f.Title+": "+f.Message)
			}
		}
	}
	const most = 20
	if more := len(list) - most; more > 1 {
		list = append(list[:most], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(list, "\n")
}
