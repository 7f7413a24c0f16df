package probetest

import "fmt"

// settled tells Eventually and Consistently that a result is final: only Advance changes a run, and real time
// does not.
type settled struct{}

// MatchMayChangeInTheFuture reports false, so Eventually and Consistently return immediately.
func (settled) MatchMayChangeInTheFuture(any) bool { return false }

// named adds the name of the matcher to an error.
func named(matcher string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", matcher, err)
}
