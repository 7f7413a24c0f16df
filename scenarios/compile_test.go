package scenarios

import (
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/strict"
	"probesim.dev/scenarios/format"
)

// manifestsYAML has one workload of each kind, all with the same pod template.
const manifestsYAML = `
apiVersion: v1
kind: Pod
metadata: {name: pod, namespace: shop, labels: {app: web}}
spec: TEMPLATE
---
apiVersion: v1
kind: Pod
metadata: {generateName: generated-}
spec: TEMPLATE
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: deployment}
spec: {replicas: 3, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: TEMPLATE}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: set}
spec: {serviceName: set, replicas: 2, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: TEMPLATE}}
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: daemon}
spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: TEMPLATE}}
---
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: replicas}
spec: {replicas: 2, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: TEMPLATE}}
---
apiVersion: v1
kind: ReplicationController
metadata: {name: rc}
spec: {replicas: 1, selector: {app: web}, template: {metadata: {labels: {app: web}}, spec: TEMPLATE}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: job}
spec: {parallelism: 2, completions: 4, template: {metadata: {labels: {app: web}}, spec: ONCE}}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: cron}
spec: {schedule: "* * * * *", jobTemplate: {spec: {parallelism: 2, template: {metadata: {labels: {app: web}}, spec: ONCE}}}}
`

const podSpecYAML = `{terminationGracePeriodSeconds: 10, initContainers: [{name: init, image: busybox}], containers: [{name: app, image: web,
  livenessProbe: {httpGet: {path: /live, port: 80}, periodSeconds: 5}, readinessProbe: {exec: {command: [ready]}},
  lifecycle: {preStop: {httpGet: {path: /stop, port: 80}}}}]}`

const rulesYAML = `[
  {for: 40s..50s, probes: down}, {replica: "0..1", instance: "1..", after: 60s, for: 6s, every: 1m, liveness: stall},
  {at: 5m, chance: 5%, readiness: [ok x3, hang, repeat]}, {afterSigterm: 8s, exit: 0}, {preStop: 500 in 2s},
  {endpoints: {"http:80/live": [503 x2, ok, repeat], "exec:ready": down}}]`

var rules = []format.RuleText{
	{For: "40s..50s", Probes: "down"},
	{Replica: "0..1", Instance: "1..", After: "60s", For: "6s", Every: "1m", Liveness: "stall"},
	{At: "5m", Chance: "5%", Readiness: "[ok x3, hang, repeat]"}, {AfterSigterm: "8s", Exit: "0"},
	{PreStop: "500 in 2s"},
	{Endpoints: map[string]string{"http:80/live": "[503 x2, ok, repeat]", "exec:ready": "down"}},
}

// TestCompileEqualsLoad compiles objects of each kind and compares the pods with the pods of a file
// with the same content.
func TestCompileEqualsLoad(t *testing.T) {
	once := strings.Replace(podSpecYAML, "{", "{restartPolicy: Never, ", 1)
	text := strings.NewReplacer("TEMPLATE", podSpecYAML, "ONCE", once).Replace(manifestsYAML)
	errs := &strict.Collector{}
	docs, _ := strict.Parse("m.yaml", []byte(text), errs)
	if len(docs) != len(manifests.Kinds)+1 {
		t.Fatalf("%d objects, want one of each kind and a generated name; errors: %v", len(docs), errs.Err())
	}
	seed := int64(7)
	for _, doc := range docs {
		kind := manifests.KindNamed(doc.Field("kind").Value)
		object := kind.Make()
		strict.Decode(doc, object)
		name := object.GetName() + object.GetGenerateName()
		t.Run(name, func(t *testing.T) {
			entry := "{name: " + name + ", containers: [{name: app, behavior: " + rulesYAML + "}]}"
			loaded, err := LoadBytes("s.yaml", []byte(text+"---"+scenarioYAML("s", entry)), nil)
			if err != nil {
				t.Fatal(err)
			}
			data, err := manifests.Marshal(object)
			if err != nil {
				t.Fatal(err)
			}
			typed, err := manifests.Read("m.json", data)
			if err != nil {
				t.Fatal(err)
			}
			read, err := manifests.Read("m.yaml", []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(read.Workloads, func(w manifests.Workload) bool { return w.Name == name })
			if got, want := typed.Workloads[0], read.Workloads[i]; got.Kind != want.Kind ||
				!reflect.DeepEqual(got.Pod.Spec, want.Pod.Spec) {
				t.Errorf("the manifest of the object is a %s of %+v, want a %s of %+v", got.Kind, got.Pod.Spec,
					want.Kind, want.Pod.Spec)
			}
			before := object.DeepCopyObject()
			got, err := Compile(object, format.Behavior{"app": rules}, CompileOptions{Seed: &seed})
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(before, object) {
				t.Error("Compile changed the object")
			}
			want := loaded[0].Plan("v1.37", &seed).Pods()
			if len(got) != len(want) {
				t.Fatalf("%d pods, want %d", len(got), len(want))
			}
			for i := range want {
				if !reflect.DeepEqual(got[i], want[i]) {
					t.Errorf("pod %d is\n%+v\nwant\n%+v", i, got[i], want[i])
				}
			}
		})
	}
}

func webPod() *v1.Pod {
	get := v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Port: intstr.FromInt32(80)}}
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: v1.PodSpec{Containers: []v1.Container{
		{Name: "app", Image: "web", LivenessProbe: &v1.Probe{ProbeHandler: get}},
		{Name: "sidecar", Image: "proxy"},
	}}}
}

func TestCompileReportsAllErrors(t *testing.T) {
	pod := webPod()
	pod.Spec.Containers[0].Image = ""
	pod.Spec.SchedulingGates = []v1.PodSchedulingGate{{Name: "a"}}
	_, err := Compile(pod, format.Behavior{
		"app": {{For: "20", Probes: "[ok x2, fial]"}, {Readiness: "fail"}, {Handler: http.NotFoundHandler(), Exit: "1"},
			{},
			{Endpoints: map[string]string{"http:8080/": "ok"}}},
		"sidecar": {{Handler: http.NotFoundHandler()}},
		"ap":      {{Exit: "1"}},
	}, CompileOptions{})
	want := `behavior["ap"]: web has no container "ap" (did you mean "app"?)
behavior["app"][0].for: "20" has no unit: write 20s or 20ms
behavior["app"][0].probes[1]: unknown word "fial" (did you mean "fail"?)
behavior["app"][1].readiness: the container app has no readinessProbe; there is only livenessProbe
behavior["app"][2].handler: a rule has either a handler or answers and exit
behavior["app"][3]: does nothing: write an answer, such as probes: fail, or exit
behavior["app"][4].endpoints["http:8080/"]: no probe or hook of the container app asks there (did you mean "http:80/"?)
behavior["sidecar"][0].handler: the container sidecar has no httpGet probe or hook
spec.containers[0].image: Required value
spec.schedulingGates: schedulingGates is not supported yet`
	var errs Errors
	if !errors.As(err, &errs) || err.Error() != want {
		t.Errorf("the error is\n%v\nwant\n%s", err, want)
	}
}

func TestCompileAttachesHandlers(t *testing.T) {
	handler := http.NewServeMux()
	pods, err := Compile(webPod(), format.Behavior{"app": {{Handler: handler}}}, CompileOptions{})
	if err != nil {
		t.Fatal(err)
	}
	rule := pods[0].Program.Containers["app"].Program.Rules[0]
	if rule.Liveness == nil || rule.Liveness.Items[0].Answer.Handler != handler || rule.Readiness != nil ||
		rule.PreStop != nil {
		t.Errorf("the rule is %+v", rule)
	}
}

// TestDelaySet checks that a set fills in the delays that are not beside it.
func TestDelaySet(t *testing.T) {
	text := podYAML + scenarioHead + "delays: {set: slow, imagePull: 3s}"
	loaded, err := LoadBytes("s.yaml", []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	want, _ := fakeruntime.DelaySet("slow")
	want.ImagePull = &fakeruntime.Draw{Min: 3 * time.Second, Max: 3 * time.Second}
	if got := loaded[0].Plan("v1.37", nil).Delays; !reflect.DeepEqual(got, want) {
		t.Errorf("the delays are %+v, want %+v", got, want)
	}
}
