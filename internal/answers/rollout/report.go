package rollout

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"probesim.dev/internal/lists"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/require"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
	"probesim.dev/internal/workloads"
	"probesim.dev/internal/world/router"
)

// Report is the result for some manifests. Its JSON is stable: fields are only added. Times are
// numbers of seconds.
type Report struct {
	Setting
	Workloads []Workload `json:"workloads"`
	// Left is the number of Deployments that were not rolled out, because the time was over.
	Left int `json:"left,omitempty"`
	// NotRolledOut are workloads of kinds that are not rolled out yet, and those that do not change
	// with --from.
	NotRolledOut []string `json:"notRolledOut,omitempty"`
	// Details says that the report has the details of all Deployments.
	Details bool `json:"-"`
}

// Setting is what was rolled out, and where.
type Setting struct {
	Kubernetes string   `json:"kubernetes"`
	Delays     string   `json:"delays"`
	Change     string   `json:"change"`
	Requests   Requests `json:"requests"`
	Program    string   `json:"program"` // how it starts and stops
}

// Router is where the requests to a Deployment come from.
type Router struct {
	Name string `json:"name"`
	From string `json:"from,omitempty"` // the object of the files that leads to it
	// Because is what in the object says so.
	Because string `json:"because,omitempty"`
	Source  string `json:"source,omitempty"` // of its delays
	Add     string `json:"add,omitempty"`
	Remove  string `json:"remove,omitempty"`
}

// Requests are the requests to each Service.
type Requests struct {
	Rate    float64 `json:"rate"` // a second
	Latency string  `json:"latency"`
	// Connections that clients keep open, such as "50" or "50 until exit".
	Connections string `json:"connections,omitempty"`
	Covers      string `json:"covers"`
}

// Covers says which requests the figures are about.
const Covers = "Covers new connections; requests over connections that clients keep open are not counted " +
	"(--connections)."

// covers says which requests the figures are about.
func (o *Options) covers() string {
	c := o.Connections
	if c.Count == 0 {
		return Covers
	}
	text := "when it closes its listener"
	if c.UntilExit {
		text = "when it exits"
	}
	return fmt.Sprintf("Clients keep %s open, each with its pod until the program closes it: %s. They then connect "+
		"again, and a request is lost with each connection that is refused.",
		printable.Count(c.Count, "connection"), text)
}

// Verdict is the answer for a workload.
type Verdict string

// The verdicts.
const (
	LosesNone      Verdict = "losesNone"      // in no run; or nobody sends requests
	Loses          Verdict = "loses"          // in some run
	MissesDeadline Verdict = "missesDeadline" // of progressDeadlineSeconds in some run, and completes later
	NeverCompletes Verdict = "neverCompletes" // in some run
	NeverReady     Verdict = "neverReady"     // the pods before the change
)

// The rows.
const (
	RowPreStop  = "prestop"
	RowTakes    = "takes"
	RowReplicas = "replicas"
	RowLost     = "lost"
)

// Object is a Deployment in a file.
type Object struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	File      string `json:"file"`
	Line      int    `json:"line"`
}

// Title returns the name for people.
func (o *Object) Title() string { return manifests.Title(o.Kind, o.Namespace, o.Name) }

// Workload is the result for a Deployment.
type Workload struct {
	Object
	Verdict Verdict `json:"verdict"`
	// why it never completes or misses its deadline, why new pods restart, or what a manifest says
	// that needs attention
	Reason          string `json:"reason,omitempty"`
	Fix             string `json:"fix,omitempty"` // so that it completes
	Replicas        int32  `json:"replicas"`
	Strategy        string `json:"strategy"`
	MaxSurge        int32  `json:"maxSurge"`
	MaxUnavailable  int32  `json:"maxUnavailable"`
	Fractions       string `json:"-"` // of maxSurge and maxUnavailable, if they are in percent
	MinReadySeconds int32  `json:"minReadySeconds"`
	Service         string `json:"service,omitempty"` // the first of those whose requests are counted
	Container       string `json:"container"`         // that serves them
	Router          Router `json:"router"`
	Runs            int    `json:"runs"`
	Incomplete      int    `json:"incomplete,omitempty"` // runs that do not complete
	// Outage is the longest time without a Ready pod, of the runs.
	Outage       value.Seconds  `json:"outage,omitempty"`
	Unsure       bool           `json:"unsure,omitempty"` // something that is not simulated may lose requests
	Worst        Worst          `json:"worst"`
	Rows         []Row          `json:"rows,omitempty"`
	Lost         *Lost          `json:"lost,omitempty"`     // of the Service that loses most in a run
	Services     []Service      `json:"services,omitempty"` // all that are counted, if they are several
	Fixes        []Fix          `json:"fixes,omitempty"`
	Requirements []Verification `json:"requirements,omitempty"`
	// requirements about containers, which 'probesim check' judges
	Containers   []string `json:"containers,omitempty"`
	NotSimulated []string `json:"notSimulated,omitempty"`
	// Waits are what a new pod may not get before an old one is gone. The runs do not simulate it,
	// and the Deployment stops no old pod before.
	Waits []string `json:"waits,omitempty"`

	required bool // something is, apart from annotations that may only ask for more
	excused  bool // a requirement lets it lose what it loses
	of       *workload
}

// Service are the lost requests of a Service.
type Service struct {
	Name      string   `json:"name"`
	Container string   `json:"container"`
	Lost      *Figures `json:"lost,omitempty"`
}

// Row is a figure. Always is a value that a rule decides, for all runs; the others are those of the
// runs.
type Row struct {
	Row    string   `json:"row"`
	Text   string   `json:"text"`
	Always *float64 `json:"always,omitempty"`
	Runs   int      `json:"runs"`
	Figures
}

// Figures are the values of some runs.
type Figures struct {
	Least    float64 `json:"least"`
	Median   float64 `json:"median"`
	P95      float64 `json:"p95"`
	Greatest float64 `json:"greatest"`
}

// Lost are the requests that are lost, of those that are in progress at the change or are sent
// until the rollout is complete, the last old pod is gone and the last loss ends.
type Lost struct {
	Requests float64 `json:"requests"` // the most of the runs
	Figures
	Parts         []Part `json:"parts,omitempty"`
	WaitedForSync bool   `json:"waitedForSync"` // kube-proxy dropped a pod only after its minSyncPeriod
}

// Part is a part of the lost requests: its mean, and the longest time of one loss.
type Part struct {
	Reason string        `json:"reason"`         // as in package traffic
	Pods   string        `json:"pods,omitempty"` // old or new
	Count  float64       `json:"count"`
	Window value.Seconds `json:"window"`
}

// Fix is a change of the manifest, and what runs with it lose.
type Fix struct {
	Change    string  `json:"change"`
	Line      int     `json:"line"`
	Runs      int     `json:"runs"`
	Median    float64 `json:"median"`
	Lost      float64 `json:"greatest"`
	Takes     float64 `json:"takes"` // the rollout, in the median
	LosesNone bool    `json:"losesNone"`
	// Always reports whether a rule says that none is lost in any run.
	Always bool `json:"always,omitempty"`
}

// Worst is the run that shows the verdict best: one that does not complete, or else the one that
// loses most, or else the longest.
type Worst struct {
	Seed int64 `json:"seed"`
	// Command shows the run.
	Command string `json:"command,omitempty"`
	Run     *Shown `json:"-"` // with Options.Keep
}

// Verification is the result for a requirement.
type Verification struct {
	Requirement string   `json:"requirement"`
	Met         bool     `json:"met"`
	Value       *float64 `json:"value,omitempty"`
	Reason      string   `json:"reason,omitempty"`
	Annotation  bool     `json:"annotation,omitempty"` // only an annotation of the Deployment asks for it
	Row         string   `json:"-"`
}

func (w *Workload) row(id string) *Row {
	return lists.Find(w.Rows, func(x *Row) bool { return x.Row == id })
}

// Bad reports whether a workload does not complete, misses a requirement, loses requests although
// no requirement says how many it may lose, or may wait for what its old pods have although nothing
// is required of it.
func (w *Workload) Bad() bool {
	if slices.ContainsFunc(w.Requirements, func(v Verification) bool { return !v.Met }) {
		return true
	}
	return len(w.Waits) > 0 && !w.required || w.Verdict == Loses && !w.excused ||
		w.Verdict != Loses && w.Verdict != LosesNone
}

// Bad reports whether a workload is.
func (r *Report) Bad() bool {
	for i := range r.Workloads {
		if r.Workloads[i].Bad() {
			return true
		}
	}
	return false
}

// Format formats the value of a row for people.
func Format(row string, v float64) string {
	if row == RowTakes || row == RowPreStop {
		return value.Format(time.Duration(math.Round(v*10)) * 100 * time.Millisecond)
	}
	return Count(v)
}

// Count formats a number of requests. A part of a request is not 0.
func Count(v float64) string {
	if v > 1e-6 && v < 1 {
		return "<1"
	}
	return printable.Thousands(int(math.Round(v)))
}

// setting returns what the options say to the report.
func (o *Options) setting() Setting {
	s := Setting{Kubernetes: o.Profile.Version, Delays: o.Delays, Change: o.Change.String(),
		Requests: Requests{Rate: o.Rate, Latency: o.Latency.String(), Covers: o.covers()}, Program: o.App.String()}
	if o.Connections.Count > 0 {
		s.Requests.Connections = o.Connections.String()
	}
	return s
}

// described returns a router with its delays and their source.
func (r Router) described() Router {
	lb, named := router.NamedLoadBalancer(r.Name)
	if !named {
		return r
	}
	r.Name, r.Source = router.Short(r.Name), lb.Source
	if !lb.Syncs {
		r.Add = value.Interval{Min: lb.AddLeast, Max: lb.AddMost}.String()
		r.Remove = value.Interval{Min: lb.RemoveLeast, Max: lb.RemoveMost}.String()
	}
	return r
}

func newWorkload(w *workload, o *Options) *Workload {
	spec := &w.spec.Spec
	r := &Workload{Object: w.object(), Replicas: *spec.Replicas,
		Router: w.router.described(), Strategy: string(spec.Strategy.Type), MinReadySeconds: spec.MinReadySeconds,
		Container:    w.serve()[0],
		NotSimulated: w.notes, Waits: w.waits, Containers: require.Texts(w.containers), Unsure: w.unsure,
		Reason: strings.Join(w.warnings, " ")}
	counted := w.counted()
	for i, t := range counted {
		if i == 0 {
			r.Service = t.Name
		}
		if len(counted) > 1 {
			r.Services = append(r.Services, Service{Name: t.Name, Container: t.container})
		}
	}
	if spec.Strategy.Type != appsv1.RollingUpdateDeploymentStrategyType {
		return r
	}
	r.MaxSurge, r.MaxUnavailable = w.fenceposts()
	var fractions []string
	for _, v := range []string{spec.Strategy.RollingUpdate.MaxSurge.StrVal,
		spec.Strategy.RollingUpdate.MaxUnavailable.StrVal} {
		if v != "" && (len(fractions) == 0 || fractions[0] != v) {
			fractions = append(fractions, v)
		}
	}
	if len(fractions) > 0 {
		r.Fractions = fmt.Sprintf("%s of %d", strings.Join(fractions, " and "), *spec.Replicas)
	}
	return r
}

// Requirements must all hold.
type Requirements = []require.Requirement

// annotated returns the requirements of the options and of the annotation of a Deployment, or else
// of its template: those about rollouts, and those that package check judges. All must hold.
func (o *Options) annotated(n *strict.Node) (rollouts, containers Requirements) {
	list, found := slices.Clone(o.Require), false
	for _, object := range []*strict.Node{n, n.Find("spec.template")} {
		text := object.Find("metadata.annotations").Field(workloads.RequireAnnotation)
		if !text.Written() {
			continue
		}
		own, err := require.Parse(text.Value)
		if err != nil {
			text.Errorf("%v", err)
		}
		for _, q := range own {
			if !found && !slices.Contains(list, q) {
				list = append(list, q)
			}
		}
		found = true
	}
	containers, rollouts = require.Split(list)
	return rollouts, containers
}

// require decides the requirements.
func (w *Workload) require(of Requirements, o *Options) {
	for _, r := range of {
		v := w.decide(r)
		v.Annotation = !slices.Contains(o.Require, r)
		if !v.Annotation || o.AllowAnnotations {
			w.required = true
			w.excused = w.excused || v.Met && r.Word == RowLost
		}
		w.Requirements = append(w.Requirements, v)
	}
}

// decide decides a requirement: the worst of the runs counts, and for prestop the rule.
func (w *Workload) decide(r require.Requirement) Verification {
	v := Verification{Requirement: r.String(), Row: r.Word}
	if w.Verdict == NeverCompletes || w.Verdict == NeverReady {
		v.Reason = "the rollout does not complete"
		return v
	}
	row := w.row(r.Word)
	switch {
	case row == nil && r.Word == RowPreStop && w.Lost != nil:
		v.Reason = "no preStop sleep is always enough"
	case r.Word == RowPreStop && row != nil && row.Always == nil:
		v.Reason = "SIGKILL may come before the program has slept and ended its requests: raise " +
			"terminationGracePeriodSeconds"
	case row == nil:
		v.Reason = "no requests are sent: it needs a Service that selects the pods, and --rps"
	case r.Word == RowReplicas:
		v.Value = &row.Least
	case r.Word == RowPreStop:
		v.Value = row.Always
	default:
		v.Value = &row.Greatest
	}
	v.Met = v.Value != nil && r.Met(*v.Value)
	return v
}
