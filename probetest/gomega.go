package probetest

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/onsi/gomega/types"
)

// settled is the part of a matcher that refuses Eventually and Consistently, which let only real
// time pass, and that keeps what it found about a list.
type settled struct {
	polled bool
	others string // of the last Match of a list: a line about each pod that the message is not about
}

func (s *settled) list() *settled { return s }

// MatchMayChangeInTheFuture reports false. Gomega calls it only for Eventually and Consistently,
// before Match.
func (s *settled) MatchMayChangeInTheFuture(any) bool {
	s.polled = true
	return false
}

var errPolled = errors.New("real time does not change a run, so Eventually and Consistently have nothing to wait " +
	"for: call Advance, and then use Expect")

// subjectOf returns the subject of an assertion, or an error if Eventually or Consistently makes
// it.
func (s *settled) subjectOf(actual any) (*subject, error) {
	if s.wasPolled() {
		return nil, errPolled
	}
	return subjectOf(actual)
}

// wasPolled reports whether Eventually or Consistently makes the assertion.
func (s *settled) wasPolled() bool {
	polled := s.polled
	s.polled = false
	return polled
}

// matched calls the function match of a matcher, and adds the name of the matcher to its error. A
// nil matcher is an error.
func matched(matcher string, isNil bool, match func(any) (bool, error), actual any) (bool, error) {
	if isNil {
		return false, fmt.Errorf("%s: the matcher is nil: make one with %s", matcher, matcher)
	}
	ok, err := match(actual)
	if err != nil {
		return ok, fmt.Errorf("%s: %w", matcher, err)
	}
	return ok, nil
}

func isNilMatcher(m types.GomegaMatcher) bool {
	v := reflect.ValueOf(m)
	return v.Kind() == reflect.Pointer && v.IsNil()
}
