package manifests_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"probesim.dev/internal/scenarios/manifests"
)

// live returns an object with its owner, KIND/NAME, and its age in days.
func live(kind, name, owner string, days int, labels string) string {
	apiVersion := map[string]string{"Pod": "v1", "Job": "batch/v1", "CronJob": "batch/v1"}[kind]
	if apiVersion == "" {
		apiVersion = "apps/v1"
	}
	refs := ""
	if of, by, owned := strings.Cut(owner, "/"); owned {
		refs = fmt.Sprintf(", ownerReferences: [{apiVersion: example.com/v1, kind: %s, name: %s, uid: \"1\", "+
			"controller: true}]", of, by)
	}
	const containers = "containers: [{name: app, image: i}]"
	spec := map[string]string{"Pod": containers,
		"Job": "template: {spec: {restartPolicy: Never, " + containers + "}}",
		"CronJob": `schedule: "* * * * *", jobTemplate: {spec: {template: {spec: {restartPolicy: Never, ` + containers +
			"}}}}",
	}[kind]
	if spec == "" {
		spec = "selector: {matchLabels: {app: a}}, template: {metadata: {labels: {app: a}}, spec: {" + containers + "}}"
	}
	return fmt.Sprintf("---\napiVersion: %s\nkind: %s\nmetadata: {name: %s, namespace: shop, creationTimestamp: "+
		"\"2026-05-%02dT10:00:00Z\", labels: {%s}%s}\nspec: {%s}\n", apiVersion, kind, name, 28-days, labels, refs,
		spec)
}

// TestOwned checks which objects of a cluster are workloads, and which workload each stands for.
func TestOwned(t *testing.T) {
	const hash = "pod-template-hash: abc"
	deployment, replicaSet := live("Deployment", "web", "", 9, ""),
		live("ReplicaSet", "web-abc", "Deployment/web", 8, hash)
	pod, old := live("Pod", "web-abc-1", "ReplicaSet/web-abc", 1, hash),
		live("Pod", "web-abc-0", "ReplicaSet/web-abc", 2, hash)
	for _, test := range []struct{ name, text, want string }{
		{"a Deployment with its objects", deployment + replicaSet + old + pod, "Deployment web"},
		{"without the ReplicaSet", pod + deployment, "Deployment web"},
		{"pods only: the newest", old + pod, "Pod web-abc-1 for Deployment web"},
		{"pods before ReplicaSets", replicaSet + old, "Pod web-abc-0 for Deployment web"},
		{"a ReplicaSet only", replicaSet, "ReplicaSet web-abc for Deployment web"},
		{"two revisions", pod + live("Pod", "web-def-1", "ReplicaSet/web-def", 3, "pod-template-hash: def"),
			"Pod web-abc-1 for Deployment web"},
		{"a Rollout", live("Pod", "r-abc-1", "ReplicaSet/r-abc", 1, "rollouts-pod-template-hash: abc"),
			"Pod r-abc-1 for Rollout r"},
		{"a StatefulSet", live("Pod", "db-0", "StatefulSet/db", 1, "") + live("Pod", "db-1", "StatefulSet/db", 1, ""),
			"Pod db-0 for StatefulSet db"},
		{"a CronJob with pods", live("CronJob", "backup", "", 9, "") +
			live("Pod", "backup-2901-x", "Job/backup-2901", 1, ""), "CronJob backup"},
		{"a CronJob with Jobs", live("CronJob", "backup", "", 9, "") +
			live("Job", "backup-2901", "CronJob/backup", 1, ""), "CronJob backup"},
		{"a static pod", live("Pod", "etcd-n1", "Node/n1", 1, ""), "Pod etcd-n1"},
		{"a pod alone", live("Pod", "web", "", 1, ""), "Pod web"},
		{"a circle", live("ReplicaSet", "a", "ReplicaSet/b", 1, "") + live("ReplicaSet", "b", "ReplicaSet/a", 1, ""),
			"ReplicaSet a, ReplicaSet b"},
		{"its own owner", live("Deployment", "web", "Deployment/web", 1, ""), "Deployment web"},
		{"Deployments of an operator", live("Deployment", "a", "ArgoCD/argo", 1, "") +
			live("Deployment", "b", "ArgoCD/argo", 2, ""), "Deployment a, Deployment b"},
		{"a pod of a pod", live("Pod", "web", "", 1, "") + live("Pod", "other", "Pod/web", 1, ""),
			"Pod other, Pod web"},
		{"a pod with other containers than its owner", deployment +
			strings.Replace(live("Pod", "x", "Deployment/web", 1, ""), "name: app, image", "name: db, image", 1),
			"Deployment web, Pod x"},
		{"pods of one operator", live("Pod", "a", "Kafka/k", 1, "") + live("Pod", "b", "Kafka/k", 2, ""),
			"Pod a for Kafka k"},
		{"different pods of a Workflow", live("Pod", "a", "Workflow/w", 1, "") +
			strings.Replace(live("Pod", "b", "Workflow/w", 2, ""), "image: i", "image: j", 1), "Pod a, Pod b"},
	} {
		t.Run(test.name, func(t *testing.T) {
			m, err := manifests.Read("live.yaml", []byte(test.text))
			if err != nil {
				t.Fatal(err)
			}
			var list []string
			for _, w := range m.Workloads {
				is := w.Kind + " " + w.Name
				if w.Owner != nil {
					is += " for " + w.Owner.Kind + " " + w.Owner.Name
				}
				list = append(list, is)
			}
			slices.Sort(list)
			if got := strings.Join(list, ", "); got != test.want {
				t.Errorf("the workloads are %q, want %q", got, test.want)
			}
		})
	}
}
