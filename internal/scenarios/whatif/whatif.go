package whatif

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/podutil"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/scenarios/draft"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/scenarios/program"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/format"
)

// Options are a manifest and what happens to its programs.
type Options struct {
	Manifest string // the file name of the manifest, for messages and for the name of the scenario
	Data     []byte // the content of the manifest
	// File is the slash-separated path of the manifest, relative to the directory of the scenario
	// file. If File is empty, Scenario copies the workloads into the scenario file, before the
	// scenario.
	File string
	// Words are the events, such as "start 45s..70s" or "app=stall 12s every 1h". Without words,
	// all programs are healthy.
	Words []string
}

// name is the file name of a scenario in the positions of messages.
const name = "what-if"

// Scenario returns a scenario file in which the events happen to the programs of a manifest. It has
// one pod of each workload, no expectations, and lasts long enough for the events. The file is
// valid: Load loads it.
//
// The error lists all words that are wrong. If the manifest is invalid, it is of type
// scenarios.Errors.
func Scenario(o Options) ([]byte, error) {
	text, _, err := write(o)
	return text, err
}

// Load returns the scenario that Scenario writes. Its rules know the words that they stand for.
func Load(o Options) (*scenarios.Scenario, error) {
	_, s, err := write(o)
	return s, err
}

func write(o Options) ([]byte, *scenarios.Scenario, error) {
	m, err := manifests.Read(o.Manifest, o.Data)
	if err != nil {
		return nil, nil, err
	}
	if len(m.Workloads) == 0 {
		return nil, nil, fmt.Errorf("%s has no workload: it needs at least one of %s", printable.Text(o.Manifest),
			manifests.Workloads)
	}
	events, err := parseAll(o.Words)
	if err != nil {
		return nil, nil, err
	}
	w := &writer{Options: o, manifest: m, events: events, used: make([]bool, len(events)), of: map[int]*event{}}
	if o.File == "" {
		inline, err := draft.Workloads(o.Data)
		if err != nil {
			return nil, nil, err
		}
		w.Write(inline)
	}
	w.scenario()
	s, err := o.load([]byte(w.String()))
	if err := errors.Join(w.unused(), w.reworded(err)); err != nil {
		return nil, nil, err
	}
	w.nameRules(s)
	return []byte(w.String()), s, nil
}

// nameRules gives each rule and each step the words that it stands for.
func (w *writer) nameRules(s *scenarios.Scenario) {
	for _, step := range s.Spec.Steps {
		if e := w.of[step.Line]; e != nil {
			step.Flag = e.text
		}
	}
	for i := range s.Spec.Pods {
		for k := range s.Spec.Pods[i].Containers {
			rules := s.Spec.Pods[i].Containers[k].Behavior
			for n := range rules {
				if e := w.of[rules[n].Line]; e != nil {
					rules[n].Flag = e.text
				}
			}
		}
	}
}

func (o *Options) load(text []byte) (*scenarios.Scenario, error) {
	loaded, err := scenarios.LoadBytes(name, text, func(file string) ([]byte, error) {
		if file != path.Clean(o.File) {
			return nil, errors.New("the scenario refers to another file")
		}
		return o.Data, nil
	})
	if err != nil {
		return nil, err
	}
	return loaded[0], nil
}

func parseAll(words []string) ([]*event, error) {
	var events []*event
	var errs []error
	for _, text := range words {
		e, err := parse(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("--app %s: %w", strict.Quote(text), err))
		}
		events = append(events, e)
	}
	return events, errors.Join(errs...)
}

// writer writes a scenario file.
type writer struct {
	Options
	strings.Builder
	manifest *manifests.File
	events   []*event
	used     []bool         // events with a rule
	of       map[int]*event // events by their line in the file
}

func (w *writer) line(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }

func (w *writer) scenario() {
	w.line("apiVersion: %s", format.APIVersion)
	w.line("kind: Scenario")
	w.line("metadata: {name: %s}", quoted(w.name()))
	w.line("spec:")
	w.line("  description: %s", strconv.Quote(printable.Text(w.description())))
	w.line("  duration: %s", value.Format(w.duration()))
	if w.controlled() {
		w.line("  controlPlane: {set: typical}")
	}
	w.line("  pods:")
	for i := range w.manifest.Workloads {
		w.pod(&w.manifest.Workloads[i])
	}
	w.traffic()
	w.steps()
}

// isStep reports whether the event happens to the node, to pods or to Deployments, and not to
// programs.
func (e *event) isStep() bool {
	return e.what == outage || e.what == deletion || e.changesDeployment()
}

func (w *writer) steps() {
	if !slices.ContainsFunc(w.events, (*event).isStep) {
		return
	}
	w.line("  steps:")
	for i, e := range w.events {
		if e.changesDeployment() {
			for _, name := range w.deployments(e) {
				w.step(i, e.action(name))
			}
		}
		if e.what == outage {
			w.step(i, fmt.Sprintf(outages[e.target], e.length))
		}
		for _, name := range w.workloads(e.container) {
			if e.what == deletion {
				w.step(i, "delete: {pod: "+quoted(name)+"}")
			}
		}
	}
}

// workloads returns the distinct names by which a scenario refers to the workloads that a name
// means. An empty name means all.
func (w *writer) workloads(name string) []string {
	var names []string
	for i := range w.manifest.Workloads {
		of := &w.manifest.Workloads[i]
		if (name == "" || means(name, of)) && !slices.Contains(names, of.Ref) {
			names = append(names, of.Ref)
		}
	}
	return names
}

// means reports whether a name, with or without a namespace, means a workload.
func means(name string, of *manifests.Workload) bool {
	return name == of.Name || name == of.Pod.Namespace+"/"+of.Name
}

func (w *writer) step(i int, action string) {
	e := w.events[i]
	w.of[strings.Count(w.String(), "\n")+1] = e
	w.used[i] = true
	w.line("  - {at: %s, %s} # %s", e.at, action, printable.Text(e.text))
}

var notOfNames = regexp.MustCompile(`[^a-z0-9]+`)

// name returns the name of the scenario: the name of the only workload, or a name from the file
// name of the manifest.
func (w *writer) name() string {
	from := w.manifest.Workloads[0].Name
	if len(w.manifest.Workloads) > 1 {
		from = strings.TrimSuffix(path.Base(w.Manifest), path.Ext(w.Manifest))
	}
	from = strings.Trim(notOfNames.ReplaceAllString(strings.ToLower(from), "-"), "-")
	if from == "" {
		return name
	}
	return strings.TrimSuffix(from[:min(len(from), 200)], "-")
}

var (
	plain   = regexp.MustCompile(`^[a-z][-a-z0-9./]*$`)
	another = regexp.MustCompile(`^(y|n|yes|no|on|off|true|false|null)$`) // of another type in YAML
)

// quoted returns a text in YAML, in quotes if necessary.
func quoted(text string) string {
	if plain.MatchString(text) && !another.MatchString(text) {
		return text
	}
	return strconv.Quote(printable.Text(text))
}

func (w *writer) description() string {
	if len(w.events) == 0 {
		return "The run assumes that all programs are healthy and answer every request well. To say what happens to " +
			"them, use --app, as in --app 'start 45s..70s'."
	}
	var texts []string
	for _, e := range w.events {
		texts = append(texts, e.text)
	}
	text := "What if: " + strings.Join(texts, "; ")
	if w.controlled() && len(w.services()) == 0 {
		text += ". No Service selects the pods of a Deployment: no requests are sent."
	}
	return text
}

// Limits of the virtual time of a scenario.
const (
	shortest = 10 * time.Minute
	longest  = value.MaxDuration
	rest     = 5 * time.Minute // after the last event
)

// duration returns a time in which the events happen, the periodic ones three times.
func (w *writer) duration() time.Duration {
	longestEvent := time.Duration(0)
	for _, e := range w.events {
		end := time.Duration(0)
		for _, part := range []*value.Draw{e.at, e.after, e.length, e.every, e.every, e.every} {
			if part != nil {
				end = min(end+part.Max, longest)
			}
		}
		longestEvent = max(longestEvent, end)
	}
	if longestEvent == 0 {
		return shortest
	}
	return min(max(shortest, (longestEvent+rest).Truncate(time.Minute)), longest)
}

func (w *writer) pod(of *manifests.Workload) {
	w.line("  - name: %s", quoted(of.Ref))
	if slices.ContainsFunc(w.manifest.Workloads,
		func(o manifests.Workload) bool { return o.Ref == of.Ref && o.Kind != of.Kind }) {
		w.line("    kind: %s", of.Kind)
	}
	if w.File != "" {
		w.line("    file: %s", quoted(w.File))
	}
	w.replicas(of)
	first := true
	for c := range podutil.Containers(&of.Pod.Spec) {
		has := false
		begin := func() {
			if first {
				w.line("    containers:")
				first = false
			}
			if !has {
				w.line("    - name: %s", quoted(c.Name))
				w.line("      behavior: # Later rules win. Without a rule, a probe succeeds.")
				has = true
			}
		}
		for n, e := range w.events {
			rule, applies := e.rule(of, c)
			if !applies {
				continue
			}
			begin()
			w.of[strings.Count(w.String(), "\n")+1] = e
			w.used[n] = true
			w.line("      - %s # %s", rule, printable.Text(e.text))
		}
		for _, rule := range w.usual(of, c) {
			begin()
			w.line("      - %s # usual", rule)
		}
	}
}

// isAbout reports whether an event is about a container. Without a name it is about the containers
// with probes, and an answer to a hook or at an endpoint about all containers with the hook or
// endpoint.
func (e *event) isAbout(of *manifests.Workload, c *v1.Container) bool {
	if e.container != "" {
		return e.container == c.Name || path.Base(e.container) == c.Name && means(path.Dir(e.container), of)
	}
	if e.what == refuse {
		return slices.ContainsFunc(of.Pod.Spec.Containers, func(x v1.Container) bool { return x.Name == c.Name })
	}
	return c.LivenessProbe != nil || c.ReadinessProbe != nil || c.StartupProbe != nil ||
		slices.Contains(program.HookKeys, e.target) || strings.Contains(e.target, ":")
}

// rule returns what happens in a container. It returns false if the event is not about the
// container, or if the container has no such probe.
func (e *event) rule(of *manifests.Workload, c *v1.Container) (rule fmt.Stringer, applies bool) {
	if e.isStep() || !e.isAbout(of, c) {
		return nil, false
	}
	if e.what == refuse {
		return refusal(e.length.String()), true
	}
	r, applies := e.ruleText(c)
	return r, applies
}

// refusal is a rule that closes the listener of a program some time after SIGTERM.
type refusal string

func (r refusal) String() string { return "{afterSigterm: " + string(r) + ", refuse: true}" }

// ruleText is rule for an event that the container is about, other than a refusal.
func (e *event) ruleText(c *v1.Container) (r format.RuleText, applies bool) {
	hasProbes := c.LivenessProbe != nil || c.ReadinessProbe != nil || c.StartupProbe != nil
	switch e.what {
	case start:
		return format.RuleText{For: e.length.String(), Probes: value.Down}, hasProbes
	case stop:
		return format.RuleText{AfterSigterm: e.length.String(), Exit: "0"}, true
	}
	r = format.RuleText{At: text(e.at), After: text(e.after), For: text(e.length), Every: text(e.every),
		Chance: e.chance}
	if e.every != nil && e.at == nil && e.after == nil {
		r.After = value.Draw{Max: e.every.Max}.String() // at any phase
	}
	at, asks := program.FindEndpoint(c, e.target)
	switch {
	case e.what == exit:
		r.Exit = e.answer
		return r, true
	case strings.Contains(e.target, ":"):
		r.Endpoints = map[string]string{at.Text: e.answer}
		return r, asks
	case e.target == "" || e.target == "probes":
		r.Probes = e.answer
		return r, hasProbes
	}
	r.Answer(e.target, e.answer)
	return r, slices.ContainsFunc(program.Endpoints(c),
		func(at program.Endpoint) bool { return slices.Contains(at.Keys, e.target) })
}

// text returns a time in the notation of the format, or "" if there is none.
func text(d *value.Draw) string {
	if d == nil {
		return ""
	}
	return d.String()
}

// unused returns an error that lists the events without a rule, or nil.
func (w *writer) unused() error {
	var containers, endpoints []string
	for i := range w.manifest.Workloads {
		for c := range podutil.Containers(&w.manifest.Workloads[i].Pod.Spec) {
			containers = append(containers, c.Name)
			for _, at := range program.Endpoints(c) {
				endpoints = append(endpoints, at.Text)
			}
		}
	}
	var errs []error
	for i, e := range w.events {
		if w.used[i] {
			continue
		}
		all, workload := w.workloads(""), path.Dir(e.container) // "." without one
		what := "no container has probes: name one, as in " + first(containers) + "=" + e.text
		switch {
		case e.changesDeployment():
			what = w.noDeployment(e)
		case e.what == deletion:
			what = fmt.Sprintf("there is no workload %s%s; the workloads are %s", strict.Quote(e.container),
				strict.DidYouMean(e.container, all), list(all))
		case workload != "." && len(w.workloads(workload)) == 0:
			what = fmt.Sprintf("there is no workload %s%s; the workloads are %s", strict.Quote(workload),
				strict.DidYouMean(workload, all), list(all))
		case e.container != "" && !slices.Contains(containers, path.Base(e.container)):
			what = fmt.Sprintf("there is no container %s%s; the containers are %s", strict.Quote(e.container),
				strict.DidYouMean(e.container, containers), list(containers))
		case strings.Contains(e.target, ":"):
			what = fmt.Sprintf("no container asks at %s%s; the endpoints are %s", strict.Quote(e.target),
				strict.DidYouMean(e.target, endpoints), list(endpoints))
		case e.target != "" && e.target != "probes":
			what = "no container has a " + e.target + " that asks its program"
		case e.container != "":
			what = fmt.Sprintf("the container %s has no probes", strict.Quote(e.container))
		}
		errs = append(errs, fmt.Errorf("--app %s: %s", strict.Quote(e.text), what))
	}
	return errors.Join(errs...)
}

func first(names []string) string {
	if len(names) == 0 {
		return "NAME"
	}
	return printable.Text(names[0])
}

// list lists the first names.
func list(names []string) string {
	const most = 20
	if len(names) == 0 {
		return "none"
	}
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	text := strings.Join(names[:min(len(names), most)], ", ")
	if len(names) > most {
		text += ", …"
	}
	return printable.Text(text)
}

// reworded returns errors about the scenario as errors about the words that it stands for.
func (w *writer) reworded(err error) error {
	var all scenarios.Errors
	if !errors.As(err, &all) {
		return err
	}
	var errs []error
	for _, e := range all {
		if event := w.of[e.Line]; event != nil && e.File == name {
			one := fmt.Errorf("--app %s: %s", strict.Quote(event.text), e.Message)
			// of another container
			if !slices.ContainsFunc(errs, func(told error) bool { return told.Error() == one.Error() }) {
				errs = append(errs, one)
			}
			continue
		}
		errs = append(errs, e)
	}
	return errors.Join(errs...)
}
