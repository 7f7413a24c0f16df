package explore

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/podutil"
	"probesim.dev/internal/scenarios/expect"
	"probesim.dev/internal/show/report"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// History is what a run shows to users of the API and of the containers: without times, and without
// an order between pods.
type History struct {
	Pods []PodHistory `json:"pods"`
	// Objects are the histories of Deployments and Services, by name. Empty without a control
	// plane.
	Objects []ObjectHistory `json:"objects,omitempty"`
	// Failed are the expectations that failed.
	Failed []string `json:"failedExpectations,omitempty"`
	// Broken are the invariants that the run breaks, by class.
	Broken []Breach `json:"broken,omitempty"`
	// Error is why the run ended early.
	Error string `json:"error,omitempty"`
}

// ObjectHistory is the history of a Deployment, or of what a router does for a Service.
type ObjectHistory struct {
	Object string   `json:"object"` // such as "Deployment default/web"
	Events []string `json:"events"`
}

// PodHistory is the history of one pod.
type PodHistory struct {
	Pod        string             `json:"pod"`    // namespace/name
	Status     []string           `json:"status"` // the published statuses, without repetitions
	Containers []ContainerHistory `json:"containers"`
}

// ContainerHistory has the starts, stops and exits of a container.
type ContainerHistory struct {
	Container string   `json:"container"`
	Events    []string `json:"events"`
}

// Breach is a broken invariant.
type Breach struct {
	Invariant string `json:"invariant"`
	Case      string `json:"case"`
	Pod       string `json:"pod"`
	Container string `json:"container"`
	Known     string `json:"known,omitempty"` // the bug of the kubelet, such as "B18 #141155"; empty: not known
}

func (b Breach) String() string { return b.Invariant + ": " + b.Case }

// historyOf returns the history of a run, and the times of its entries: for each pod its statuses,
// then the events of its containers.
func historyOf(r *Run) (History, []virtual.Time) {
	pods := historian{}
	for i := range r.Records {
		pods.follow(&r.Records[i])
	}
	var h History
	var times []virtual.Time
	for _, key := range slices.Sorted(maps.Keys(pods)) {
		p := pods[key]
		pod := PodHistory{Pod: key, Status: p.status.texts}
		times = append(times, p.status.times...)
		for _, name := range slices.Sorted(maps.Keys(p.containers)) {
			c := p.containers[name]
			pod.Containers = append(pod.Containers, ContainerHistory{name, c.texts})
			times = append(times, c.times...)
		}
		h.Pods = append(h.Pods, pod)
	}
	h.Objects = objectsOf(r.Records)
	for i, result := range r.Results {
		if result.Outcome == report.Failed {
			h.Failed = append(h.Failed, expectName(i, result))
		}
	}
	for _, v := range r.Violations {
		breach := Breach{Invariant: v.Invariant, Case: v.Case, Pod: v.Pod, Container: v.Container}
		if v.Known != nil {
			breach.Known = v.Known.String()
		}
		h.Broken = append(h.Broken, breach)
	}
	slices.SortFunc(h.Broken, func(x, y Breach) int {
		return cmp.Or(cmp.Compare(x.Invariant, y.Invariant), cmp.Compare(x.Case, y.Case), cmp.Compare(x.Pod, y.Pod),
			cmp.Compare(x.Container, y.Container))
	})
	return h, times
}

func expectName(i int, r expect.Result) string {
	if r.Expect.Name != "" {
		return r.Expect.Name
	}
	return fmt.Sprintf("spec.expect[%d]", i)
}

// historian follows the pods of a run, by namespace/name.
type historian map[string]*podEntries

type podEntries struct {
	status     entries
	last       *trace.PodStatus // nil once the pod is removed
	containers map[string]*entries
}

// entries are the entries of a history with their times.
type entries struct {
	texts []string
	times []virtual.Time
}

func (e *entries) add(r *trace.Record, text string) {
	e.texts, e.times = append(e.texts, text), append(e.times, r.T)
}

// under returns the value of a key, which it adds if there is none.
func under[K comparable, V any](m map[K]*V, key K) *V {
	if m[key] == nil {
		m[key] = new(V)
	}
	return m[key]
}

func (h historian) follow(r *trace.Record) {
	switch r.Kind {
	case trace.StatusPatched:
		if p := under(h, r.Pod); r.Status != nil && (p.last == nil || !sameStatus(p.last, r.Status)) {
			p.last = r.Status
			p.status.add(r, statusText(r.Status))
		}
	case trace.PodRemoved:
		p := under(h, r.Pod)
		p.last = nil
		p.status.add(r, "removed")
	case trace.ContainerStarted:
		h.event(r, "start "+strconv.Itoa(r.Instance))
	case trace.ContainerStopping:
		h.event(r, "stop "+r.Reason)
	case trace.ContainerExited:
		h.event(r, "exit "+strconv.Itoa(int(r.ExitCode)))
	}
}

func (h historian) event(r *trace.Record, text string) {
	p := under(h, r.Pod)
	if p.containers == nil {
		p.containers = map[string]*entries{}
	}
	under(p.containers, r.Container).add(r, text)
}

// sameStatus reports whether two statuses are the same for a history, which leaves out conditions
// other than Ready.
func sameStatus(a, b *trace.PodStatus) bool {
	return a.Phase == b.Phase && a.Ready == b.Ready &&
		slices.EqualFunc(a.Containers, b.Containers, func(x, y trace.ContainerStatus) bool {
			x.ExitCode, y.ExitCode = 0, 0
			x.Details, y.Details = nil, nil
			return x == y
		})
}

// statusText writes a status, such as "Running, ready; app running, started, ready, 1 restart".
func statusText(s *trace.PodStatus) string {
	var b strings.Builder
	b.Grow(32 + 64*len(s.Containers))
	b.WriteString(s.Phase)
	if s.Ready {
		b.WriteString(", ready")
	}
	for i := range s.Containers {
		c := &s.Containers[i]
		b.WriteString("; " + c.Name + " " + c.State)
		if c.Reason != "" {
			b.WriteString(" " + c.Reason)
		}
		if c.Started {
			b.WriteString(", started")
		}
		if c.Ready {
			b.WriteString(", ready")
		}
		switch {
		case c.RestartCount == 1:
			b.WriteString(", 1 restart")
		case c.RestartCount > 1:
			b.WriteString(", " + strconv.Itoa(int(c.RestartCount)) + " restarts")
		}
	}
	return b.String()
}

// ID identifies a history: equal histories have equal IDs.
func (h *History) ID() string {
	var b strings.Builder
	for _, p := range h.Pods {
		b.WriteString("pod " + p.Pod + "\n")
		for _, s := range p.Status {
			b.WriteString(s + "\n")
		}
		for _, c := range p.Containers {
			b.WriteString("container " + c.Container + "\n" + strings.Join(c.Events, "\n") + "\n")
		}
	}
	for _, o := range h.Objects {
		b.WriteString("object " + o.Object + "\n" + strings.Join(o.Events, "\n") + "\n")
	}
	for _, f := range h.Failed {
		b.WriteString("failed " + f + "\n")
	}
	for _, x := range h.Broken {
		b.WriteString("broken " + x.String() + " " + x.Pod + "/" + x.Container + "\n")
	}
	b.WriteString("error " + h.Error)
	sum := sha256.Sum256([]byte(b.String()))
	return hex.EncodeToString(sum[:6])
}

// Bad reports whether the history fails an expectation or breaks an invariant in a way that is not
// a known bug of the kubelet.
func (h *History) Bad() bool {
	return len(h.Failed) > 0 || h.Error != "" || slices.ContainsFunc(h.Broken,
		func(b Breach) bool { return b.Known == "" })
}

// objectsOf returns the histories of Deployments and Services. That of a Deployment is whether it
// is complete and why its rollout goes on or not, and the fewest Ready pods after it was complete
// first. That of a Service is why requests are lost, but not how many: each order of events loses
// another number.
func objectsOf(records []trace.Record) []ObjectHistory {
	deployments, lost := map[string]*deploymentHistory{}, map[string]*[]string{}
	for i := range records {
		r := &records[i]
		switch {
		case r.Object == nil:
		case r.Object.Loss != nil:
			reasons := under(lost, r.Object.Name+" by "+r.Object.Loss.Router)
			*reasons = append(*reasons, "lost: "+r.Reason)
		case r.Kind == trace.WorkloadChanged && r.Object.Workload != nil &&
			r.Object.Workload.Condition("Progressing").Reason != "":
			under(deployments, r.Object.Name).follow(r.Object.Workload)
		}
	}
	var list []ObjectHistory
	for _, name := range slices.Sorted(maps.Keys(deployments)) {
		d := deployments[name]
		if d.complete {
			d.events = append(d.events, fmt.Sprintf("fewest Ready: %d", d.fewest))
		}
		list = append(list, ObjectHistory{name, d.events})
	}
	for _, name := range slices.Sorted(maps.Keys(lost)) {
		slices.Sort(*lost[name])
		list = append(list, ObjectHistory{name, slices.Compact(*lost[name])})
	}
	return list
}

type deploymentHistory struct {
	events   []string
	complete bool // has been
	fewest   int32
}

func (d *deploymentHistory) follow(w *trace.Workload) {
	event := "rolling out"
	switch reason := w.Condition("Progressing").Reason; {
	case w.Complete():
		event = "complete"
	case reason == "ProgressDeadlineExceeded" || reason == "DeploymentPaused":
		event = reason
	}
	if n := len(d.events); n == 0 || d.events[n-1] != event {
		d.events = append(d.events, event)
	}
	switch {
	case w.Complete() && !d.complete:
		d.complete, d.fewest = true, w.Ready
	case d.complete:
		d.fewest = min(d.fewest, w.Ready)
	}
}

// periods returns the shortest period of the probes of each pod.
func periods(pods []*v1.Pod) map[string]time.Duration {
	all := map[string]time.Duration{}
	for _, pod := range pods {
		key := pod.Namespace + "/" + pod.Name
		for c := range podutil.Containers(&pod.Spec) {
			for _, probe := range []*v1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
				if probe == nil {
					continue
				}
				if period := time.Duration(probe.PeriodSeconds) * time.Second; all[key] == 0 || period < all[key] {
					all[key] = period
				}
			}
		}
	}
	return all
}
