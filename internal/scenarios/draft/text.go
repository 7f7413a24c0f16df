package draft

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/podutil"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/scenarios/text"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
)

// text returns the scenario file. If s is nil, it has no expectations.
func (d *draft) text(s *seen) *text.File {
	f := &text.File{
		Comments: append(d.comments("spec.pods.containers.behavior"),
			"For checks and completion in an editor: probesim schema > "+text.Schema),
		Objects: d.inline, Name: d.name,
		Spec: [][2]string{
			{"duration: " + value.Format(cmp.Or(d.duration, durations[0])), "of virtual time"},
			{"# seeds: 1..20", "Twenty runs, with times drawn from ranges such as 8s..15s."},
		},
	}
	for _, e := range d.entries {
		f.Pods = append(f.Pods, d.pod(e))
	}
	for i := range f.Pods {
		if f.Pods[i].Containers != nil {
			f.Pods[i].Containers[0].Comment = "Later rules win. Without a rule, the answer is ok."
			break
		}
	}
	steps := text.List{Key: "steps", Lines: d.gates()}
	expect := text.List{Key: "expect", Comment: "Each has a matcher and a window."}
	if s != nil {
		if len(steps.Lines) == 0 {
			steps.Comment = "The actions of people and the world."
		}
		steps.Lines, expect.Lines = append(steps.Lines, d.tries(s)...), d.expect(s)
	}
	f.Lists = []text.List{steps, expect}
	return f
}

func (d *draft) pod(e *entry) text.Pod {
	p := text.Pod{Name: e.Ref, Kind: e.RefKind, File: d.File}
	if e.why != "" {
		p.LeftOut = []string{e.Kind + " " + strict.Quoted(e.Ref) + " is left out:", "  " + printable.Text(e.why)}
		return p
	}
	switch {
	case e.replicas > 1:
		p.Replicas = fmt.Sprintf("%d # of %d: all pods run on one node", e.replicas, e.Replicas)
	case e.replicas == 1:
		p.Replicas = "1 # 0 in the manifest"
	}
	for c := range podutil.Containers(&e.Pod.Spec) {
		known := time.Duration(0)
		if d.Start != nil {
			known = d.Start(&e.Workload, c.Name)
		}
		init := slices.ContainsFunc(e.Pod.Spec.InitContainers, func(x v1.Container) bool { return x.Name == c.Name })
		p.Containers = append(p.Containers, text.List{Key: c.Name, Lines: behavior(e.Pod, c, init, known)})
	}
	return p
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
			conditions = append(conditions,
				fmt.Sprintf(`{type: %s, status: "True"}`, strict.Quoted(string(g.ConditionType))))
		}
		lines = append(lines, "# Sets the conditions of its readiness gates.",
			fmt.Sprintf("- {at: 20s, patch: {pod: %s, status: {conditions: [%s]}}}", strict.Quoted(e.Ref),
				strings.Join(conditions, ", ")))
	}
	return lines
}

// tries returns steps to try, as comments.
func (d *draft) tries(s *seen) []string {
	at := d.settled(s)
	then := func(later time.Duration) string { return value.Format(at + later) }
	restart := fmt.Sprintf("# - {at: %s, restartKubelet: {downtime: 5s}}", then(30*time.Second))
	server := d.server()
	if server == nil {
		return []string{restart}
	}
	name, main := strict.Quoted(server.Ref), strict.Quoted(server.Pod.Spec.Containers[0].Name)
	return []string{
		fmt.Sprintf("# - {at: %s, kill: {pod: %s, container: %s}}", then(0), name, main),
		restart,
		fmt.Sprintf("# - {at: %s, delete: {pod: %s}}", then(time.Minute), name),
	}
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
		last = max(last, s.workloads[e.key()].ready)
	}
	return min((last + time.Minute - 1).Truncate(time.Minute), d.duration-time.Minute)
}
