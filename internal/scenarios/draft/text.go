package draft

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/value"
	"probesim.dev/scenarios/format"
)

// writer writes lines.
type writer struct {
	strings.Builder
	rules int // the number of lists of rules so far
}

func (w *writer) line(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }

// text returns the scenario file. If s is nil, it has no expectations.
func (d *draft) text(s *seen) []byte {
	w := &writer{}
	w.WriteString(modeline)
	w.line("# Created by: %s", printable.Text(d.Command))
	w.line("# Run it:     %s", printable.Text(d.Run))
	w.line("# Fields:     probesim explain spec.pods.containers.behavior")
	w.line("# For checks and completion in an editor: probesim schema > %s", schemaFile)
	w.Write(d.inline)
	w.line("apiVersion: %s", format.APIVersion)
	w.line("kind: Scenario")
	w.line("metadata:")
	w.line("  name: %s", quoted(d.name()))
	w.line("spec:")
	w.line("  duration: %-17s # of virtual time", value.Format(cmp.Or(d.duration, durations[0])))
	w.line("  # seeds: 1..20              # Twenty runs, with times drawn from ranges such as 8s..15s.")
	w.line("  pods:")
	for _, e := range d.entries {
		d.pod(w, e)
	}
	if s != nil {
		d.steps(w, s)
		d.expect(w, s)
	} else if gates := d.gates(); len(gates) > 0 {
		w.line("  steps:")
		writeLines(w, "  ", gates)
	}
	return []byte(w.String())
}

var notOfNames = regexp.MustCompile(`[^a-z0-9]+`)

// name returns the name of the scenario: the name of the only workload, or a name from the file
// name of the manifest.
func (d *draft) name() string {
	name := strings.TrimSuffix(d.entries[0].Name, "-")
	if len(d.entries) > 1 {
		file := path.Base(d.Manifest)
		name = notOfNames.ReplaceAllString(strings.ToLower(strings.TrimSuffix(file, path.Ext(file))), "-")
	}
	return cmp.Or(strings.Trim(name[:min(len(name), 200)], "-."), "scenario")
}

// quoted returns text as a YAML scalar in one line. The escapes of printable.Text mean the same in
// YAML, within double quotes.
func quoted(s string) string {
	if printable.Text(s) != s {
		return printable.Text(strconv.Quote(s))
	}
	data, err := yaml.Marshal(s)
	if err != nil {
		panic(err) // strings can always be marshaled
	}
	return strings.TrimSuffix(string(data), "\n")
}

func (d *draft) pod(w *writer, e *entry) {
	if e.why != "" {
		w.line("  # %s %s is left out:", e.Kind, quoted(e.Ref))
		w.line("  #   %s", printable.Text(e.why))
		return
	}
	w.line("  - name: %s", quoted(e.Ref))
	if e.kind {
		w.line("    kind: %s", e.Kind)
	}
	if d.File != "" {
		w.line("    file: %s", quoted(d.File))
	}
	switch {
	case e.replicas > 1:
		w.line("    replicas: %-15d # of %d: all pods run on one node", e.replicas, e.Replicas)
	case e.replicas == 1:
		w.line("    replicas: 1               # 0 in the manifest")
	}
	w.line("    containers:")
	for i := range e.Pod.Spec.InitContainers {
		d.container(w, e, &e.Pod.Spec.InitContainers[i], true)
	}
	for i := range e.Pod.Spec.Containers {
		d.container(w, e, &e.Pod.Spec.Containers[i], false)
	}
}

func (d *draft) container(w *writer, e *entry, c *v1.Container, init bool) {
	w.line("    - name: %s", quoted(c.Name))
	if w.rules++; w.rules == 1 {
		w.line("      behavior:               # Later rules win. Without a rule, the answer is ok.")
	} else {
		w.line("      behavior:")
	}
	writeLines(w, "      ", behavior(e.Pod, c, init, d.known(e, c)))
}

// known returns how long a start of a container is known to take, or 0.
func (d *draft) known(e *entry, c *v1.Container) time.Duration {
	if d.Start == nil {
		return 0
	}
	return d.Start(&e.Workload, c.Name)
}

func writeLines(w *writer, indent string, lines []string) {
	for _, l := range lines {
		w.line("%s%s", indent, l)
	}
}

// gates returns steps that set the conditions of readiness gates. Without these conditions a pod
// never becomes Ready.
func (d *draft) gates() []string {
	var lines []string
	for _, e := range d.entries {
		if e.why != "" || len(e.Pod.Spec.ReadinessGates) == 0 {
			continue
		}
		var conditions []string
		for _, g := range e.Pod.Spec.ReadinessGates {
			conditions = append(conditions, fmt.Sprintf(`{type: %s, status: "True"}`, quoted(string(g.ConditionType))))
		}
		lines = append(lines, "# Sets the conditions of its readiness gates.",
			fmt.Sprintf("- {at: 20s, patch: {pod: %s, status: {conditions: [%s]}}}", quoted(e.Ref),
				strings.Join(conditions, ", ")))
	}
	return lines
}

// steps writes the steps, most of them as comments.
func (d *draft) steps(w *writer, s *seen) {
	gates, server := d.gates(), d.server()
	at := d.settled(s)
	then := func(later time.Duration) string { return value.Format(at + later) }
	tries := []string{fmt.Sprintf("# - {at: %s, restartKubelet: {downtime: 5s}}", then(30*time.Second))}
	if server != nil {
		name, main := quoted(server.Ref), quoted(server.Pod.Spec.Containers[0].Name)
		tries = []string{
			fmt.Sprintf("# - {at: %s, kill: {pod: %s, container: %s}}", then(0), name, main),
			tries[0],
			fmt.Sprintf("# - {at: %s, delete: {pod: %s}}", then(time.Minute), name),
		}
	}
	if len(gates) > 0 {
		w.line("  steps:")
		writeLines(w, "  ", gates)
	} else {
		w.line("  # steps:                    # The actions of people and the world.")
	}
	writeLines(w, "  ", tries)
}

// server returns the first workload that runs until its deletion, or nil.
func (d *draft) server() *entry {
	for _, e := range d.entries {
		if e.why == "" && e.Pod.Spec.RestartPolicy == v1.RestartPolicyAlways {
			return e
		}
	}
	return nil
}

// settled returns the time when all workloads are Ready, rounded up to whole minutes, at the latest
// a minute before the end.
func (d *draft) settled(s *seen) time.Duration {
	last := time.Minute
	for _, e := range d.entries {
		last = max(last, s.ready[e.Name])
	}
	return min((last + time.Minute - 1).Truncate(time.Minute), d.duration-time.Minute)
}
