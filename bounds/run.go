package bounds

import (
	"errors"
	"time"

	"probesim.dev/trace"
)

// Run simulates the pod in the middle of the nodes, with some rules for the program of the subject, for a virtual time or up to the
// first record for which over returns true. The records are valid until the next run.
func (s *Subject) Run(n Nodes, rules []Rule, until time.Duration, over func(*trace.Record) bool) error {
	c := s.center(n)
	c.Rules = rules
	_, err := s.record(&c, s.recorder(""), until, over)
	if errors.Is(err, errNothing) {
		return nil
	}
	return err
}
