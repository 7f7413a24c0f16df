package bounds

import (
	"time"

	"probesim.dev/fakeruntime"
	"probesim.dev/trace"
)

// Misfortune is what happens to a healthy program.
type Misfortune string

const (
	// Hang is a program that does not answer. Requests that arrive in the meantime get no answer at all.
	Hang Misfortune = "hang"
	// Stall is a program that stands still, as in a garbage collection, and answers the requests that have arrived in the
	// meantime when it goes on.
	Stall Misfortune = "stall"
	// Refuse is a program that refuses connections, or whose commands fail.
	Refuse Misfortune = "down"
)

// Rule is one statement about the program of the subject: it has a misfortune in a window, or it exits.
type Rule struct {
	Instance int               // the instance to which the rule applies; AnyInstance for all
	Clock    fakeruntime.Clock // the moment from which From counts
	From     time.Duration
	For      time.Duration // the length of the misfortune; 0: for ever

	Misfortune Misfortune // empty: the rule is about an exit
	Exit       int32      // the exit code, if there is no misfortune
	NeverExits bool       // the program ignores the stop signal
}

// AnyInstance is the Instance of a rule for all instances.
const AnyInstance = -1

// crashes reports whether the program exits by itself.
func (r Rule) crashes() bool { return r.Exit != 0 && r.Clock != fakeruntime.AfterSigterm }

// rule returns the rule for the fake runtime.
func (s *Subject) rule(r Rule) fakeruntime.Rule {
	c := fakeruntime.Rule{Clock: r.Clock, From: fakeruntime.Exactly(r.From)}
	if r.Instance != AnyInstance {
		c.Instance = fakeruntime.Range{Min: r.Instance, Max: r.Instance, Set: true}
	}
	if r.For > 0 {
		c.For = &fakeruntime.Draw{Min: r.For, Max: r.For}
	}
	if r.Misfortune == "" {
		c.Exit = &fakeruntime.Exit{Code: r.Exit, Never: r.NeverExits}
		return c
	}
	c.Liveness, c.Readiness, c.Startup = s.series(r.Misfortune, trace.Liveness), s.series(r.Misfortune, trace.Readiness), s.series(r.Misfortune, trace.Startup)
	return c
}

// series returns the answers to a probe during a misfortune, or nil if there is no such probe.
func (s *Subject) series(m Misfortune, p trace.Probe) *fakeruntime.Series {
	probe := s.Probe(p)
	if probe == nil {
		return nil
	}
	answer := fakeruntime.Answer{Word: fakeruntime.Word(m)}
	switch {
	case m == Refuse && probe.Exec != nil:
		answer = fakeruntime.Answer{Word: fakeruntime.Answers, Code: 1}
	case m == Stall && probe.TCPSocket != nil: // the kernel of the node accepts connections for a program that stands still
		answer = fakeruntime.Answer{Word: fakeruntime.Answers}
	}
	return &fakeruntime.Series{Items: []fakeruntime.Item{{Answer: answer, Count: 1}}}
}
