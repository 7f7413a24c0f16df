// Package require parses requirements on probe settings and rollouts, such as start>=70s and
// lost<=0. Each word has one meaning in all commands. Package check judges the words about
// containers, and package rollout those about rollouts.
package require

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
)

// Requirement limits a figure.
type Requirement struct {
	Container string // empty: each ordinary container that no other requirement on the word names, or the rollout
	Word      string
	Duration  time.Duration
	Count     int64 // of words about numbers
}

// word is a figure that requirements limit.
type word struct {
	name    string
	least   bool // the figure must be at least the limit, and not at most
	rollout bool // it is about a rollout, and not about a container
	count   bool // it is a number, and not a duration
	means   string
}

// words lists all words, in the order of reports.
var words = []word{
	{name: "start", least: true, means: "a start may take this long"},
	{name: "restart", least: true, means: "a start after a kill or a crash may take this long"},
	{name: "retry", least: true, means: "a start after a crash while starting may take this long"},
	{name: "stall", least: true, means: "a container survives a stall of this length"},
	{name: "silence", least: true, means: "a container survives not answering for this long"},
	{name: "errors", least: true, means: "a container survives errors or refusals for this long"},
	{name: "answer", least: true, means: "each answer may take this long without a restart"},
	{name: "serving", least: true, means: "a container stays ready in a stall of this length"},
	{name: "serving-silence", least: true, means: "a container stays ready while it does not answer for this long"},
	{name: "serving-errors", least: true, means: "a container stays ready while it fails at once for this long"},
	{name: "serving-answer", least: true, means: "each answer may take this long while the container stays ready"},
	{name: "ready", means: "a container that is up becomes ready within this time: write replicas>=3 for Ready " +
		"replicas in a rollout"},
	{name: "unready", means: "a broken container leaves its Service within this time"},
	{name: "hung-unready", means: "a hung container leaves its Service within this time"},
	{name: "detect", means: "a hung container is stopped within this time"},
	{name: "recover", means: "a hung container is ready again within this time"},
	{name: "lost", rollout: true, count: true, means: "a rollout loses at most this many requests"},
	{name: "replicas", least: true, rollout: true, count: true, means: "this many replicas stay Ready in a rollout"},
	{name: "takes", rollout: true, means: "a rollout is complete within this time"},
	{name: "prestop", rollout: true, means: "a preStop sleep of this length is always enough"},
}

func find(name string) (word, bool) {
	i := slices.IndexFunc(words, func(w word) bool { return w.name == name })
	if i < 0 {
		return word{}, false
	}
	return words[i], true
}

func (w word) operator() string {
	if w.least {
		return ">="
	}
	return "<="
}

// AboutRollout reports whether the requirement is about a rollout, and not about a container.
func (r Requirement) AboutRollout() bool {
	w, _ := find(r.Word)
	return w.rollout
}

// Name returns the figure that the requirement limits, such as start or app/start.
func (r Requirement) Name() string {
	if r.Container == "" {
		return r.Word
	}
	return r.Container + "/" + r.Word
}

// String returns the requirement as Parse reads it.
func (r Requirement) String() string {
	w, _ := find(r.Word)
	if w.count {
		return r.Name() + w.operator() + strconv.FormatInt(r.Count, 10)
	}
	return r.Name() + w.operator() + value.Format(r.Duration)
}

// Limit returns the limit as a number: seconds, or a count.
func (r Requirement) Limit() float64 {
	if w, _ := find(r.Word); w.count {
		return float64(r.Count)
	}
	return r.Duration.Seconds()
}

// Met reports whether a figure, in seconds or as a count, meets the requirement.
func (r Requirement) Met(figure float64) bool {
	if w, _ := find(r.Word); w.least {
		return figure >= r.Limit()
	}
	return figure <= r.Limit()
}

// Texts returns requirements as Parse reads them.
func Texts(list []Requirement) (texts []string) {
	for _, r := range list {
		texts = append(texts, r.String())
	}
	return texts
}

// Parse parses a list with commas, such as "start>=70s, app/detect<=45s, lost<=0". The error lists
// all errors.
func Parse(text string) (list []Requirement, err error) {
	var wrong []string
	for _, part := range strings.Split(text, ",") {
		r, err := parse(strings.TrimSpace(part))
		switch {
		case err != nil:
			wrong = append(wrong, err.Error())
		case slices.ContainsFunc(list, func(other Requirement) bool { return other.Name() == r.Name() }):
			wrong = append(wrong, r.Name()+" is required twice")
		default:
			list = append(list, r)
		}
	}
	if len(wrong) > 0 {
		return nil, errors.New(strings.Join(wrong, "; "))
	}
	return list, nil
}

func parse(text string) (r Requirement, err error) {
	at := strings.IndexAny(text, "<>=")
	if at < 0 {
		return r, fmt.Errorf("%s is no requirement: write a word, >= or <=, and a limit, such as start>=70s or lost<=0",
			strict.Quote(text))
	}
	name, limit := strings.TrimSpace(text[:at]), strings.TrimLeft(text[at:], "<>=")
	operator := strings.TrimSuffix(text[at:], limit)
	if container, rest, named := strings.Cut(name, "/"); named {
		r.Container, name = strings.TrimSpace(container), strings.TrimSpace(rest)
		if r.Container == "" {
			return r, fmt.Errorf("the name of a container is missing before /%s", name)
		}
	}
	w, known := find(name)
	switch {
	case !known:
		var names []string
		for _, w := range words {
			names = append(names, w.name)
		}
		return r, fmt.Errorf("%s is no word for requirements%s: the words are %s", strict.Quote(name),
			strict.DidYouMean(name, names),
			strings.Join(names, ", "))
	case w.rollout && r.Container != "":
		return r, fmt.Errorf("%s is about a rollout, and not about a container: leave %s/ out", name, r.Container)
	case operator != w.operator():
		return r, fmt.Errorf("%s takes %s, because %s", name, w.operator(), w.means)
	}
	r.Word = name
	if err = r.setLimit(strings.TrimSpace(limit), w.count); err != nil {
		return Requirement{}, fmt.Errorf("%s: %w", name, err)
	}
	return r, nil
}

func (r *Requirement) setLimit(text string, count bool) (err error) {
	if count {
		if r.Count, err = strconv.ParseInt(text, 10, 53); err != nil || r.Count < 0 {
			return fmt.Errorf("%s is no whole number", strict.Quote(text))
		}
		return nil
	}
	if r.Duration, err = value.ParseDuration(text); err == nil && r.Duration > value.LongestLimit {
		err = fmt.Errorf("must be at most %s, because a longer time counts as no limit",
			value.Format(value.LongestLimit))
	}
	return err
}

// Split returns the requirements about containers, and those about rollouts.
func Split(list []Requirement) (containers, rollouts []Requirement) {
	for _, r := range list {
		if r.AboutRollout() {
			rollouts = append(rollouts, r)
		} else {
			containers = append(containers, r)
		}
	}
	return containers, rollouts
}
