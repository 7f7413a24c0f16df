package probetest

import "fmt"

// static is in matchers whose answer changes only when the test lets virtual time pass. Eventually and Consistently, which
// let real time pass, need not ask twice.
type static struct{}

func (static) MatchMayChangeInTheFuture(any) bool { return false }

// named says which matcher an error comes from.
func named(matcher string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", matcher, err)
}
