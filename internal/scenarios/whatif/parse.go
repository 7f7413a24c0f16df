// Package whatif turns a manifest and a few words, such as "stall 12s every 1h", into a scenario.
package whatif

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
)

// event is one thing that happens to programs or to the node:
//
//	event  = [CONTAINER "="] what [DRAW | PERCENT] {("at" | "after" | "every") DRAW}
//	what   = [target] answer | "start" | "stop" | "refuse" | "exit" [CODE] | "delete" | ("kubelet" | "runtime" | "registry" | "api") "down" | change
//	change = "rollout" | "undo" | "scale" NUMBER
//	target = "liveness" | "readiness" | "startup" | "probes" | "postStart" | "preStop" | ENDPOINT
//	answer = WORD ["in" DRAW]
type event struct {
	text string // as written
	// empty: all containers with probes; of a delete, a workload or all of them; of a change, a
	// Deployment or all of them
	container string
	what      string // start, stop, refuse, exit, answer, outage, deletion or a change of a Deployment
	target    string // empty: probes
	answer    string // an answer, the exit code, or the number of replicas
	chance    string

	length, at, after, every *value.Draw
}

const (
	start  = "start"
	stop   = "stop"
	exit   = "exit"
	answer = "answer"
	outage = "outage" // of the target, which is a part of the node

	deletion = "delete" // of pods
)

// outages are the steps for the parts of a node that can be down.
var outages = map[string]string{
	"kubelet":  "restartKubelet: {downtime: %s}",
	"runtime":  "runtimeDown: {for: %s}",
	"registry": "registryDown: {for: %s}",
	"api":      "apiDown: {for: %s}",
}

var (
	ofContainer = regexp.MustCompile(`^\s*([a-z0-9][-a-z0-9/.]*)=(.*)$`)
	withUnit    = regexp.MustCompile(`^[0-9.]+[a-zµμ]`)
	targets     = []string{"liveness", "readiness", "startup", "probes", "postStart", "preStop"}
)

func parse(text string) (*event, error) {
	e := &event{text: strings.Join(strings.Fields(text), " ")}
	if m := ofContainer.FindStringSubmatch(text); m != nil {
		e.container, text = m[1], m[2]
	}
	tokens := strings.Fields(text)
	tokens, err := e.parseTimes(tokens)
	if err != nil {
		return nil, err
	}
	if len(tokens) == 0 {
		return nil, fmt.Errorf("says no event: write what happens, such as start 45s, stall 12s every 1h, or exit 1 " +
			"at 5m")
	}
	if err := e.parseWhat(tokens); err != nil {
		if strings.ContainsAny(text, ";,") {
			return nil, errors.New("has several events (write --app for each event)")
		}
		return nil, err
	}
	return e, e.check()
}

// parseTimes reads the times at the end, and returns the other tokens.
func (e *event) parseTimes(tokens []string) ([]string, error) {
	when := map[string]**value.Draw{"at": &e.at, "after": &e.after, "every": &e.every}
	for n := len(tokens); n > 0; n = len(tokens) {
		last := tokens[n-1]
		_, isWhen := when[last]
		switch {
		case isWhen:
			return nil, fmt.Errorf("%s needs a time, such as %s 10m", last, last)
		case n > 1 && when[tokens[n-2]] != nil:
			if err := set(when[tokens[n-2]], tokens[n-2], last); err != nil {
				return nil, err
			}
			tokens = tokens[:n-2]
		case n > 1 && tokens[n-2] == "in":
			return tokens, nil // the latency of an answer
		case withUnit.MatchString(last) && (e.length == nil || isDuration(last)):
			if err := set(&e.length, "a length", last); err != nil {
				return nil, err
			}
			tokens = tokens[:n-1]
		case strings.HasSuffix(last, "%"):
			var p value.Percent
			if err := p.UnmarshalText([]byte(last)); err != nil {
				return nil, err
			}
			e.chance, tokens = p.String(), tokens[:n-1]
		default:
			return tokens, nil
		}
	}
	return tokens, nil
}

// isDuration reports whether a text is a duration or a range of them.
func isDuration(text string) bool { return new(value.Draw).UnmarshalText([]byte(text)) == nil }

// set reads a time that is not set yet.
func set(to **value.Draw, name, text string) error {
	if *to != nil {
		return fmt.Errorf("has %s twice: use several --app", name)
	}
	*to = &value.Draw{}
	return (*to).UnmarshalText([]byte(text))
}

func (e *event) parseWhat(tokens []string) error {
	if is, err := e.parseChange(tokens); is {
		return err
	}
	switch first := tokens[0]; {
	case (first == start || first == stop) && len(tokens) == 1:
		e.what = first
		return nil
	case first == start || first == stop:
		return fmt.Errorf("%s is not a time: write %s and a time with a unit, such as %s 45s",
			strict.Quote(strings.Join(tokens[1:], " ")), first, first)
	case first == exit && len(tokens) <= 2:
		e.what, e.answer = exit, "1"
		if len(tokens) == 2 {
			e.answer = tokens[1]
		}
		var code value.Exit
		return code.UnmarshalText([]byte(e.answer))
	}
	if tokens[0] == deletion && len(tokens) == 1 {
		e.what = deletion
		return nil
	}
	if _, isPart := outages[tokens[0]]; isPart && len(tokens) == 2 && tokens[1] == value.Down {
		e.what, e.target = outage, tokens[0]
		return nil
	}
	words := 1
	if n := len(tokens); n > 2 && tokens[n-2] == "in" {
		words = 3
	}
	e.what = answer
	e.target, e.answer = strings.Join(tokens[:len(tokens)-words], " "), strings.Join(tokens[len(tokens)-words:], " ")
	word := tokens[len(tokens)-words]
	if _, isCode := value.ParseCode(word); !isCode && !slices.Contains(value.Words, word) {
		known := append(slices.Clone(value.Words), start, stop, refuse, exit, deletion, rollout, undo, scale, "at",
			"after", "every", "in", strings.NewReplacer("o", "0", "O", "0", "l", "1").Replace(word))
		if _, isCode := value.ParseCode(known[len(known)-1]); !isCode {
			known = known[:len(known)-1]
		}
		return fmt.Errorf("unknown word %s%s; the words are %s, a code, start, stop, refuse, exit, delete, rollout, "+
			"undo and scale",
			strict.Quote(word), strict.DidYouMean(word, known), strings.Join(value.Words, ", "))
	}
	if e.target != "" && !strings.Contains(e.target, ":") && !slices.Contains(targets, e.target) {
		return fmt.Errorf("%s is neither a probe nor an endpoint%s; write %s, or an endpoint such as http:8080/healthz",
			strict.Quote(e.target), strict.DidYouMean(e.target, targets), strings.Join(targets, ", "))
	}
	var a value.Answer
	return a.UnmarshalText([]byte(e.answer))
}

// check reports times that do not fit the event.
func (e *event) check() error {
	if err := e.checkChange(); err != nil {
		return err
	}
	switch {
	case e.at != nil && e.after != nil:
		return fmt.Errorf("has two times, at and after: at counts from the beginning of the run, after from the " +
			"start of the container")
	case (e.what == start || e.what == stop) && e.length == nil:
		return fmt.Errorf("%s needs the time that it takes, such as %s 45s", e.what, e.what)
	case (e.what == start || e.what == stop) && (e.at != nil || e.after != nil || e.every != nil || e.chance != ""):
		return fmt.Errorf("%s has only the time that it takes, such as %s 45s", e.what, e.what)
	case e.what == exit && (e.chance != "" || e.at == nil && (e.length != nil || e.every != nil)):
		return fmt.Errorf("exit has a length only with at: write exit 1 at 5m, exit 1 after 5m, or exit 1 2m at 5m " +
			"for each instance that runs in these 2 m")
	case e.what == exit && e.at == nil && e.after == nil:
		return fmt.Errorf("exit needs a time, such as exit 1 at 5m, or exit 1 after 5m in each instance of the " +
			"container")
	case e.what == outage && e.container != "":
		return fmt.Errorf("the %s is not part of a container: write %s down 10s at 10m", e.target, e.target)
	case e.what == outage && (e.length == nil || e.at == nil || e.every != nil || e.chance != ""):
		return fmt.Errorf("%s down needs a length and a time, such as %s down 10s at 10m", e.target, e.target)
	case e.what == deletion && (e.at == nil || e.length != nil || e.every != nil || e.chance != ""):
		return fmt.Errorf("delete happens once: write at and a time, such as delete at 10m")
	case e.every != nil && e.length == nil:
		return fmt.Errorf("every needs a length, such as stall 12s every 1h")
	case e.what == answer && e.answer == value.Stall && e.length == nil:
		return fmt.Errorf("stall needs a length, such as stall 12s")
	}
	return nil
}
