package schema

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestFind(t *testing.T) {
	for _, test := range []struct{ path, kind, field, typ string }{
		{"", "Scenario", "", ""},
		{"scenario", "Scenario", "", ""},
		{"spec.pods.containers.behavior", "Scenario", "behavior", "[]Rule"},
		{"spec.pods[0].containers[12].behavior[3].for", "Scenario", "for", "draw"},
		{"spec.pods[].name", "Scenario", "name", "string"},
		{".spec.expect.since.record.kind", "Scenario", "kind", "string"},
		{"spec.steps.patch.spec.containers.image", "Scenario", "image", "string"},
		{"spec.pods.patch.metadata.labels", "Scenario", "labels", "map[string]string"},
		{"Pod.spec.containers.livenessProbe.grpc.port", "Pod", "port", "integer"},
		{"pods.spec.containers.resources.limits", "Pod", "limits", "map[string]Quantity"},
		{"deployment.spec.template.spec.containers.livenessProbe.httpGet.port", "Deployment", "port", "IntOrString"},
		{"cronjob.spec.jobTemplate.spec.template", "CronJob", "template", "PodTemplateSpec"},
	} {
		place, err := Find(test.path)
		name, typ := "", ""
		if place.Field != nil {
			name, typ = place.Field.Name, place.Field.Type.String()
		}
		if err != nil || place.Kind.Name != test.kind || name != test.field || typ != test.typ {
			t.Errorf("%s: %s %s <%s> %v", test.path, place.Kind.Name, name, typ, err)
		}
	}
}

func TestUnknown(t *testing.T) {
	for path, want := range map[string]string{
		"spec.pods.containers.behaviour": `scenario.spec.pods.containers has no field "behaviour" (did you mean "behavior"?)`,
		"pot.spec":                       `scenario has no field "pot" (did you mean "pod"?)`,
		"behavior":                       `scenario has no field "behavior"; try spec.pods.containers.behavior`,
		"behaviour":                      `scenario has no field "behaviour"; try spec.pods.containers.behavior`,
		"spec.duration.unit":             `scenario.spec.duration has no field "unit": it is a duration`,
		"pod.metadata.labels.app":        `pod.metadata.labels has no field "app": it is a map[string]string`,
		"spec.kubelet.x":                 `scenario.spec.kubelet has no field "x"; its fields are uptime, allocatable, config`,
		"spec.steps.clock":               `scenario.spec.steps has no field "clock"; its fields are at, since, `,
	} {
		if _, err := Find(path); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestEveryFieldIsExplained checks that Find finds each field of a Scenario, and that Print has a
// text for the field and keeps to the width.
func TestEveryFieldIsExplained(t *testing.T) {
	var walk func(at *Type, prefix string)
	walk = func(at *Type, prefix string) {
		for _, f := range at.Fields {
			path := prefix + f.Name
			place, err := Find(path)
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			if err := place.Print(&b, 80, false); err != nil || f.Text == "" ||
				strings.Contains(b.String(), "<no description>") {
				t.Errorf("%s is not explained: %v", path, err)
			}
			for line := range strings.Lines(b.String()) {
				if utf8.RuneCountInString(line) > 81 && strings.Contains(strings.TrimSpace(line), " ") {
					t.Errorf("%s: a line is too long: %s", path, line)
				}
			}
			if o := f.Type.object(); !o.patched {
				walk(o, path+".")
			}
		}
	}
	walk(kinds()[0].Type, "")
}

func TestComplete(t *testing.T) {
	for prefix, want := range map[string][]string{
		"s":                       {"spec", "scenario", "statefulset"},
		"spec.pods.containers.be": {"spec.pods.containers.behavior"},
		"spec.steps.kill.": {"spec.steps.kill.pod", "spec.steps.kill.container", "spec.steps.kill.reason",
			"spec.steps.kill.remove", "spec.steps.kill.signal"},
		"pod.spec.containers.start": {"pod.spec.containers.startupProbe"},
		"nosuch.":                   nil,
		"spec.duration.":            nil,
	} {
		if got, _ := Complete(prefix); !slices.Equal(got, want) {
			t.Errorf("%s: %v", prefix, got)
		}
	}
	_, more := Complete("spec.d")
	if more["spec.duration"] || !more["spec.delays"] {
		t.Errorf("%v", more)
	}
}
