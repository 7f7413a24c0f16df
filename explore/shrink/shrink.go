// Package shrink makes scenario files small that show something, such as a difference between two
// engines: what is left is what it takes to show it.
//
// A file is changed step by step, and a change is kept if the file still loads and still shows the same.
// First the run is cut short. Then parts are left out, from whole documents down to single fields, many
// at once as long as that goes well and then one by one (Zeller, Hildebrandt: Simplifying and Isolating
// Failure-Inducing Input, 2002; Misherghi, Su: HDD, 2006). Then lists of answers become one answer, and
// values become rounder and smaller. All of that is done again until nothing more can be done.
//
// What depends on a part goes with it, such as the answers to a probe with the probe: whatever the
// loader finds wrong in a file once something is left out, is left out too.
package shrink

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"

	"probesim.dev/scenarios"
)

// Options say how to shrink. The zero value is ready.
type Options struct {
	// Trials is how often to look whether a file differs, the most; 0: 2000.
	Trials int
	// ReadFile reads the files that scenarios take workloads from, as for scenarios.LoadBytes. They are
	// not changed. Nil: there are none.
	ReadFile func(path string) ([]byte, error)
	// Comment is written at the head of the result, such as where the file is from. Comments in the file
	// are left out: they speak of the file as it was.
	Comment string
	// Progress is told of each smaller file on the way, so that the best one is known if shrinking is
	// broken off. Nil: nobody is.
	Progress func(Result)
}

// Result is a file that still differs.
type Result struct {
	File      []byte
	Signature string // what it shows
	Trials    int    // that were made
	// Minimal says that there were trials enough: no document, list item or field can be left out of
	// the file, together with what depends on it. (A run's duration is cut and not left out.)
	Minimal bool
}

const (
	defaultTrials = 2000
	// bytesPerTrial is how much is read for each trial, the most: a bound for monstrous files.
	bytesPerTrial = 256 << 10
)

// File makes a scenario file as small as it can. differs says whether a file, which loads, shows
// something, and what: only a file that shows the same as the first is kept. It must always say the same
// of the same file.
//
// The error is that of a file that does not load, or that does not differ.
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
		return Result{}, errors.New("the file shows something else once it is formatted, without its comments, anchors and merges")
	}
	s.shortenRuns()
	s.repeat(s.removeParts, s.unfoldAnswers, s.simplifyValues)
	s.repeat(s.cutRuns, s.removeParts, s.unfoldAnswers, s.simplifyValues)
	r := s.result()
	r.Minimal = !s.exhausted()
	return r, nil
}

// repeat takes the steps again and again until they change nothing.
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
	text      []byte    // docs as written
	failed    map[[sha256.Size]byte]bool
	trials    int
	loaded    int // bytes
}

func (s *shrinker) exhausted() bool {
	return s.trials >= s.options.Trials || s.loaded/bytesPerTrial >= s.options.Trials
}

func (s *shrinker) load(text []byte) error {
	s.loaded += len(text)
	_, err := scenarios.LoadBytes(fileName, text, s.options.ReadFile)
	return err
}

// fileName is what the file is called in errors of the loader.
const fileName = "scenario.yaml"

// shows reports whether a file that loads shows the same as the first one.
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

// fail notes that a file does not load or shows something else, so that it is not tried again.
func (s *shrinker) fail(text []byte) { s.failed[sha256.Sum256(text)] = true }

func (s *shrinker) hasFailed(text []byte) bool { return s.failed[sha256.Sum256(text)] }

// keep takes a smaller file for the best one; the documents have been changed to it.
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
