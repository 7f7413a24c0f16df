package value

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"probesim.dev/internal/strict"
)

// Type is the type of a field that can be matched.
type Type int

const (
	Bool Type = iota
	Int
	Time
	Text
)

// Scalar is the value of a field. Scalars of one field can be compared with ==.
type Scalar struct {
	Type Type
	Int  int64 // of a Bool 0 or 1; of a Time nanoseconds
	Text string
}

// BoolOf, IntOf, TimeOf and TextOf make scalars.
func BoolOf(b bool) Scalar {
	if b {
		return Scalar{Type: Bool, Int: 1}
	}
	return Scalar{Type: Bool}
}
func IntOf(n int64) Scalar          { return Scalar{Type: Int, Int: n} }
func TimeOf(d time.Duration) Scalar { return Scalar{Type: Time, Int: int64(d)} }
func TextOf(s string) Scalar        { return Scalar{Type: Text, Text: s} }

// String writes the scalar as a scenario would.
func (s Scalar) String() string {
	switch s.Type {
	case Bool:
		return strconv.FormatBool(s.Int == 1)
	case Int:
		return strconv.FormatInt(s.Int, 10)
	case Time:
		return Format(time.Duration(s.Int))
	}
	return s.Text
}

// Match says what a field must be: equal to a value, in a range, or with a text that a regular
// expression is found in.
type Match struct {
	text   string
	typ    Type
	lo, hi int64 // of Bool, Int and Time
	equal  string
	re     *regexp.Regexp
}

// maxPattern is the longest regular expression that may be written.
const maxPattern = 1000

// ParseMatch parses what a field of type t must be: true, 5, 1.., Error or /text/.
func ParseMatch(t Type, text string) (Match, error) {
	m := Match{text: text, typ: t}
	var err error
	switch t {
	case Bool:
		err = m.parseBool()
	case Int:
		var r IntRange
		err = r.UnmarshalText([]byte(text))
		m.lo, m.hi = int64(r.Min), int64(r.Max)
	case Time:
		var r TimeRange
		err = r.UnmarshalText([]byte(text))
		m.lo, m.hi = int64(r.Min), int64(r.Max)
	case Text:
		err = m.parseText()
	}
	return m, err
}

func (m *Match) parseBool() error {
	switch m.text {
	case "true":
		m.lo, m.hi = 1, 1
	case "false":
		m.lo, m.hi = 0, 0
	default:
		return fmt.Errorf("%s is neither true nor false", strict.Quote(m.text))
	}
	return nil
}

func (m *Match) parseText() error {
	inner, isPattern := strings.CutPrefix(m.text, "/")
	if !isPattern {
		m.equal = m.text
		return nil
	}
	inner, closed := strings.CutSuffix(inner, "/")
	switch {
	case !closed:
		return fmt.Errorf("%s begins with a slash but does not end with one", strict.Quote(m.text))
	case inner == "":
		return errors.New("// matches every text: leave the field out")
	case len(inner) > maxPattern:
		return fmt.Errorf("the regular expression is longer than %d bytes", maxPattern)
	}
	re, err := regexp.Compile(inner)
	if err != nil {
		return fmt.Errorf("%s is not an RE2 expression: %s", strict.Quote(m.text), strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	m.re = re
	return nil
}

// Above reports whether a number must be higher than highest.
func (m Match) Above(highest int64) bool { return m.typ == Int && m.lo > highest }

// Matches reports whether s, of the type that the match was parsed for, is what it must be.
func (m Match) Matches(s Scalar) bool {
	switch {
	case m.typ != Text:
		return m.lo <= s.Int && s.Int <= m.hi
	case m.re != nil:
		return m.re.MatchString(s.Text)
	}
	return m.equal == s.Text
}

// String returns the match as written.
func (m Match) String() string { return m.text }
