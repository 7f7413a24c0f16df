package main

import (
	"bytes"
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// hidden returns an object whose readiness probe can never run.
func hidden(apiVersion, kind, metadata string) string {
	return "---\napiVersion: " + apiVersion + "\nkind: " + kind + "\nmetadata: {" + metadata + "}\nspec:\n" +
		"  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec: " +
		brokenSpec + "\n"
}

const brokenSpec = "{containers: [{name: app, image: w, readinessProbe: {httpGet: {port: nope}}}]}"

// finePod is checked without a finding.
const finePod = `apiVersion: v1
kind: Pod
metadata: {name: fine}
spec:
  containers:
  - name: app
    image: w
    startupProbe: {httpGet: {port: 80}, timeoutSeconds: 5, failureThreshold: 60}
    readinessProbe: {httpGet: {port: 80}, timeoutSeconds: 5, periodSeconds: 6}
`

// owned returns the metadata of an object with a controller.
func owned(kind, name string) string {
	return "name: web, ownerReferences: [{apiVersion: x.io/v1, kind: " + kind + ", name: " + name +
		`, uid: "1", controller: true}]`
}

// deployment has a readiness probe that can never run.
var deployment = hidden("apps/v1", "Deployment", "name: web")

// changed returns the Deployment with a text instead of another one.
func changed(from, to string) string { return strings.Replace(deployment, from, to, 1) }

// gateTests try to get a success from gates although something is not checked. The file a.yaml has
// finePod and the text of plus.
var gateTests = []struct{ name, plus, args, names string }{
	{name: "lower case", plus: changed("kind: Deployment", "kind: deployment")},
	{name: "a letter is missing", plus: changed("kind: Deployment", "kind: Deployent")},
	{name: "letters are swapped", plus: changed("kind: Deployment", "kind: StatefulSte")},
	{name: "a blank", plus: changed("kind: Deployment", `kind: "Deployment "`)},
	{name: "plural", plus: changed("kind: Deployment", "kind: Deployments")},
	{name: "plural of StatefulSet", plus: changed("kind: Deployment", "kind: StatefulSets")},
	{name: "a kind of its own", plus: changed("kind: Deployment", "kind: Application")},
	{name: "empty is allowed", plus: changed("kind: Deployment", "kind: deploy"), args: "check a.yaml --allow-empty"},
	{name: "a list with another case", plus: "---\napiVersion: v1\nkind: lIst\nitems: []\n"},
	{name: "another version", plus: changed("apps/v1", "apps/v2")},
	{name: "another group", plus: changed("apps/v1", "app/v1")},
	{name: "a removed version", plus: changed("apps/v1", "extensions/v1beta1")},
	{name: "ReplicationController", plus: strings.Replace(hidden("v1", "ReplicationController", "name: web"),
		"matchLabels: {app: web}", "app: web", 1)},
	{name: "a custom resource", plus: hidden("x.io/v1", "Rollout", "name: web")},
	{name: "PodTemplate", plus: "---\napiVersion: v1\nkind: PodTemplate\nmetadata: {name: web}\ntemplate: {spec: " +
		brokenSpec + "}\n", names: "PodTemplate web is not checked"},
	{name: "LeaderWorkerSet", plus: "---\napiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\n" +
		"metadata: {name: web}\nspec: {leaderWorkerTemplate: {workerTemplate: {spec: " + brokenSpec + "}}}\n",
		names: "LeaderWorkerSet web is not checked"},
	{name: "Job of Volcano", plus: "---\napiVersion: batch.volcano.sh/v1alpha1\nkind: Job\nmetadata: {name: web}\n" +
		"spec: {tasks: [{template: {spec: " + brokenSpec + "}}]}\n", args: "check a.yaml -o sarif",
		names: "Job web is not checked"},
	{name: "Template of OpenShift", plus: "---\napiVersion: template.openshift.io/v1\nkind: Template\n" +
		"metadata: {name: web}\nobjects: [{apiVersion: v1, kind: Pod, metadata: {name: x}, spec: " + brokenSpec +
		"}]\n", args: "check a.yaml -o json", names: `"template": "objects\[0\]"`},
	{name: "Work of Karmada", plus: "---\napiVersion: work.karmada.io/v1alpha1\nkind: Work\nmetadata: {name: web}\n" +
		"spec: {workload: {manifests: [{apiVersion: v1, kind: Pod, metadata: {name: x}, spec: " + brokenSpec + "}]}}\n",
		args: "check a.yaml -o github", names: "Work web is not checked"},
	{name: "an operator's resource", plus: "---\napiVersion: x.io/v1\nkind: Kafka\nmetadata: {name: k}\n",
		names: "Not checked: Kafka"},
	{name: "its own owner", plus: hidden("apps/v1", "Deployment", owned("Deployment", "web"))},
	{name: "an owner elsewhere", plus: hidden("apps/v1", "Deployment", owned("ArgoCD", "a"))},
	{name: "the owner is a pod", plus: hidden("apps/v1", "ReplicaSet", owned("Pod", "fine"))},
	{name: "a pod with other containers than its owner", plus: changed("nope", "80") +
		"---\napiVersion: v1\nkind: Pod\nmetadata: {" + owned("Deployment", "web") + "}\nspec: " +
		strings.Replace(brokenSpec, "name: app", "name: other", 1) + "\n"},
	{name: "owners in a circle", plus: hidden("apps/v1", "ReplicaSet", owned("ReplicaSet", "b")) +
		strings.Replace(hidden("apps/v1", "ReplicaSet", owned("ReplicaSet", "web")), "name: web,", "name: b,", 1)},
	{name: "no kind", plus: changed("kind: Deployment", "kinds: Deployment")},
	{name: "kind is null", plus: changed("kind: Deployment", "kind:")},
	{name: "no apiVersion", plus: changed("apiVersion: apps/v1\n", "")},
	{name: "an item of a List", plus: "---\napiVersion: v1\nkind: List\nitems: [{kind: Pod, spec: " + brokenSpec +
		"}]\n"},
	{name: "items are no list", plus: "---\napiVersion: v1\nkind: List\nitems: {a: {kind: Pod}}\n"},
	{name: "a List in a List", plus: "---\napiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: List, " +
		"items: [{apiVersion: v1, kind: Pod, metadata: {name: web}, spec: " + brokenSpec + "}]}]\n"},
	{name: "a name twice", plus: changed("nope", "80") + deployment},
	{name: "after the end", plus: "...\n" + deployment},
	{name: "a field in lower case", plus: changed("readinessProbe", "readinessprobe")},
	{name: "a probe in the pod", plus: changed("spec: {containers", "spec: {livenessProbe: {}, containers")},
	{name: "an empty probe", plus: changed("{httpGet: {port: nope}}", "{}")},
	{name: "no replicas", plus: changed("spec:\n", "spec:\n  replicas: 0\n")},
	{name: "paused", plus: changed("spec:\n", "spec:\n  paused: true\n")},
	{name: "an empty file", args: "check empty.yaml"},
	{name: "comments only", args: "check comments.yaml"},
	{name: "an empty directory", args: "check empty"},
	{name: "an upper-case name", args: "check upper"},
	{name: "a hidden directory", args: "check hidden"},
	{name: "a chart", args: "check chart", names: `passed over 1 Helm chart.* \(chart/web\)`},
	{name: "a kustomization", args: "check kustomize", names: "passed over 1 kustomization"},
	{name: "values", args: "check values", names: "passed over 1 file without apiVersion and kind"},
	{name: "no kind in a directory", args: "check kind"},
	{name: "two configurations", plus: deployment, args: "check a.yaml --config two.yaml"},
	{name: "fail-on none", plus: deployment, args: "check a.yaml --config none.yaml",
		names: `^2 workloads.* no finding fails \(fail-on: none in\snone.yaml:1`},
	{name: "require nothing", args: "check a.yaml --config null.yaml"},
	{name: "require an object", args: "check a.yaml --config object.yaml"},
	{name: "require an empty list", args: "check a.yaml --config list.yaml"},
	{name: "an unknown key", args: "check a.yaml --config key.yaml"},
	{name: "ignore a word", args: "check a.yaml --config word.yaml"},
	{name: "ignored", plus: deployment, args: "check a.yaml --config ignore.yaml", names: "^2 workloads.* 1 ignored"},
	{name: "ignored by itself",
		plus:  changed("name: web", "name: web, annotations: {probesim.dev/ignore: broken-probe}"),
		names: "^2 workloads.* 1 ignored"},
	{name: "an annotation that is none",
		plus: changed("name: web", "name: web, annotations: {probesim.dev/requires: start>=1s}")},
	{name: "a sidecar by its name", args: "check envoy.yaml --start 10m", names: "^Pod fine: .*1 sidecar left out"},
	{name: "no such container", args: "check a.yaml --start ap=10m"},
	{name: "an empty requirement", args: "check a.yaml --require ,"},
	{name: "measured elsewhere", args: "check a.yaml --measured measured.yaml",
		names: "no workload of the manifests is measured"},
	{name: "measured elsewhere, but required", args: "check a.yaml --measured measured.yaml --require-measured"},
	{name: "nothing measured", args: "check a.yaml --require-measured"},
	{name: "a workload is lost", plus: changed("nope", "80"), args: "compare a.yaml fine.yaml --fail-on lost"},
	{name: "a probe is lost", args: "compare a.yaml unready.yaml --fail-on lost"},
	{name: "worse than before", args: "compare a.yaml slow.yaml --fail-on worse"},
	{name: "nothing to compare", args: "compare a.yaml empty.yaml"},
	{name: "no Deployment", args: "rollout a.yaml"},
	{name: "nothing to tune", args: "tune comments.yaml --start 5s"},
}

// TestNoGateIsGreenUnchecked runs the tests of gates. The command fails, or its output names what
// is not checked, as a regular expression.
func TestNoGateIsGreenUnchecked(t *testing.T) {
	files := map[string]string{
		"fine.yaml": finePod, "empty.yaml": "", "comments.yaml": "# nothing\n---\n", "empty/a.txt": "",
		"upper/a.YAML": deployment, "upper/fine.yaml": finePod, "hidden/.b/b.yaml": deployment,
		"hidden/fine.yaml": finePod, "chart/web/Chart.yaml": "name: web", "chart/web/templates/a.yaml": "{{ x }}",
		"chart/fine.yaml": finePod, "kustomize/kustomization.yaml": "resources: [x]", "kustomize/fine.yaml": finePod,
		"values/values.yaml": "replicas: 3", "values/fine.yaml": finePod,
		"kind/a.yaml": changed("kind: Deployment\n", ""), "kind/fine.yaml": finePod,
		"two.yaml": "fail-on: none\n---\nfail-on: error\n", "none.yaml": "fail-on: none\n", "null.yaml": "require:\n",
		"object.yaml": "require: {}\n", "list.yaml": "require: []\n", "key.yaml": "requires: start>=1h\n",
		"word.yaml": "ignore: broken-probe\n", "ignore.yaml": "ignore: [{findings: broken-probe}]\n",
		"envoy.yaml": strings.NewReplacer("name: app", "name: envoy", "  containers:\n",
			"  containers:\n  - {name: app, image: a}\n").Replace(finePod),
		"measured.yaml": measuredElsewhere,
		"unready.yaml":  strings.Replace(finePod, "    readinessProbe", "    #", 1),
		"slow.yaml":     strings.Replace(finePod, "failureThreshold: 60", "failureThreshold: 1", 1),
	}
	t.Chdir(t.TempDir())
	write := func(file, text string) {
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for file, text := range files {
		write(file, text)
	}
	for _, test := range gateTests {
		t.Run(test.name, func(t *testing.T) {
			write("a.yaml", finePod+test.plus)
			args := cmp.Or(test.args, "check a.yaml")
			var out, errs bytes.Buffer
			code := execute(t.Context(), strings.Fields(args), &out, &errs)
			if code == 0 && test.names == "" {
				t.Errorf("probesim %s succeeds\n%s%s", args, out.String(), errs.String())
			}
			if !regexp.MustCompile(test.names).MatchString(out.String() + errs.String()) {
				t.Errorf("probesim %s does not name %s\n%s%s", args, test.names, out.String(), errs.String())
			}
		})
	}
}

// measuredElsewhere has a measured pod of a workload that no manifest has.
const measuredElsewhere = `apiVersion: v1
kind: Pod
metadata: {name: other, namespace: shop, creationTimestamp: "2026-05-01T10:00:00Z"}
spec: {containers: [{name: app, image: w, readinessProbe: {httpGet: {port: 80}, periodSeconds: 2}}]}
status:
  phase: Running
  conditions: [{type: Ready, status: "True", lastTransitionTime: "2026-05-01T10:00:20Z"}]
  containerStatuses: [{name: app, ready: true, restartCount: 0, state: {running: {startedAt: "2026-05-01T10:00:02Z"}}}]
`
