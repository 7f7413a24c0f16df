package rollout

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/input"
	"probesim.dev/internal/lists"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/require"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
	"probesim.dev/internal/workloads"
	"probesim.dev/internal/world/router"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
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
	gate    string // a readiness gate that waits until it has added a pod
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
func (o Object) Title() string { return manifests.Title(o.Kind, o.Namespace, o.Name) }

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
	// Known says why the verdict does not count, or is empty.
	Known string `json:"known,omitempty"`

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

// Bad reports whether a workload misses a requirement; or, unless that is known, does not complete,
// loses requests although no requirement says how many it may lose, or may wait for what its old
// pods have although nothing is required of it.
func (w *Workload) Bad() bool {
	if slices.ContainsFunc(w.Requirements, func(v Verification) bool { return !v.Met }) {
		return true
	}
	return w.Known == "" && (len(w.Waits) > 0 && !w.required || w.Verdict == Loses && !w.excused ||
		w.Verdict != Loses && w.Verdict != LosesNone)
}

// Bad reports whether a workload is.
func (r *Report) Bad() bool {
	return slices.ContainsFunc(r.Workloads, func(w Workload) bool { return w.Bad() })
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

func newWorkload(w *workload) *Workload {
	spec := &w.spec.Spec
	r := &Workload{Object: w.object(), Replicas: *spec.Replicas,
		Router: w.router.described(), Strategy: string(spec.Strategy.Type), MinReadySeconds: spec.MinReadySeconds,
		Container:    w.serve()[0],
		NotSimulated: w.notes, Waits: w.waits, Containers: require.Texts(w.containers), Unsure: w.unsure, of: w,
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
	update := spec.Strategy.RollingUpdate
	fractions := slices.Compact(slices.DeleteFunc([]string{update.MaxSurge.StrVal, update.MaxUnavailable.StrVal},
		func(v string) bool { return v == "" }))
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

// fewestRuns is the least number of runs: they show a rollout that does not end, which takes long.
const fewestRuns = 3

// runsOf returns how many runs a rollout of some replicas gets. It keeps the time of a measurement
// about the same.
func (o *Options) runsOf(replicas int32) int {
	if o.Runs > 0 {
		return o.Runs
	}
	return int(min(100, max(fewestRuns, 300/replicas)))
}

// sample are the runs of a workload.
type sample []outcome

// runs makes runs of a workload, with the seeds from first on.
func (w *workload) runs(o *Options, first, n int, name string) (sample, error) {
	healthy, err := w.healthy(o)
	if err != nil && w.tried { // the API server rejects the change
		return sample{{}}, nil
	} else if err != nil {
		return nil, err
	}
	list := make(sample, n)
	return list, o.Each(n, name, func(ctx context.Context, i int) (err error) {
		list[i], err = w.simulate(ctx, o, healthy, int64(first+i))
		return err
	})
}

// figures returns the figures of a number of each run, in thousandths.
func (s sample) figures(of func(*outcome) float64) Figures {
	list := make([]float64, 0, len(s))
	for i := range s {
		list = append(list, of(&s[i]))
	}
	slices.Sort(list)
	at := func(share float64) float64 {
		i := int(math.Ceil(share*float64(len(list)))) - 1
		return math.Round(1000*list[max(0, i)]) / 1000
	}
	return Figures{Least: at(0), Median: at(0.5), P95: at(0.95), Greatest: at(1)}
}

// row returns a row of a table about the runs.
func (s sample) row(id, text string, of func(*outcome) float64) Row {
	return Row{Row: id, Text: text, Runs: len(s), Figures: s.figures(of)}
}

func lostOf(o *outcome) float64  { return o.lost }
func takesOf(o *outcome) float64 { return o.took.Seconds() }

// all reports whether something holds in all runs.
func (s sample) all(holds func(*outcome) bool) bool {
	return !slices.ContainsFunc(s, func(o outcome) bool { return !holds(&o) })
}

func (s sample) complete() bool { return s.all(func(o *outcome) bool { return o.took > 0 }) }

// firstDeadline returns how soon the progress deadline of a run was over, or 0 if all runs kept it.
func (s sample) firstDeadline() (first time.Duration) {
	for i := range s {
		if d := s[i].deadline; d > 0 && (first == 0 || d < first) {
			first = d
		}
	}
	return first
}

// lossless reports whether no run loses a thousandth of a request.
func (s sample) lossless() bool { return s.figures(lostOf).Greatest == 0 }

// quickRuns are the runs of a Deployment that loses requests in them, if there is only a line for
// it.
const quickRuns = 20

// stands reports whether more runs would hardly change the line of a Deployment: it loses requests,
// there are none, or a rule says that it loses none.
func (w *workload) stands(o *Options, s sample) bool {
	always, ruled := w.alwaysEnough(o)
	slept, _ := w.sleepIn(w.outgoing(o))
	return len(s) >= min(quickRuns, o.runsOf(*w.spec.Spec.Replicas)) && (!s.lossless() || len(w.counted()) == 0) ||
		len(s) > 0 && s.lossless() && ruled && always <= slept && !w.cuts(o, slept)
}

// measure rolls a workload out, and looks for changes that help. If it is quick, it makes the runs
// of a line, and looks for one change.
func measure(w *workload, o *Options, quick bool) (*Workload, error) {
	n := o.runsOf(max(*w.spec.Spec.Replicas, o.Change.Scale))
	for _, n := range []int{min(fewestRuns, n), min(quickRuns, n), n} {
		if w.never || !w.drawn.complete() || quick && w.stands(o, w.drawn) {
			break
		}
		more, err := w.runs(o, len(w.drawn), max(0, n-len(w.drawn)), "rollouts")
		if err != nil {
			return nil, err
		}
		w.drawn = append(w.drawn, more...)
	}
	s, result := w.drawn, w.judge(o, w.drawn)
	if result.Verdict == NeverReady || result.Verdict == NeverCompletes {
		return result, nil
	}
	if result.Verdict == Loses {
		var err error
		if result.Fixes, err = w.fixes(o, s, quick); err != nil {
			return nil, err
		}
		if w.sleepsLonger() && o.Change.Kind != Scale && o.Change.Kind != Undo {
			return result, w.next(o, result, max(fewestRuns, n/4))
		}
	}
	return result, nil
}

// sleepsLonger reports whether the change adds a preStop hook to a container that serves, or
// lengthens it.
func (w *workload) sleepsLonger() bool {
	return slices.ContainsFunc(w.serve(), func(name string) bool {
		before, _ := sleepOf(serving(w.old, name))
		after, _ := sleepOf(serving(w.spec, name))
		return after > before
	})
}

// next says what the rollout after this one loses, whose old pods have the new preStop hook.
func (w *workload) next(o *Options, r *Workload, n int) error {
	again := *w
	again.old = w.spec
	s, err := again.runs(o, 0, n, "rollouts after this one")
	if err != nil || !s.complete() {
		return err
	}
	loses := "loses none"
	if !s.lossless() {
		loses = "loses up to " + Count(s.figures(lostOf).Greatest)
	}
	r.say("The old pods do not have the longer preStop hook yet, so this rollout still loses requests, once: the next "+
		"one %s in %s.", loses, printable.Count(n, "run"))
	return nil
}

// judge returns what runs of a workload show, without what helps.
func (w *workload) judge(o *Options, s sample) *Workload {
	r := newWorkload(w)
	r.Runs = len(s)
	switch {
	case w.never:
		r.Verdict = NeverCompletes
	case !s.all(func(o *outcome) bool { return o.steady }):
		r.neverReady(s)
	case !s.complete():
		r.neverCompletes(w, o, s)
	default:
		r.figures(w, o, s)
	}
	if len(s) > 0 {
		r.Worst.Seed = s.worst()
	}
	r.require(w.require, o)
	return r
}

// figures adds the rows of runs that all complete, and the verdict.
func (r *Workload) figures(w *workload, o *Options, s sample) {
	r.Rows = []Row{s.row(RowTakes, "the rollout takes", takesOf),
		s.row(RowReplicas, "fewest Ready replicas", func(o *outcome) float64 { return float64(o.ready) })}
	r.Outage = value.Seconds(1e9 * s.figures(func(o *outcome) float64 { return o.outage.Seconds() }).Greatest)
	if len(w.counted()) > 0 && o.Rate > 0 {
		r.losses(w, o, s)
	}
	r.verdict(s)
}

// losses adds the rows and parts of the requests that are lost.
func (r *Workload) losses(w *workload, o *Options, s sample) {
	always, ruled := w.alwaysEnough(o)
	if ruled && s.all(func(o *outcome) bool { return !o.helpless && o.restarts == 0 && o.needed }) {
		row := s.row(RowPreStop, "no loss if preStop sleeps",
			func(o *outcome) float64 { return max(0, o.needs.Seconds()) })
		if !w.cuts(o, always) {
			row.Always = new(math.Ceil(10*always.Seconds()) / 10)
		}
		r.Rows = slices.Insert(r.Rows, 0, row)
	}
	lost := s.row(RowLost, "requests lost", lostOf)
	r.Rows = append(r.Rows, lost)
	r.Lost = &Lost{Requests: s.figures(func(o *outcome) float64 {
		return o.requests
	}).Greatest, Figures: lost.Figures, Parts: parts(s)}
	for i := range r.Services {
		r.Services[i].Lost = new(s.figures(func(o *outcome) float64 { return o.each[i].lost }))
	}
	r.Lost.WaitedForSync = !s.all(func(o *outcome) bool { return !o.waited })
}

// parts returns the parts of the lost requests, the largest first.
func parts(s sample) (list []Part) {
	for i := range s {
		for _, p := range s[i].parts {
			sum := partOf(&list, p.Reason, p.Pods)
			sum.Count += p.Count / float64(len(s))
			sum.Window = max(sum.Window, p.Window)
		}
	}
	slices.SortFunc(list, func(a, b Part) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Reason, b.Reason), cmp.Compare(b.Pods, a.Pods))
	})
	return list
}

// roundUp returns a duration as a whole number of seconds that is at least as long.
func roundUp(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// worst returns the seed of the run that shows the verdict best: the first that does not complete,
// or else one that misses its deadline, or else the one that loses most, or else the longest.
func (s sample) worst() int64 {
	worst := 0
	for i := range s {
		if slices.Compare(s[i].rank(), s[worst].rank()) > 0 {
			worst = i
		}
	}
	return int64(worst)
}

// rank orders the runs of a sample.
func (o *outcome) rank() []float64 {
	switch {
	case o.took == 0:
		return []float64{2}
	case o.deadline > 0:
		return []float64{1, o.lost, o.took.Seconds()}
	}
	return []float64{0, o.lost, o.took.Seconds()}
}

func (r *Workload) verdict(s sample) {
	if r.Verdict = LosesNone; !s.lossless() {
		r.Verdict = Loses
	}
	stay := s.figures(func(o *outcome) float64 { return (o.gone - o.took).Seconds() }).Greatest
	most := s.figures(func(o *outcome) float64 { return float64(o.pods) }).Greatest
	if !s.all(func(o *outcome) bool { return !o.lingers }) {
		r.say("Old pods are still there %s after the change, and the figures end: up to %.0f pods at once.",
			value.Format(limit), most)
	} else if stay > 10 {
		r.say("When the rollout is complete, old pods are there for up to %s more: up to %.0f pods at once.",
			Format(RowTakes, stay), most)
	}
	if first := s.firstDeadline(); first > 0 {
		r.Verdict = MissesDeadline
		r.say("kubectl rollout status fails %s after the change, and the rollout goes on.",
			Format(RowTakes, first.Seconds()))
		wait := s.figures(func(o *outcome) float64 { return o.standing.Seconds() }).Greatest
		r.Fix = fmt.Sprintf("progressDeadlineSeconds: %d, as the runs wait up to %s for progress",
			60*(1+int((wait+30)/60)), Format(RowTakes, wait))
	}
	worst := slices.MaxFunc(s, func(a, b outcome) int { return cmp.Compare(a.restarts, b.restarts) })
	if worst.restarts > 0 {
		r.restarts(&worst, fmt.Sprintf("up to %d times", worst.restarts))
	}
}

// restarts says what restarts the containers of the new pods, and what helps if a probe or a hook
// does.
func (r *Workload) restarts(o *outcome, often string) {
	switch {
	case o.killed == "":
		r.say("Containers of the new pods restart %s.", often)
	case strings.HasPrefix(o.killed, postStart):
		r.Fix = "a hook that waits until the program is up: its request fails before"
	default:
		r.Fix = "add a startup probe that gives the program the time to start: 'probesim check' has its settings"
	}
	if o.killed != "" {
		r.say("The %s kills the program before it is up, %s.", o.killed, often)
	}
}

// say adds a sentence to the reason.
func (r *Workload) say(format string, args ...any) {
	r.Reason = strings.TrimSpace(r.Reason + " " + fmt.Sprintf(format, args...))
}

func (r *Workload) neverReady(s sample) {
	r.Verdict = NeverReady
	r.say("The pods before the change are not all available within %s.", value.Format(settling))
	if s[0].unready != "" {
		r.say("The last probe that failed: %s.", s[0].unready)
	}
	r.Fix = "see 'probesim check', which says what is wrong with the probes"
}

// neverCompletes says what the rollout waits for in the first run that does not complete.
func (r *Workload) neverCompletes(w *workload, options *Options, s sample) {
	r.Verdict = NeverCompletes
	var o *outcome
	for i := range s {
		if s[i].took == 0 {
			if r.Incomplete++; o == nil {
				o = &s[i]
			}
		}
	}
	switch {
	case o.restarts > 0 && !options.App.neverStarts():
		r.restarts(o, "again and again")
	case o.unready != "":
		r.say("The new pods do not become Ready. The last probe that failed: %s.", o.unready)
	default:
		r.say("The new pods do not become available.")
	}
	scales, replicas := options.Change.Kind == Scale, r.Replicas
	if scales {
		replicas = options.Change.Scale
	}
	switch {
	case !scales && r.MaxUnavailable == 0 && r.Strategy == string(appsv1.RollingUpdateDeploymentStrategyType):
		r.say("The Deployment may not stop an old pod before (maxUnavailable 0), so the old ones go on to serve.")
	case o.ready == 0 && o.last == 0:
		r.say("No pod is Ready.")
	case o.ready == 0:
		r.say("At times no pod is Ready.")
	default:
		r.say("At least %d of %d pods are Ready all the time.", o.ready, replicas)
	}
	if o.deadline > 0 {
		r.say("progressDeadlineSeconds (%ds) is over %s after the change.", *w.spec.Spec.ProgressDeadlineSeconds,
			Format(RowTakes, o.deadline.Seconds()))
	} else if scales {
		r.say("progressDeadlineSeconds does not count while a Deployment is scaled: kubectl rollout status waits for " +
			"ever.")
	} else {
		r.say("The run ends %s after the change.", value.Format(limit))
	}
}

// Shown is one of the random runs of a Deployment with its trace.
type Shown struct {
	Title   string // of the Deployment
	Seed    int64
	Change  virtual.Time  // when the change is made; 0: not all pods were available before
	Took    time.Duration // until the rollout is complete; 0: it is not
	Lost    []ServiceLoss // requests since the change, by Service
	End     virtual.Time
	Pods    []*v1.Pod // all of the run
	Records []trace.Record

	recorder trace.Recorder
}

// ServiceLoss is the number of requests to a Service that a run loses.
type ServiceLoss struct {
	Service string
	Lost    float64
}

// Show makes the run with a seed again, for each Deployment: a Report has the seed of the worst
// run. The errors are those of Run.
func Show(ctx context.Context, files, from []input.File, o Options, seed int64) ([]*Shown, error) {
	o.complete()
	workloads, _, err := load(files, from, &o)
	if err != nil {
		return nil, err
	}
	var list []*Shown
	for _, w := range workloads {
		shown, err := w.show(ctx, o.in(w, 0, 1), seed)
		if err != nil {
			return nil, err
		}
		list = append(list, shown)
	}
	return list, nil
}

// show makes a run and keeps its trace.
func (w *workload) show(ctx context.Context, o *Options, seed int64) (*Shown, error) {
	healthy, err := w.healthy(o)
	if err != nil {
		return nil, err
	}
	c := *w
	c.shown = &Shown{Title: w.object().Title(), Seed: seed, recorder: trace.Recorder{Internal: true}}
	out, err := c.simulate(ctx, o, healthy, seed)
	if err != nil {
		return nil, err
	}
	shown := c.shown
	shown.Change, shown.Took, shown.End, shown.Records = out.changed, out.took, out.end, shown.recorder.Records()
	for i, t := range w.counted() {
		shown.Lost = append(shown.Lost, ServiceLoss{t.Name, out.each[i].lost})
	}
	return shown, nil
}

// From returns the full second that is at least as much before the change, or 0.
func (s *Shown) From(before time.Duration) virtual.Time {
	return virtual.At(max(0, s.Change.Offset()-before).Truncate(time.Second))
}

func (w *workload) object() Object {
	return Object{"Deployment", w.spec.Namespace, w.spec.Name, w.file, w.node.Pos.Line}
}
