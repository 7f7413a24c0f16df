package probetest

import (
	"errors"
	"fmt"
)

// settled is the part of a matcher that refuses Eventually and Consistently, which let only real time pass.
type settled struct{ polled bool }

// MatchMayChangeInTheFuture reports false. Gomega calls it only for Eventually and Consistently, before Match.
func (s *settled) MatchMayChangeInTheFuture(any) bool {
	s.polled = true
	return false
}

// subjectOf returns the subject of an assertion, or an error if Eventually or Consistently makes it.
func (s *settled) subjectOf(actual any) (*subject, error) {
	if s.wasPolled() {
		return nil, errors.New("real time does not change a run, so Eventually and Consistently have nothing to wait for: call Advance, and then use Expect")
	}
	return subjectOf(actual)
}

// wasPolled reports whether Eventually or Consistently makes the assertion.
func (s *settled) wasPolled() bool {
	polled := s.polled
	s.polled = false
	return polled
}

// named adds the name of the matcher to an error.
func named(matcher string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", matcher, err)
}
