package measure

import (
	"maps"
	"regexp"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"probesim.dev/internal/answers/incident"
)

// Rows of kubectl get pods -w tell starts too: a container has started by the first row with STATUS
// Running, after the row before, and is ready at the first row with READY 1/1. The rows have no
// probes. Those of the workload count if it is in the files.

// ofRows returns the rows of kubectl get pods about a pod, or nothing if one has no age.
func ofRows(p *incident.Pod) (rows []*incident.Fact) {
	for _, f := range p.Facts {
		if f.Kind == incident.Row && (f.AgeWithin == 0 || !f.When.Known()) {
			return nil
		} else if f.Kind == incident.Row {
			rows = append(rows, f)
		}
	}
	return rows
}

// made matches the name of a pod of a Deployment: the safe characters of a hash and of a random
// suffix (k8s.io/apimachinery/pkg/util/rand).
var made = regexp.MustCompile(`^(.+)-([bcdfghjklmnpqrstvwxz2456789]{6,10})-[bcdfghjklmnpqrstvwxz2456789]{5}$`)

// withoutSpec returns a pod of which the files have only rows, with a container of no known name.
func withoutSpec(p *incident.Pod) *incident.Pod {
	known, object := *p, &v1.Pod{}
	object.Name, object.Namespace = p.Name, p.Namespace
	object.Spec.Containers = []v1.Container{{Name: unnamed}}
	if m := made.FindStringSubmatch(p.Name); m != nil {
		object.Labels = map[string]string{"pod-template-hash": m[2]}
		object.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: m[1] + "-" + m[2],
			Controller: new(true)}}
	}
	known.Object = object
	return &known
}

// unnamed is the container of a pod of which the files have only rows.
const unnamed = "container"

// addRows adds what rows tell of the only container of a pod. A row that a script prints for its
// own reasons need not come at a change: the same row twice, or a header in between, says so.
func (p *pod) addRows() {
	rows := ofRows(p.Pod)
	if len(p.starts) > 0 || len(rows) == 0 || len(p.Object.Spec.Containers) != 1 {
		return
	}
	p.rows = true
	container := p.Object.Spec.Containers[0].Name
	polled := rows[len(rows)-1].Line-rows[0].Line >= p.lines(rows[0].File, rows[0].Line, rows[len(rows)-1].Line)
	for i, f := range rows[1:] {
		polled = polled || same(rows[i], f) && f.When != rows[i].When
	}
	before, instance := incident.Moment{At: rows[0].When.At.Add(-rows[0].Age)}, -1
	for _, f := range rows {
		since := incident.Moment{At: before.At, Within: f.When.End().Sub(before.At)}
		if f.Value != "0/1" && f.Value != "1/1" {
			p.rows, p.starts = false, map[string][]start{}
			return
		}
		if f.Reason == "Running" && f.Count > instance {
			instance = f.Count
			p.add(container, start{at: since, instance: instance, shown: f.When})
		}
		ready := f.When
		if polled {
			ready = since
		}
		switch {
		case f.Reason != "Running":
		case f.Value == "1/1":
			p.ready = append(p.ready, ready)
		default:
			p.unready = append(p.unready, f.When)
		}
		before = f.When
	}
}

// same reports whether two rows differ only in their ages.
func same(a, b *incident.Fact) bool {
	return a.Value == b.Value && a.Reason == b.Reason && a.Count == b.Count
}

// linesOfRows returns the lines of the rows of each file, in order.
func linesOfRows(rec *incident.Recording) map[string][]int {
	lines := map[string][]int{}
	for _, f := range rec.Facts {
		if f.Kind == incident.Row {
			lines[f.File] = append(lines[f.File], f.Line)
		}
	}
	for _, file := range slices.Sorted(maps.Keys(lines)) {
		slices.Sort(lines[file])
	}
	return lines
}

// lines counts the rows of all pods in some lines of a file.
func (p *pod) lines(file string, from, to int) int {
	list := p.rowLines[file]
	first, _ := slices.BinarySearch(list, from)
	last, _ := slices.BinarySearch(list, to+1)
	return last - first
}
