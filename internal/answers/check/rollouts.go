package check

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
)

// RolloutRequirement is a requirement on a row of package rollout, such as lost<=0.
type RolloutRequirement struct {
	Row   string  `json:"row"`
	Value float64 `json:"value"` // seconds, or a number
}

// String returns the requirement as ParseRolloutRequirements reads it.
func (r RolloutRequirement) String() string {
	if r.inSeconds() {
		return r.Row + r.operator() + value.Format(time.Duration(math.Round(r.Value*1e9)))
	}
	return r.Row + r.operator() + strconv.FormatFloat(r.Value, 'f', -1, 64)
}

func (r RolloutRequirement) inSeconds() bool { return r.Row == "takes" || r.Row == "prestop" }

func (r RolloutRequirement) operator() string {
	if r.Row == "ready" {
		return ">="
	}
	return "<="
}

// The rows of rollouts: ready must be at least its value, and the others at most theirs.
var (
	rolloutRows  = []string{"lost", "ready", "takes", "prestop"}
	aboutRollout = regexp.MustCompile(`^\s*((lost|takes|prestop)\s*[<>=]|ready\s*>)`)
)

// SplitRequirements splits requirements on rollouts from the others, which are about the probes of
// containers: ready<=D is one of those.
func SplitRequirements(text string) (rollouts, others []string) {
	for _, part := range strings.Split(text, ",") {
		if aboutRollout.MatchString(part) {
			rollouts = append(rollouts, strings.TrimSpace(part))
		} else {
			others = append(others, strings.TrimSpace(part))
		}
	}
	return rollouts, others
}

// ParseAnyRequirements parses a list of requirements on rollouts and on probes. The error lists all
// errors.
func ParseAnyRequirements(text string) (rollouts []RolloutRequirement, probes Requirements, err error) {
	about, others := SplitRequirements(text)
	var wrong [2]error
	if len(about) > 0 {
		rollouts, wrong[0] = ParseRolloutRequirements(strings.Join(about, ","))
	}
	if len(others) > 0 {
		probes, wrong[1] = ParseRequirements(strings.Join(others, ","))
	}
	return rollouts, probes, errors.Join(wrong[:]...)
}

// ParseRolloutRequirements parses a list such as "lost<=0, ready>=3, takes<=5m, prestop<=10s". The
// error lists all errors.
func ParseRolloutRequirements(text string) (list []RolloutRequirement, err error) {
	var wrong []error
	for _, part := range strings.Split(text, ",") {
		r, err := parseRolloutRequirement(strings.TrimSpace(part))
		if err != nil {
			wrong = append(wrong, err)
		}
		list = append(list, r)
	}
	return list, errors.Join(wrong...)
}

func parseRolloutRequirement(text string) (r RolloutRequirement, err error) {
	at := strings.IndexAny(text, "<>=")
	if at < 0 {
		return r, fmt.Errorf("%s is no requirement: write a row, >= or <=, and a value, such as lost<=0",
			strict.Quote(text))
	}
	if r.Row = strings.TrimSpace(text[:at]); slices.ContainsFunc(rows, func(of row) bool {
		return string(of.id) == r.Row
	}) && r.Row != "ready" {
		return r, fmt.Errorf("%s is a row of 'probesim check': the rows of rollouts are %s", r.Row,
			strings.Join(rolloutRows, ", "))
	} else if !slices.Contains(rolloutRows, r.Row) {
		return r, fmt.Errorf("%s is no row%s: the rows are %s", strict.Quote(r.Row),
			strict.DidYouMean(r.Row, rolloutRows), strings.Join(rolloutRows, ", "))
	}
	limit, found := strings.CutPrefix(text[at:], r.operator())
	if !found {
		return r, fmt.Errorf("%s takes %s", r.Row, r.operator())
	}
	limit = strings.TrimSpace(limit)
	if r.inSeconds() {
		d, err := value.ParseDuration(limit)
		if err != nil {
			return r, fmt.Errorf("%s: %w", r.Row, err)
		}
		r.Value = d.Seconds()
		return r, nil
	}
	n, err := strconv.ParseInt(limit, 10, 53)
	if err != nil || n < 0 {
		return r, fmt.Errorf("%s: %s is no whole number", r.Row, strict.Quote(limit))
	}
	r.Value = float64(n)
	return r, nil
}
