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

// Type is the type of a field that a matcher can have.
type Type int

const (
	Bool Type = iota
	Int
	Time
	Text
)

// Scalar is the value of a field. Scalars of the same field are comparable with ==.
type Scalar struct {
	Type Type
	Int  int64 // 0 or 1 for a Bool; nanoseconds for a Time
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

// String formats the scalar in the notation of scenario files.
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

// Match is a condition on a field: equal to a value, in a range, or matched by a regular
// expression.
type Match struct {
	text   string
	typ    Type
	lo, hi int64 // bounds of Bool, Int and Time
	equal  string
	re     *regexp.Regexp
}

// maxPattern is the maximum length of a regular expression in bytes.
const maxPattern = 1000

// ParseMatch parses a condition on a field of type t, such as true, 5, 1.., Error or /text/.
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
		return fmt.Errorf("%s is not an RE2 expression: %s", strict.Quote(m.text),
			strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	m.re = re
	return nil
}

// Every reports whether every number of things meets the condition.
func (m Match) Every() bool { return m.typ == Int && m.lo <= 0 && m.hi >= maxCount }

// Overlaps reports whether a number or a time in nanoseconds from lo to hi can meet the condition.
func (m Match) Overlaps(lo, hi int64) bool { return m.lo <= hi && lo <= m.hi }

// Matches reports whether s meets the condition. Its type must be the type of the match.
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
