// Package whatif turns a manifest and a few words, such as "stall 12s every 1h", into a scenario.
package whatif

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
)

// Event is one thing that happens to programs, to the node or to a Deployment:
//
//	events = event {"," event}
//	event  = [CONTAINER "="] what [DRAW | "never" | PERCENT] {("at" | "after" | "every") DRAW}
//	what   = [target] answer | "start" | "stop" | "refuse" | "exit" [CODE] | "delete" | part "down" | change
//	part   = "kubelet" | "runtime" | "registry" | "api"
//	change = "rollout" | "undo" | "scale" NUMBER
//	target = "liveness" | "readiness" | "startup" | "probes" | "postStart" | "preStop" | ENDPOINT
//	answer = WORD ["in" DRAW]
type Event struct {
	Text string // as written
	// Container is the name of a container, with or without its workload. Of a delete it is a
	// workload, and of a change a Deployment. Empty: all of them, if they have probes; see isAbout.
	Container string
	What      string // one of the constants, or a part of the node
	Number    int32  // the exit code, or the number of replicas
	Never     bool   // instead of the length of a start, stop or refuse

	Length, At, After, Every *value.Draw

	target string // empty: probes
	answer value.Answer
	chance *value.Percent
}

// What happens in an event.
const (
	Start    = "start"
	Stop     = "stop"
	Refuse   = "refuse" // new connections, after SIGTERM
	Exit     = "exit"
	Answer   = "answer"
	Deletion = "delete"  // of pods
	Rollout  = "rollout" // kubectl rollout restart
	Undo     = "undo"
	Scale    = "scale"
	Kubelet  = "kubelet" // is down, as the other parts of the node
	Runtime  = "runtime"
	Registry = "registry"
	API      = "api"
)

// verb says which times an event has, and how to write it.
type verb struct {
	times []string // of these sets: l(ength), at (t), (a)fter, (e)very and chance (%)
	usage string   // with the first word
}

var (
	takes = verb{[]string{"l"}, "%s has the time that it takes and no other, such as %[1]s 3s"}
	once  = verb{[]string{"t"}, "%s happens once: write at and a time, such as %[1]s at 10m"}
	down  = verb{[]string{"lt"}, "%s down has a length and a time, such as %[1]s down 10s at 10m"}
	exits = verb{[]string{"t", "a", "lt", "lte"},
		"%s has a time, and a length only with at: write %[1]s 1 at 5m, %[1]s 1 after 5m, or " +
			"%[1]s 1 2m at 5m for each instance that runs in these 2 m"}
)

// verbs are the first words of events other than answers.
var verbs = map[string]*verb{
	Start: &takes, Stop: &takes, Refuse: &takes, Exit: &exits,
	Deletion: &once, Rollout: &once, Undo: &once, Scale: &once,
	Kubelet: &down, Runtime: &down, Registry: &down, API: &down,
}

var (
	ofContainer = regexp.MustCompile(`^\s*([a-z0-9][-a-z0-9/.]*)=(.*)$`)
	withUnit    = regexp.MustCompile(`^[0-9.]+[a-zµμ]`)
	between     = regexp.MustCompile(`\s*[,;]\s*`)
	targets     = []string{"liveness", "readiness", "startup", "probes", "postStart", "preStop"}
)

// Parse parses the events of some flags --app. The error lists all that are wrong.
func Parse(words []string) (all []*Event, err error) {
	var errs []error
	for _, text := range words {
		events, err := parseList(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("--app %s: %w", strict.Quote(text), err))
		}
		all = append(all, events...)
	}
	return all, errors.Join(errs...)
}

// Shorthand returns the events of a flag --start or --stop, which is a list with commas of times,
// such as "40s..70s, envoy=1s..3s".
func Shorthand(verb string, values []string) (words []string) {
	for _, part := range between.Split(strings.Join(values, ","), -1) {
		container, time, named := strings.Cut(part, "=")
		switch {
		case named:
			words = append(words, strings.TrimSpace(container)+"="+verb+" "+strings.TrimSpace(time))
		case len(values) > 0:
			words = append(words, verb+" "+part)
		}
	}
	return words
}

// parseList parses an event, or a list of them. The command of an endpoint can have commas.
func parseList(text string) ([]*Event, error) {
	e, err := parse(text)
	parts := between.Split(text, -1)
	if err == nil || len(parts) == 1 {
		return []*Event{e}, err
	}
	var all []*Event
	for _, part := range parts {
		e, err := parse(part)
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}

func parse(text string) (*Event, error) {
	e := &Event{Text: strings.Join(strings.Fields(text), " ")}
	if m := ofContainer.FindStringSubmatch(text); m != nil {
		e.Container, text = m[1], m[2]
	}
	tokens, err := e.parseTimes(strings.Fields(text))
	if err == nil && len(tokens) == 0 {
		err = errors.New("has no event: write what happens, such as start 45s, stall 12s every 1h, or exit 1 at 5m")
	}
	if err == nil {
		err = e.parseWhat(tokens)
	}
	if err == nil {
		err = e.check()
	}
	return e, err
}

// parseTimes reads the times at the end, and returns the other tokens.
func (e *Event) parseTimes(tokens []string) ([]string, error) {
	when := map[string]**value.Draw{"at": &e.At, "after": &e.After, "every": &e.Every}
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
		case n == 2 && last == "never" && verbs[tokens[0]] == &takes:
			e.Never, tokens = true, tokens[:1]
		case withUnit.MatchString(last) && (e.Length == nil || isDuration(last)):
			if err := set(&e.Length, "a length", last); err != nil {
				return nil, err
			}
			tokens = tokens[:n-1]
		case strings.HasSuffix(last, "%"):
			e.chance, tokens = new(value.Percent), tokens[:n-1]
			if err := e.chance.UnmarshalText([]byte(last)); err != nil {
				return nil, err
			}
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

func (e *Event) parseWhat(tokens []string) error {
	first, rest := tokens[0], tokens[1:]
	verb, known := verbs[first]
	isPart := verb == &down
	switch e.What = first; {
	case !known, isPart && !slices.Equal(rest, []string{value.Down}):
		return e.parseAnswer(tokens)
	case isPart:
	case first == Exit && len(rest) <= 1:
		code := value.Exit{Code: 1}
		if len(rest) == 1 {
			if err := code.UnmarshalText([]byte(rest[0])); err != nil {
				return err
			}
		}
		if e.Number = code.Code; code.Never {
			return errors.New("an exit has a code from 0 to 255: a program runs until it is stopped without it")
		}
	case first == Scale && len(rest) == 1:
		n, err := strconv.ParseInt(rest[0], 10, 32)
		if err != nil || n < 0 {
			return fmt.Errorf("%s is no number of replicas: write scale 5 at 2m", strict.Quote(rest[0]))
		}
		e.Number = int32(n)
	case first == Scale:
		return errors.New("scale needs the number of replicas: write scale 5 at 2m")
	case len(rest) > 0 && verb == &takes:
		return fmt.Errorf("%s is not a time: write %s and a time with a unit, such as %[2]s 45s",
			strict.Quote(strings.Join(rest, " ")), first)
	case len(rest) > 0:
		return e.parseAnswer(tokens)
	}
	return nil
}

func (e *Event) parseAnswer(tokens []string) error {
	words := 1
	if n := len(tokens); n > 2 && tokens[n-2] == "in" {
		words = 3
	}
	e.What, e.target = Answer, strings.Join(tokens[:len(tokens)-words], " ")
	word := tokens[len(tokens)-words]
	if _, isCode := value.ParseCode(word); !isCode && !slices.Contains(value.Words, word) {
		own := []string{Start, Stop, Refuse, Exit, Deletion, Rollout, Undo, Scale}
		known := slices.Concat(value.Words, own, []string{"at", "after", "every", "in"})
		if digits := value.WithDigits(word); digits != "" {
			known = append(known, digits)
		}
		return fmt.Errorf("unknown word %s%s; the words are %s, a code, %s and %s",
			strict.Quote(word), strict.DidYouMean(word, known), strings.Join(value.Words, ", "),
			strings.Join(own[:len(own)-1], ", "), own[len(own)-1])
	}
	if e.target != "" && !strings.Contains(e.target, ":") && !slices.Contains(targets, e.target) {
		return fmt.Errorf("%s is neither a probe nor an endpoint%s; write %s, or an endpoint such as http:8080/healthz",
			strict.Quote(e.target), strict.DidYouMean(e.target, targets), strings.Join(targets, ", "))
	}
	return e.answer.UnmarshalText([]byte(strings.Join(tokens[len(tokens)-words:], " ")))
}

// check reports times that do not fit the event.
func (e *Event) check() error {
	times := ""
	for _, t := range []struct {
		letter string
		is     bool
	}{
		{"l", e.Length != nil || e.Never}, {"t", e.At != nil}, {"a", e.After != nil}, {"e", e.Every != nil},
		{"%", e.chance != nil},
	} {
		if t.is {
			times += t.letter
		}
	}
	verb, isVerb := verbs[e.What]
	switch {
	case e.At != nil && e.After != nil:
		return errors.New("has two times, at and after: at counts from the beginning of the run, " +
			"after from the start of the container")
	case e.isOutage() && e.Container != "":
		return fmt.Errorf("the %s is not part of a container: write %s down 10s at 10m", e.What, e.What)
	case isVerb && !slices.Contains(verb.times, times):
		return fmt.Errorf(verb.usage, e.What)
	case e.Every != nil && e.Length == nil:
		return errors.New("every needs a length, such as stall 12s every 1h")
	case e.answer.Word == value.Stall && e.Length == nil:
		return errors.New("stall needs a length, such as stall 12s")
	}
	return nil
}

// isOutage reports whether a part of the node is down.
func (e *Event) isOutage() bool {
	return slices.Contains([]string{Kubelet, Runtime, Registry, API}, e.What)
}

// changesDeployment reports whether the event needs controllers.
func (e *Event) changesDeployment() bool {
	return e.What == Rollout || e.What == Undo || e.What == Scale
}

// IsStep reports whether the event happens to the node, to pods or to Deployments, and not to
// programs.
func (e *Event) IsStep() bool { return e.isOutage() || e.What == Deletion || e.changesDeployment() }

// end returns a time at which the event is over, or has happened three times.
func (e *Event) end() (end time.Duration) {
	for _, part := range []*value.Draw{e.At, e.After, e.Length, e.Every, e.Every, e.Every} {
		if part != nil {
			end = min(end+part.Max, longest)
		}
	}
	return end
}
