// Package shrink reduces a scenario file that shows a problem, such as a difference between the
// simulator and the real kubelet, to the parts that the problem needs.
//
// Shrinking changes the file step by step and keeps a change if the file still loads and still
// shows the same problem. First it shortens the run. Then it removes parts, from whole documents
// down to single fields: many parts together as long as that works, then one by one (Zeller,
// Hildebrandt: Simplifying and Isolating Failure-Inducing Input, 2002; Misherghi, Su: HDD, 2006).
// Then it replaces lists of answers by one answer, and values by rounder and smaller ones. It
// repeats all of these until no step changes the file.
//
// After each removal, shrink also removes all parts that the loader now rejects, for example the
// answers to a probe together with the probe.
package shrink

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"

	"probesim.dev/scenarios"
)

// Options configure File. The zero value is ready to use.
type Options struct {
	// Trials is the maximum number of calls of differs; 0 means 2000.
	Trials int
	// Enough, unless nil, ends the search when it returns true.
	Enough func() bool
	// ReadFile reads the files that scenarios take workloads from, as for scenarios.LoadBytes. File
	// does not change them. Nil means that there are none.
	ReadFile func(path string) ([]byte, error)
	// Comment becomes the comment at the head of the result, for example the origin of the file.
	// File drops the comments of the original file, because they describe what is no longer there.
	Comment string
	// Progress, if not nil, receives each smaller file. A caller that stops early still has the
	// best file so far.
	Progress func(Result)
}

// Result is a smaller file that shows the same problem.
type Result struct {
	File      []byte
	Signature string // what the file shows, as differs returned it
	Trials    int    // the number of calls of differs
	// Minimal reports that no document, list item or field can be removed together with the parts
	// that depend on it. (The duration of a run is shortened and never removed.) It is false if the
	// search ended before.
	Minimal bool
}

const (
	defaultTrials = 2000
	// bytesPerTrial bounds the bytes that the loader reads for each trial, for very large files.
	bytesPerTrial = 256 << 10
)

// File shrinks a scenario file. differs reports whether a file that loads shows the problem, and a
// signature of the problem: File keeps only files with the signature of the original file. differs
// must return the same for the same file.
//
// File returns an error if the file does not load, or does not show a problem.
func File(data []byte, differs func(file []byte) (signature string, ok bool), o Options) (Result, error) {
	s := &shrinker{differs: differs, options: o, failed: map[[sha256.Size]byte]bool{}}
	if s.options.Trials <= 0 {
		s.options.Trials = defaultTrials
	}
	if err := s.load(data); err != nil {
		return Result{}, fmt.Errorf("only a scenario file that loads can be made smaller:\n%w", err)
	}
	var ok bool
	s.trials++
	if s.signature, ok = differs(data); !ok {
		return Result{}, errors.New("there is no difference to keep while making the file smaller")
	}
	s.docs = parse(data)
	if s.text = s.docs.write(nil).text; string(s.text) != string(data) && !s.shows(s.text) {
		return Result{}, errors.New("the file shows something else once it is formatted, without its comments, " +
			"anchors and merges")
	}
	s.shortenRuns()
	s.repeat(s.removeParts, s.unfoldAnswers, s.simplifyValues)
	s.repeat(s.cutRuns, s.removeParts, s.unfoldAnswers, s.simplifyValues)
	r := s.result()
	r.Minimal = !s.exhausted()
	return r, nil
}

// repeat runs the steps until none of them changes the file.
func (s *shrinker) repeat(steps ...func()) {
	for before := ""; before != string(s.text); {
		before = string(s.text)
		for _, step := range steps {
			step()
		}
	}
}

// shrinker shrinks one file.
type shrinker struct {
	options   Options
	differs   func([]byte) (string, bool)
	signature string
	docs      documents // the smallest file so far
	text      []byte    // docs as text
	failed    map[[sha256.Size]byte]bool
	trials    int
	loaded    int // bytes
}

func (s *shrinker) exhausted() bool {
	return s.trials >= s.options.Trials || s.loaded/bytesPerTrial >= s.options.Trials ||
		s.options.Enough != nil && s.options.Enough()
}

func (s *shrinker) load(text []byte) error {
	s.loaded += len(text)
	_, err := scenarios.LoadBytes(fileName, text, s.options.ReadFile)
	return err
}

// fileName is the name of the file in errors of the loader.
const fileName = "scenario.yaml"

// shows reports whether a file that loads shows the same problem as the original.
func (s *shrinker) shows(text []byte) bool {
	if s.hasFailed(text) || s.exhausted() {
		return false
	}
	s.trials++
	signature, ok := s.differs(text)
	if !ok || signature != s.signature {
		s.fail(text)
		return false
	}
	return true
}

// fail remembers a file that does not load or shows something else. It is not tried again.
func (s *shrinker) fail(text []byte) { s.failed[sha256.Sum256(text)] = true }

func (s *shrinker) hasFailed(text []byte) bool { return s.failed[sha256.Sum256(text)] }

// keep makes text the best file so far. The caller has already changed the documents.
func (s *shrinker) keep(text []byte) {
	s.text = text
	if s.options.Progress != nil {
		s.options.Progress(s.result())
	}
}

func (s *shrinker) result() Result {
	file := s.text
	if s.options.Comment != "" {
		comment := "# " + strings.ReplaceAll(strings.TrimSpace(s.options.Comment), "\n", "\n# ") + "\n"
		file = append([]byte(comment), file...)
	}
	return Result{File: file, Signature: s.signature, Trials: s.trials}
}
