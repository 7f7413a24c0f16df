package whatif

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"probesim.dev/internal/podutil"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/scenarios/program"
	"probesim.dev/internal/scenarios/text"
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

// Scenario returns a scenario in which the events happen to the programs of a manifest, and its
// file, which is valid. It has one pod of each workload, no expectations, and lasts long enough for
// the events. Its rules know the words that they stand for.
//
// The error lists all words that are wrong. If the manifest is invalid, it is of type
// scenarios.Errors.
func Scenario(o Options) (*scenarios.Scenario, *text.File, error) {
	m, err := manifests.Read(o.Manifest, o.Data)
	if err != nil {
		return nil, nil, err
	}
	if len(m.Workloads) == 0 {
		return nil, nil, fmt.Errorf("%s has no workload: it needs at least one of %s", printable.Text(o.Manifest),
			manifests.Workloads)
	}
	events, err := Parse(o.Words)
	if err != nil {
		return nil, nil, err
	}
	w := &maker{Options: o, services: m.Services, events: events, used: map[*Event]bool{}}
	for i := range m.Workloads {
		w.workloads = append(w.workloads, &m.Workloads[i])
	}
	if o.File == "" {
		if w.file.Objects, err = text.Copy(o.Manifest, o.Data); err != nil {
			return nil, nil, err
		}
	}
	s := &scenarios.Scenario{Pos: strict.Pos{File: name, Line: 1, Column: 1}, Spec: w.spec()}
	s.Metadata.Name = text.NameOf(o.Manifest, m.Workloads, name)
	w.write(s)
	err = scenarios.Make(s, w.file.Objects, func(file string) ([]byte, error) {
		if file != path.Clean(o.File) {
			return nil, errors.New("the scenario refers to another file")
		}
		return o.Data, nil
	})
	if err := errors.Join(w.unused(), ofWords(err)); err != nil {
		return nil, nil, err
	}
	return s, &w.file, nil
}

// ofWords leaves out of errors about words where the scenario has them, and errors about them in
// another container.
func ofWords(err error) error {
	var all scenarios.Errors
	if !errors.As(err, &all) {
		return err
	}
	for i := range all {
		if strings.HasPrefix(all[i].File, flag) {
			all[i].Path = ""
		}
	}
	return slices.Compact(all)
}

// maker makes a scenario.
type maker struct {
	Options
	workloads []*manifests.Workload
	services  []manifests.Service
	events    []*Event
	used      map[*Event]bool // events with a rule or a step
	file      text.File
}

func (w *maker) spec() format.Spec {
	spec := format.Spec{Duration: value.Duration(w.duration())}
	for _, of := range w.workloads {
		spec.Pods = append(spec.Pods, w.pod(of))
	}
	if w.controlled() {
		spec.ControlPlane = &format.ControlPlane{Set: "typical"}
		spec.Services = w.routed()
	}
	for i := range spec.Services {
		s := &spec.Services[i]
		traffic := format.Traffic{Pos: s.Pos, Service: s.Name, RPS: usualRate, Latency: &usualLatency}
		spec.Traffic = append(spec.Traffic, traffic)
	}
	for _, e := range w.events {
		spec.Steps = append(spec.Steps, w.steps(e)...)
	}
	spec.Description = "The run assumes that all programs are healthy and answer every request well. " +
		"To say what happens to them, use --app, as in --app 'start 45s..70s'."
	if len(w.Words) > 0 {
		spec.Description = "What if: " + strings.Join(w.Words, "; ")
	}
	if w.controlled() && len(spec.Services) == 0 {
		spec.Description += ". No Service selects the pods of a Deployment: no requests are sent."
	}
	return spec
}

// Limits of the virtual time of a scenario.
const (
	shortest = 10 * time.Minute
	longest  = value.MaxDuration
	rest     = 5 * time.Minute // after the last event
)

// duration returns a time in which the events happen, the periodic ones three times.
func (w *maker) duration() time.Duration {
	last := time.Duration(0)
	for _, e := range w.events {
		last = max(last, e.end())
	}
	if last == 0 {
		return shortest
	}
	return min(max(shortest, (last+rest).Truncate(time.Minute)), longest)
}

func (w *maker) pod(of *manifests.Workload) format.Pod {
	p := format.Pod{Pos: strict.Pos{File: name}, Name: of.Ref, Kind: of.RefKind, File: w.File}
	if rolled := w.isRolledOut(of); rolled && of.Replicas > mostReplicas {
		p.Replicas = new(mostReplicas)
	} else if !rolled && of.Kind != "Pod" && of.Replicas != 1 {
		p.Replicas = new(1)
	}
	for c := range podutil.Containers(&of.Pod.Spec) {
		var rules []format.Rule
		for _, e := range w.events {
			if rule, applies := e.Rule(of, c); applies {
				rules = append(rules, rule)
				w.used[e] = true
			} else if e.What == Refuse && e.isAbout(of, c) { // never
				w.used[e] = true
			}
		}
		if rules = append(rules, w.usual(of, c)...); rules != nil {
			p.Containers = append(p.Containers, format.Container{Pos: p.Pos, Name: c.Name, Behavior: rules})
		}
	}
	return p
}

// steps returns the steps of an event.
func (w *maker) steps(e *Event) (steps []*format.Step) {
	add := func(s format.Step) {
		s.Pos, s.Flag, s.At = e.pos(), e.Text, e.At
		steps = append(steps, &s)
		w.used[e] = true
	}
	switch e.What {
	case Kubelet:
		add(format.Step{RestartKubelet: &format.RestartKubelet{Downtime: e.Length}})
	case Runtime:
		add(format.Step{RuntimeDown: &format.RuntimeDown{For: e.Length}})
	case Registry:
		add(format.Step{RegistryDown: &format.RegistryDown{For: e.Length}})
	case API:
		add(format.Step{APIDown: &format.APIDown{For: e.Length}})
	}
	wanted := func(of *manifests.Workload) bool { return e.What == Deletion || of.Kind == "Deployment" }
	for _, ref := range w.refs(e.Container, wanted) {
		switch e.What {
		case Deletion:
			add(format.Step{Delete: &format.Delete{Pod: ref}})
		case Rollout:
			add(format.Step{Rollout: &format.Rollout{Workload: ref, Restart: true}})
		case Undo:
			add(format.Step{Rollout: &format.Rollout{Workload: ref, Undo: new(int64)}})
		case Scale:
			add(format.Step{Scale: &format.Scale{Workload: ref, Replicas: new(int(e.Number))}})
		}
	}
	return steps
}

// refs returns the distinct names by which a scenario refers to the workloads that a name means, if
// they are wanted. An empty name means all.
func (w *maker) refs(name string, wanted func(*manifests.Workload) bool) (refs []string) {
	for _, of := range w.workloads {
		if (name == "" || Means(name, of)) && wanted(of) && !slices.Contains(refs, of.Ref) {
			refs = append(refs, of.Ref)
		}
	}
	return refs
}

// write writes the file of the scenario.
func (w *maker) write(s *scenarios.Scenario) {
	f, spec := &w.file, &s.Spec
	f.Name = s.Metadata.Name
	f.Spec = [][2]string{{"description: " + strict.Quoted(spec.Description)}, {"duration: " + spec.Duration.String()}}
	if spec.ControlPlane != nil {
		f.Spec = append(f.Spec, [2]string{"controlPlane: {set: " + spec.ControlPlane.Set + "}"})
	}
	for i, p := range spec.Pods {
		entry := text.Pod{Name: p.Name, Kind: p.Kind, File: p.File}
		if p.Replicas != nil {
			entry.Replicas = fmt.Sprintf("%d # of %d", *p.Replicas, w.workloads[i].Replicas)
		}
		for _, c := range p.Containers {
			l := text.List{Key: c.Name, Comment: "Later rules win. Without a rule, a probe succeeds."}
			for _, rule := range c.Behavior {
				l.Lines = append(l.Lines, text.Item(&rule, cmp.Or(rule.Flag, "usual")))
			}
			entry.Containers = append(entry.Containers, l)
		}
		f.Pods = append(f.Pods, entry)
	}
	services, steps := text.List{Key: "services"}, text.List{Key: "steps"}
	traffic := text.List{Key: "traffic", Comment: "New connections only."}
	for i := range spec.Services {
		line := "- " + strict.Encode(&spec.Services[i], nil).Text()
		if spec.Services[i].File == "" {
			line += " # made from the labels of the pods"
		}
		services.Lines = append(services.Lines, line)
		traffic.Lines = append(traffic.Lines, "- "+strict.Encode(&spec.Traffic[i], nil).Text())
	}
	for _, step := range spec.Steps {
		steps.Lines = append(steps.Lines, "- "+strict.Encode(step, nil).Text()+" # "+printable.Text(step.Flag))
	}
	f.Lists = []text.List{services, traffic, steps}
}

// unused returns an error that lists the events without a rule or step, or nil.
func (w *maker) unused() error {
	var errs []error
	for _, e := range w.events {
		if !w.used[e] {
			errs = append(errs, fmt.Errorf("--app %s: %s", strict.Quote(e.Text), w.unknown(e)))
		}
	}
	return errors.Join(errs...)
}

// unknown says why nothing happens in an event.
func (w *maker) unknown(e *Event) string {
	var containers, endpoints []string
	for _, of := range w.workloads {
		for c := range podutil.Containers(&of.Pod.Spec) {
			containers = append(containers, c.Name)
			for _, at := range program.Endpoints(c) {
				endpoints = append(endpoints, at.Text)
			}
		}
	}
	is := func(*manifests.Workload) bool { return true }
	all, workload := w.refs("", is), path.Dir(e.Container) // "." without one
	switch {
	case e.changesDeployment():
		return w.noDeployment(e, all)
	case e.What == Deletion:
		return isNo("workload", "workload", e.Container, all)
	case workload != "." && len(w.refs(workload, is)) == 0:
		return isNo("workload", "workload", workload, all)
	case e.Container != "" && !slices.Contains(containers, path.Base(e.Container)):
		return isNo("container", "container", e.Container, containers)
	case strings.Contains(e.target, ":"):
		meant := strict.DidYouMean(e.target, endpoints)
		return fmt.Sprintf("no container asks at %s%s; the endpoints are %s", strict.Quote(e.target), meant,
			list(endpoints))
	case e.target != "" && e.target != "probes":
		return "no container has a " + e.target + " that asks its program"
	case e.Container != "":
		return fmt.Sprintf("the container %s has no probes", strict.Quote(e.Container))
	}
	return "no container has probes: name one, as in " + printable.Text(containers[0]) + "=" + e.Text
}

// noDeployment says why an event changes no Deployment.
func (w *maker) noDeployment(e *Event, all []string) string {
	for _, of := range w.workloads {
		if e.Container != "" && Means(e.Container, of) {
			return fmt.Sprintf("%s is a %s: only Deployments are rolled out yet", strict.Quote(e.Container), of.Kind)
		}
	}
	if e.Container == "" {
		return "there is no Deployment, and only Deployments are rolled out yet"
	}
	return isNo("Deployment", "workload", e.Container, all)
}

// isNo returns the error about an unknown name.
func isNo(what, kind, name string, known []string) string {
	meant := strict.DidYouMean(name, known)
	return fmt.Sprintf("there is no %s %s%s; the %ss are %s", what, strict.Quote(name), meant, kind, list(known))
}

// list lists the first names.
func list(names []string) string {
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	return printable.Text(cmp.Or(printable.Few(names), "none"))
}
