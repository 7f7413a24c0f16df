package manifests

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"probesim.dev/internal/strict"
)

// TestLean checks that a long list of kubectl get has the same workloads as without what is left
// out, at the same lines.
func TestLean(t *testing.T) {
	var items []string
	object := func(kind, name, owner, hash, created, rest string) {
		managed := "{\"manager\": \"" + strings.Repeat("kubelet", 1000) + "\"},\n\n{\"manager\": \"kubectl\"}"
		items = append(items, fmt.Sprintf("{\"apiVersion\": %q, \"kind\": %q,\n\"metadata\": {\"name\": %q, "+
			"\"namespace\": \"shop\", \"creationTimestamp\": %q, \"managedFields\": [%s],\n\"labels\": "+
			"{\"pod-template-hash\": %q}, \"ownerReferences\": [%s]},\n%s}",
			map[string]string{"Pod": "v1", "Event": "v1", "Deployment": "apps/v1"}[kind], kind, name, created, managed,
			hash, owner, rest))
	}
	spec := `"spec": {"containers": [{"name": "app", "image": "web"}]}, "status": {"phase": "Running"}`
	object("Deployment", "web", "", "", "2026-05-01T10:00:00Z",
		`"spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "app", "image": "web"}]}}}`)
	for i := range 60 {
		for _, of := range []string{"web", "db", "new"} { // the file has no Deployment db or new
			hash := fmt.Sprint("h", i%3)
			owner := fmt.Sprintf(`{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "%s-%s", "uid": "1", `+
				`"controller": true}`, of, hash)
			object("Pod", fmt.Sprintf("%s-%s-%d", of, hash, i), owner, hash,
				fmt.Sprintf("2026-05-01T10:%02d:%02dZ", i/60, i%60), spec)
		}
		object("Event", fmt.Sprint("e", i), "", "", "", `"reason": "Started"`)
	}
	object("Pod", "alone", "", "", "2026-05-01T10:00:00Z", spec)
	data := []byte(`{"apiVersion": "v1", "kind": "List", "items": [` + strings.Join(items, ",\n") + "]}")
	short := lean(data)
	if len(data) < leanFrom || len(short) > len(data)/4 ||
		bytes.Count(data, []byte("\n")) != bytes.Count(short, []byte("\n")) {
		t.Fatalf("%d bytes with %d lines became %d bytes with %d lines", len(data), bytes.Count(data, []byte("\n")),
			len(short), bytes.Count(short, []byte("\n")))
	}
	read := func(data []byte) (list []string) {
		var errs strict.Collector
		docs, _ := strict.Parse("list.json", data, &errs)
		f := &Objects{Name: "list.json"}
		f.sort(docs)
		if err := errs.Err(); err != nil {
			t.Fatal(err)
		}
		workloads, _ := f.unowned()
		for _, w := range workloads {
			list = append(list, fmt.Sprint(w.Kind.Kind, " ", w.Name, " ", w.Node.Pos.Line))
		}
		return list
	}
	if whole, part := fmt.Sprint(read(data)), fmt.Sprint(read(short)); whole != part || len(read(data)) != 4 {
		t.Errorf("the workloads are %s, want %s", part, whole)
	}
}
