// Package githubrunner finds the commands in the log of a step as the runner of GitHub Actions
// does. Only tests use it.
//
// The rules are those of OnDataReceived in src/Runner.Worker/Handlers/OutputManager.cs,
// TryProcessCommand in src/Runner.Worker/ActionCommandManager.cs, and TryParseV2 and TryParse in
// src/Runner.Common/ActionCommand.cs, of actions/runner at commit 079cdb1d05fe.
package githubrunner

import (
	"regexp"
	"strings"
	"unicode"
)

// Command is a command in a log.
type Command struct {
	Name       string // in lower case: the runner ignores case
	Properties map[string]string
	Data       string
	Line       string // the line with the command
}

// Commands returns the commands in a log. It takes any name for the name of a command: besides the
// commands that it knows, the runner obeys the token with which a log ends ::stop-commands::.
//
// The runner searches for "::" and "##[" with the rules of a language, which skip characters
// without width. How many of them depends on the version of ICU, so Commands skips all of them and
// all control characters.
func Commands(log string) []Command {
	var found []Command
	for _, line := range lineBreak.Split(log, -1) { // as StreamReader.ReadLine
		for _, text := range []string{line, skipIgnorable(line)} {
			if c, ok := parse(text); ok {
				c.Line = line
				found = append(found, c)
				break
			}
		}
	}
	return found
}

var lineBreak = regexp.MustCompile(`\r\n|\r|\n`)

func skipIgnorable(line string) string {
	return strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Cc, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point,
			unicode.Variation_Selector) && !unicode.IsSpace(r) {
			return -1
		}
		return r
	}, line)
}

// parse parses a line as the second version of commands, and then as the first one.
func parse(line string) (Command, bool) {
	if rest, begins := strings.CutPrefix(strings.TrimLeftFunc(line, unicode.IsSpace), "::"); begins {
		if head, data, ended := strings.Cut(rest, "::"); ended && head != "" {
			return command(head, data, ",", propertyEscapes, dataEscapes), true
		}
	}
	if _, rest, begins := strings.Cut(line, "##["); begins {
		if head, data, ended := strings.Cut(rest, "]"); ended && head != "" {
			return command(head, data, ";", firstEscapes, firstEscapes), true
		}
	}
	return Command{}, false
}

func command(head, data, separator string, properties, escapes []string) Command {
	name, list, _ := strings.Cut(head, " ")
	c := Command{Name: strings.ToLower(name), Properties: map[string]string{}, Data: unescape(data, escapes)}
	for property := range strings.SplitSeq(strings.TrimSpace(list), separator) {
		if key, value, ok := strings.Cut(property, "="); ok && key != "" && value != "" {
			c.Properties[strings.ToLower(key)] = unescape(value, properties)
		}
	}
	return c
}

// Escapes and their characters, in the order in which the runner replaces them.
var (
	dataEscapes     = []string{"%0D", "\r", "%0A", "\n", "%25", "%"}
	propertyEscapes = []string{"%0D", "\r", "%0A", "\n", "%3A", ":", "%2C", ",", "%25", "%"}
	firstEscapes    = []string{"%3B", ";", "%0D", "\r", "%0A", "\n", "%5D", "]", "%25", "%"}
)

func unescape(s string, escapes []string) string {
	for i := 0; i < len(escapes); i += 2 {
		s = strings.ReplaceAll(s, escapes[i], escapes[i+1])
	}
	return s
}
