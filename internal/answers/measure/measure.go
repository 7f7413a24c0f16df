package measure

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/answers/bounds"
	"probesim.dev/internal/answers/incident"
	"probesim.dev/internal/input"
	"probesim.dev/internal/podutil"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/value"
	"probesim.dev/kube/profile"
)

// Options say on which nodes the pods ran. The zero value stands for all releases, and for nodes
// without delays.
type Options struct {
	Profiles []profile.Profile  // of the kubelets; empty: all releases
	Delays   fakeruntime.Delays // the latencies of the nodes

	end time.Time // of the recording
}

func (o *Options) profiles() []profile.Profile {
	list := o.Profiles
	for _, name := range profile.Names() {
		if p, known := profile.Named(name); known && len(o.Profiles) == 0 {
			list = append(list, p)
		}
	}
	return list
}

// Report is what a recording says about its workloads.
type Report struct {
	Workloads []*Workload `json:"workloads"`
	Unused    []Count     `json:"unused,omitempty"` // pods without a spec or a status
}

// Measured reports whether a start or a stop of a container is known.
func (r *Report) Measured() bool { return slices.ContainsFunc(r.Workloads, (*Workload).measured) }

func (w *Workload) measured() bool {
	return slices.ContainsFunc(w.Containers, func(c *Container) bool { return c.Start != nil || c.Stop != nil })
}

// Newest returns the newest measured revision of each workload.
func (r *Report) Newest() (list []*Workload) {
	for i, w := range r.Workloads {
		newer := func(o *Workload) bool { return o.of(&w.Revision) && o.measured() }
		if w.measured() && !slices.ContainsFunc(r.Workloads[i+1:], newer) {
			list = append(list, w)
		}
	}
	return list
}

// Revisions returns the revisions of a workload, oldest first.
func (r *Report) Revisions(kind, namespace, name string) (list []*Workload) {
	of := Revision{Kind: kind, Namespace: namespace, Name: name}
	for _, w := range r.Workloads {
		if w.of(&of) {
			list = append(list, w)
		}
	}
	return list
}

// Revision identifies the pods that a workload has made from one pod template.
type Revision struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Hash      string `json:"revision,omitempty"` // of the template, which is in the labels of the pods
}

// of reports whether two revisions are those of one workload.
func (r *Revision) of(o *Revision) bool {
	return r.Kind == o.Kind && r.Name == o.Name &&
		cmp.Or(r.Namespace, v1.NamespaceDefault) == cmp.Or(o.Namespace, v1.NamespaceDefault)
}

// Workload is the pods of one revision of a workload.
type Workload struct {
	Revision
	Pods       int          `json:"pods"`
	Containers []*Container `json:"containers"`

	newest time.Time // creation of its newest pod
}

// Container is what the pods of a workload say about one of their containers.
type Container struct {
	Name string `json:"name"`
	// Unnamed says that the files have only rows of kubectl get pods, so the name is not known.
	Unnamed bool    `json:"unnamed,omitempty"`
	Starts  []Start `json:"starts"`
	// Start contains all starts; nil if none is known. Median is the one in the middle.
	Start  *value.Interval `json:"start,omitempty"`
	Median *value.Interval `json:"median,omitempty"`
	// Ignorance is the widest range of a start.
	Ignorance value.Seconds `json:"ignorance,omitempty"`
	// Limit is how long the first start may always take (docs/limits.md); 0: no probe stops it.
	// Margin is what the slowest start leaves of it at least.
	Limit  value.Seconds `json:"limit,omitempty"`
	Margin value.Seconds `json:"margin,omitempty"`

	Restarts int    `json:"restarts"`
	Kills    int    `json:"kills"` // by its probes, as events tell
	Lives    []Life `json:"lives"`
	// from the Killing event, without a preStop hook that sleeps, to the exit
	Stop    *value.Interval `json:"stop,omitempty"`
	Stops   int             `json:"stops,omitempty"`
	Killed  int             `json:"killed,omitempty"` // stops that lasted for the whole grace period
	Unknown []Count         `json:"unknown"`          // why starts, or their least time, are not known
}

// Count is a number of starts or pods of which something is not known for one reason.
type Count struct {
	Starts int    `json:"starts"`
	Reason string `json:"says"`
	Where  string `json:"where"` // the first of their pods, as file:line
}

// add counts a start or a pod.
func add(list []Count, reason, where string) []Count {
	for i := range list {
		if list[i].Reason == reason {
			list[i].Starts++
			return list
		}
	}
	return append(list, Count{1, reason, where})
}

// Start is one start of a container.
type Start struct {
	Pod      string         `json:"pod"` // namespace/name
	Began    time.Time      `json:"began"`
	Instance int            `json:"instance"` // the restart count of the instance, or -1
	Took     value.Interval `json:"took"`
}

// Life is the ends of instances with one reason and exit code.
type Life struct {
	Reason   string          `json:"reason,omitempty"`
	ExitCode int32           `json:"exitCode"`
	Count    int             `json:"count"`
	Lasted   *value.Interval `json:"lasted,omitempty"`
}

// Of measures the workloads of a recording.
func Of(rec *incident.Recording, o Options) *Report {
	o.end = rec.End
	m := &measurement{options: o, workloads: map[Revision]*Workload{}, report: &Report{}, rowLines: linesOfRows(rec)}
	for _, p := range rec.Pods {
		if p.Object == nil && len(ofRows(p)) == 0 {
			continue // there are only events of it
		} else if p.Object == nil {
			p = withoutSpec(p)
		}
		if reason := unused(p); reason != "" {
			m.report.Unused = add(m.report.Unused, reason, p.Place.String())
			continue
		}
		m.samples = append(m.samples, m.ofPod(p, m.workload(p))...)
	}
	m.leaveOutKubeletRestarts()
	for _, s := range m.samples {
		m.count(s)
	}
	for _, w := range m.report.Workloads {
		for _, c := range w.Containers {
			c.summarize()
		}
	}
	slices.SortStableFunc(m.report.Workloads, func(a, b *Workload) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name),
			a.newest.Compare(b.newest), cmp.Compare(a.Hash, b.Hash))
	})
	return m.report
}

// measurement is a report that comes about.
type measurement struct {
	options   Options
	report    *Report
	workloads map[Revision]*Workload
	samples   []*sample
	rowLines  map[string][]int // see pod
}

// sample is a start that a pod shows, or one of which it does not show enough.
type sample struct {
	pod       *incident.Pod
	container *Container
	probes    *v1.Container
	at, ready incident.Moment
	instance  int
	took      bounds.Range
	unknown   string // why nothing is known; empty: took is
	fromAbove string // why took has no least time
	note      string // what it rests on
}

// workload returns the workload of a pod.
func (m *measurement) workload(p *incident.Pod) *Workload {
	meta := p.Object.ObjectMeta
	meta.Namespace, meta.Name = p.Namespace, p.Name
	owner, hash := manifests.OwnerOf(&meta)
	is := Revision{owner.Kind, p.Namespace, owner.Name, hash}
	w := m.workloads[is]
	if w == nil {
		w = &Workload{Revision: is}
		m.workloads[is], m.report.Workloads = w, append(m.report.Workloads, w)
	}
	w.Pods++
	if at := p.Object.CreationTimestamp.Time; at.After(w.newest) {
		w.newest = at
	}
	return w
}

func (w *Workload) container(name string) *Container {
	for _, c := range w.Containers {
		if c.Name == name {
			return c
		}
	}
	c := &Container{Name: name, Starts: []Start{}, Lives: []Life{}, Unknown: []Count{}}
	w.Containers = append(w.Containers, c)
	return c
}

// ofPod returns the starts that a pod shows.
func (m *measurement) ofPod(p *incident.Pod, w *Workload) (list []*sample) {
	pod := readPod(p, m.rowLines)
	for c := range podutil.Containers(&p.Object.Spec) {
		if c.Name == "" || podutil.IsInit(&p.Object.Spec, c) { // a part of a text, or never Ready
			continue
		}
		out := w.container(c.Name)
		out.Unnamed = c.Image == "" && c.Name == unnamed
		pod.ends(out, c)
		switch starts := pod.starts[c.Name]; {
		case w.Kind == "Job" && c.StartupProbe == nil && c.ReadinessProbe == nil:
			continue // nobody waits until it is up
		case len(starts) == 0 && (pod.waits[c.Name] || p.Object.Status.Phase != ""):
			list = append(list, &sample{pod: p, container: out, unknown: notStarted})
		case len(starts) == 0:
			list = append(list, &sample{pod: p, container: out, unknown: noTimes})
		}
		for i := range pod.starts[c.Name] {
			s := &sample{pod: p, container: out, probes: c}
			pod.measure(s, i, &m.options)
			list = append(list, s)
		}
	}
	return list
}

// leaveOutKubeletRestarts leaves out the pods of a node that became Ready at one time, although
// they started long before at different times: a kubelet that starts can forget that they were
// Ready (KEP-4781). It forgets all of them, so those are the first pods of the node that became
// Ready.
func (m *measurement) leaveOutKubeletRestarts() {
	const together, apart = 10 * time.Second, time.Minute
	ofNode := map[string][]*sample{}
	for _, s := range m.samples {
		if node := s.pod.Node; node != "" && slices.Contains([]string{"", laterReady, lateReady}, s.unknown) {
			ofNode[node] = append(ofNode[node], s)
		}
	}
	for _, node := range slices.Sorted(maps.Keys(ofNode)) {
		list := ofNode[node]
		first := slices.MinFunc(list, func(a, b *sample) int { return a.ready.At.Compare(b.ready.At) }).ready.At
		list = slices.DeleteFunc(list,
			func(s *sample) bool { return s.ready.At.Sub(first) > together || first.Sub(s.at.At) <= apart })
		for _, a := range list {
			if slices.ContainsFunc(list,
				func(b *sample) bool { return a.pod != b.pod && a.at.At.Sub(b.at.At).Abs() > apart }) {
				a.unknown, a.fromAbove = kubeletRestarted, ""
			}
		}
	}
}

// count adds a start to the container of its workload.
func (m *measurement) count(s *sample) {
	c := s.container
	for _, reason := range []string{s.unknown, s.fromAbove, s.note} {
		if reason != "" {
			c.Unknown = add(c.Unknown, reason, s.pod.Place.String())
		}
	}
	if s.unknown != "" {
		return
	}
	c.Starts = append(c.Starts, Start{s.pod.Key(), s.at.At, s.instance, *interval(s.took)})
	if s.fromAbove == "" {
		c.Ignorance = max(c.Ignorance, value.Seconds(s.took.Greatest-s.took.Least))
	}
}

// summarize computes what follows from all starts and lives.
func (c *Container) summarize() {
	slices.SortStableFunc(c.Unknown, func(a, b Count) int { return cmp.Compare(b.Starts, a.Starts) })
	slices.SortStableFunc(c.Lives, func(a, b Life) int { return cmp.Compare(b.Count, a.Count) })
	if len(c.Starts) == 0 {
		c.Limit = 0
		return
	}
	slices.SortStableFunc(c.Starts,
		func(a, b Start) int { return cmp.Compare(a.Took.Min+a.Took.Max, b.Took.Min+b.Took.Max) })
	for i := range c.Starts {
		c.Start = c.Start.Join(&c.Starts[i].Took)
	}
	c.Median = &c.Starts[len(c.Starts)/2].Took
	if c.Limit > 0 {
		c.Margin = c.Limit - value.Seconds(c.Start.Max)
	}
}

// The versions of kubelets are in Node objects. Without them, the answer of kubectl version has the
// version of the API server: no kubelet is newer, and few are older
// (https://kubernetes.io/releases/version-skew-policy/).
var mentions = []*regexp.Regexp{
	regexp.MustCompile(`kubeletVersion"?:\s*"?(v1\.\d+)`),
	regexp.MustCompile(`(?s)serverVersion"?:.{0,900}?gitVersion"?:\s*"?(v1\.\d+)`),
	regexp.MustCompile(`Server Version: (v1\.\d+)`),
}

// Versions returns the versions of the kubelets that files name, oldest first, or nothing. A
// problem has the place of a version whose rules are not known: then no version is returned.
func Versions(files []input.File) (list []profile.Profile, problems []incident.Problem) {
	var names []string
	for _, mention := range mentions {
		for _, f := range files {
			for _, at := range mention.FindAllSubmatchIndex(f.Data, -1) {
				name := string(f.Data[at[2]:at[3]])
				if _, known := profile.Named(name); !known && !slices.Contains(names, name) {
					message := fmt.Sprintf("the rules of kubelets of %s are not known: those of %s count",
						name, strings.Join(profile.Names(), ", "))
					place := incident.Place{File: f.Name, Line: bytes.Count(f.Data[:at[2]], []byte("\n")) + 1}
					problems = append(problems, incident.Problem{Place: place, Message: message})
				}
				names = append(names, name)
			}
		}
		if len(names) > 0 {
			break
		}
	}
	for _, name := range profile.Names() {
		if p, _ := profile.Named(name); len(problems) == 0 && slices.Contains(names, name) {
			list = append(list, p)
		}
	}
	return list, problems
}
