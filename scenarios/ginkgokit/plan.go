package ginkgokit

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/scenarios"
	"probesim.dev/scenarios/value"
)

// plan makes of a pod and its behavior what a scenario file with them would bring: the loader of scenarios sets the
// defaults, and checks both.
func plan(pod *v1.Pod, b Behavior, o NodeOptions) (*scenarios.PlannedPod, error) {
	text, err := scenarioOf(pod, b)
	if err != nil {
		return nil, err
	}
	loaded, err := scenarios.LoadBytes("", text, func(string) ([]byte, error) { return nil, errors.New("there are no files") })
	if err != nil {
		return nil, reworded(err, b)
	}
	planned := loaded[0].Plan(o.Kubernetes, o.Seed).Pods()[0]
	for _, name := range b.names() {
		for i, rule := range b[name] {
			if rule.Handler != nil {
				rule.attach(&planned.Program.Containers[name].Program.Rules[i], containerOf(planned.Pod, name))
			}
		}
	}
	return &planned, nil
}

// scenarioOf writes the scenario file: two documents, one a line.
func scenarioOf(pod *v1.Pod, b Behavior) ([]byte, error) {
	pod.APIVersion, pod.Kind = "v1", "Pod"
	type object = map[string]any
	containers := []object{}
	for _, name := range b.names() {
		rules := make([]Rule, len(b[name]))
		for i, rule := range b[name] {
			var err error
			if rules[i], err = rule.asked(containerOf(pod, name)); err != nil {
				return nil, fmt.Errorf("behavior[%q][%d].handler: %w", name, i, err)
			}
		}
		containers = append(containers, object{"name": name, "behavior": rules})
	}
	first, err := json.Marshal(pod)
	if err != nil {
		return nil, err
	}
	second, err := json.Marshal(object{
		"apiVersion": scenarios.APIVersion, "kind": "Scenario", "metadata": object{"name": "node"},
		"spec": object{
			"duration": value.Format(value.MaxDuration),
			"pods":     []object{{"name": pod.Name, "containers": containers}},
		},
	})
	return []byte(string(first) + "\n---\n" + string(second) + "\n"), err
}

var ruleField = regexp.MustCompile(`^spec\.pods\[0\]\.containers\[(\d+)\](\.behavior)?`)

// reworded returns errors about the file as errors about the pod and the behavior that it was written from.
func reworded(err error, b Behavior) error {
	list, ok := errors.AsType[scenarios.Errors](err)
	if !ok {
		return err
	}
	var lines []string
	for _, e := range list {
		path := ruleField.ReplaceAllStringFunc(e.Path, func(found string) string {
			var i int
			fmt.Sscanf(found, "spec.pods[0].containers[%d]", &i)
			return fmt.Sprintf("behavior[%q]", b.names()[i])
		})
		lines = append(lines, path+": "+e.Message)
	}
	return errors.New(strings.Join(lines, "\n"))
}

func containerOf(pod *v1.Pod, name string) *v1.Container {
	for _, list := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range list {
			if list[i].Name == name {
				return &list[i]
			}
		}
	}
	return nil
}
