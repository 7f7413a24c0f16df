package probetest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/value"
	"probesim.dev/scenarios"
)

// plan makes of a workload and its behavior the pods that a scenario file with them would bring: the loader
// of scenarios sets the defaults, and checks both.
func plan(w Workload, b Behavior, o NodeOptions) ([]scenarios.PlannedPod, error) {
	if w == nil || reflect.ValueOf(w).IsNil() {
		return nil, errors.New("there is nothing to add: it is nil")
	}
	object, spec, err := identified(w)
	if err != nil {
		return nil, err
	}
	text, err := scenarioOf(object, spec, b, o)
	if err != nil {
		return nil, cannot(object, err)
	}
	loaded, err := scenarios.LoadBytes("", text, func(string) ([]byte, error) { return nil, errors.New("there are no files") })
	if err != nil {
		return nil, cannot(object, reworded(err, b))
	}
	planned := loaded[0].Plan(o.Kubernetes, o.Seed).Pods()
	for _, name := range b.names() {
		for i, rule := range b[name] {
			if rule.Handler != nil {
				rule.attach(&planned[0].Program.Containers[name].Program.Rules[i], containerOf(spec, name)) // all pods share them
			}
		}
	}
	return planned, nil
}

func cannot(w Workload, err error) error {
	kind := w.GetObjectKind().GroupVersionKind().Kind
	return fmt.Errorf("the %s %s cannot be added:\n%w", kind, cmp.Or(w.GetName(), w.GetGenerateName()), err)
}

// scenarioOf writes the scenario file: two documents, one a line.
func scenarioOf(w Workload, spec *v1.PodSpec, b Behavior, o NodeOptions) ([]byte, error) {
	type object = map[string]any
	containers := []object{}
	for _, name := range b.names() {
		rules := make([]Rule, len(b[name]))
		for i, rule := range b[name] {
			var err error
			if rules[i], err = rule.asked(containerOf(spec, name)); err != nil {
				return nil, fmt.Errorf("behavior[%q][%d].handler: %w", name, i, err)
			}
		}
		containers = append(containers, object{"name": name, "behavior": rules})
	}
	first, err := json.Marshal(w)
	if err != nil {
		return nil, err
	}
	second, err := json.Marshal(object{
		"apiVersion": scenarios.APIVersion, "kind": "Scenario", "metadata": object{"name": "node"},
		"spec": object{
			"duration":           value.Format(value.MaxDuration),
			"kubernetesVersions": []string{o.Kubernetes + ".." + o.Kubernetes},
			"kubelet":            object{"config": object{"featureGates": o.Config.FeatureGates}},
			"pods":               []object{{"name": cmp.Or(w.GetName(), w.GetGenerateName()), "containers": containers}},
		},
	})
	return []byte(string(first) + "\n---\n" + string(second) + "\n"), err
}

var ruleField = regexp.MustCompile(`^spec\.pods\[0\]\.containers\[(\d+)\](\.behavior)?`)

// reworded returns errors about the file as errors about the object and the behavior that it was written from.
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
