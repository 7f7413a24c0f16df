package bounds_test

import (
	"context"
	"errors"
	"testing"

	"probesim.dev/bounds"
	"probesim.dev/kube/profile"
)

// runsOut is a context that is done after a number of runs of a subject.
type runsOut struct {
	context.Context
	s    *bounds.Subject
	runs int
}

func (c runsOut) Err() error {
	if c.s.Runs > c.runs {
		return context.Canceled
	}
	return nil
}

// TestCanceled checks that a search ends with the error of its context, wherever it is.
func TestCanceled(t *testing.T) {
	for _, which := range []bounds.StartCase{bounds.AfterStartupKill, bounds.AfterCrash, bounds.AfterCrashWhileStarting} {
		for runs := 0; ; runs += 11 {
			s, err := bounds.NewSubject(web(), "app", profile.Newest())
			if err != nil {
				t.Fatal(err)
			}
			s.Context = runsOut{t.Context(), s, runs}
			if _, err = s.Start(nodes, which); err == nil {
				break // it needs fewer runs
			}
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%s: error %v after %d runs", which, err, runs)
			}
		}
	}
}
