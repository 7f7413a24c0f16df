package strict

import (
	"bytes"
	"fmt"
)

// Limits of a file. They bound the time and memory that a file can cost before it is rejected.
const (
	MaxFileSize   = 4 << 20 // bytes
	MaxDepth      = 64      // of nested mappings, lists and merges
	MaxNodes      = 300_000 // values in a file, with all aliases and merges expanded
	MaxText       = 8 << 20 // bytes of keys and values, with all aliases and merges expanded
	MaxDocuments  = 1_000   // per file
	MaxDirectives = 100     // per document; the YAML parser compares each with all others
	MaxErrors     = 1_000   // further errors are only counted
)

// checkTokens reports whether a file has few enough tokens to parse. The YAML parser needs up to 1
// KB for each, and it reads a flow collection to its end before it returns anything. The check
// counts the characters that can begin a token, except plain text, which only begins after one of
// the others.
func checkTokens(name string, data []byte, errs *Collector) bool {
	count := 0
	var before, visible byte // the character before, and the last one that is not blank
	for i, c := range data {
		if beginsToken(c, before, visible, data[i+1:]) {
			count++
		}
		if count > MaxNodes {
			line := 1 + bytes.Count(data[:i], []byte("\n"))
			column := i - bytes.LastIndexByte(data[:i], '\n')
			errs.Add(Error{Pos: Pos{name, line, column}, Message: fmt.Sprintf(
				"the file has too many values: up to here there are more than %d separators, such as a comma or a "+
					"colon", MaxNodes)})
			return false
		}
		if before = c; c > ' ' {
			visible = c
		}
	}
	return true
}

// beginsToken reports whether c can begin a token. In UTF-16 zero bytes count as blanks.
func beginsToken(c, before, visible byte, rest []byte) bool {
	switch c {
	case ',', ':', '[', '{':
		return true
	case '-', '?':
		return len(rest) == 0 || rest[0] <= ' ' || rest[0] >= 0x80
	case '&', '*', '!':
		return !isAlphanumeric(before)
	case '#': // the parser keeps comments
		return before <= ' '
	case '"', '\'':
		return visible == '"' || visible == '\'' // a quoted text right after another one
	}
	return false
}

func isAlphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}
