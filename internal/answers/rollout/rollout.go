// Package rollout rolls Deployments out beside a simulated node, and says what that loses, how long
// it takes and what helps. It needs no scenario: the manifests say all but how the program starts
// and stops, and how many requests there are.
package rollout

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/input"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/scenarios/whatif"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
	"probesim.dev/internal/workloads"
	"probesim.dev/internal/world/router"
	"probesim.dev/kube/profile"
	"probesim.dev/trace/traffic"
)

// Options say what is rolled out, and for which nodes. The zero value restarts each Deployment in
// the newest version of Kubernetes, on nodes with the default delays, with programs that start and
// stop at once and no requests.
type Options struct {
	Profile profile.Profile // zero: the newest
	Delays  string          // a set of fakeruntime.DelaySets; others: the default delays
	// Router is a name that router.NamedLoadBalancer knows, or kube-proxy. Empty: what the files
	// put in front of a Deployment, or kube-proxy.
	Router string
	Change Change
	// Replicas, unless nil, replaces the number of replicas of each Deployment.
	Replicas *int32
	App      App
	Rate     float64 // requests a second to the Service of a Deployment
	// Connections are those that clients keep open. The zero value: each request opens its own.
	Connections traffic.Connections
	// Latency is how long a request takes.
	Latency value.Interval
	Require Requirements
	// AllowAnnotations lets a requirement of an annotation such as lost<=5 allow losses, as one of
	// Require does. Without it, annotations can only ask for more.
	AllowAnnotations bool
	// Service, unless empty, is the name of the only Service whose requests are counted.
	// Deployments without it are left out.
	Service string
	// Workload, unless empty, is the name or namespace/name of the only Deployment to roll out.
	Workload string
	// Since are earlier manifests, such as those of a base branch. Unless nil, only the Deployments
	// that they do not have, or have with another spec, other Services or another router, roll out.
	Since []input.File
	// Ignores, unless nil, reports whether the rollouts of a file do not count.
	Ignores func(file string) bool
	// Baseline is an earlier report, whose verdicts are known; nil: none is.
	Baseline *Report
	// Keep keeps the worst run of each Deployment.
	Keep bool
	// Details makes all runs of each Deployment, and not only those of the worst ones.
	Details bool
	// Command is the command line without what chooses a run. Empty: the report has no commands.
	Command string
	// Runs is how many runs a Deployment gets, with the seeds from 0 on. 0: 100, and fewer for more
	// than 3 replicas.
	Runs int
	// Each calls do for 0 to n-1, in parallel or not. The name says what n counts. Nil: one after
	// the other.
	Each func(n int, name string, do func(context.Context, int) error) error
}

// ChangeKind is what starts a rollout.
type ChangeKind string

// The kinds of changes.
const (
	Restart ChangeKind = "restart" // the annotation of kubectl rollout restart, or the template of --from
	Scale   ChangeKind = "scale"
	Undo    ChangeKind = "undo" // back to the template before
)

// Change is what happens to a Deployment. The zero value is a restart.
type Change struct {
	Kind  ChangeKind
	Scale int32 // replicas, of Scale
}

// String returns the change as ParseChange reads it.
func (c Change) String() string {
	switch c.Kind {
	case "":
		return string(Restart)
	case Scale:
		return fmt.Sprintf("scale=%d", c.Scale)
	}
	return string(c.Kind)
}

// ParseChange parses restart, undo or scale=N.
func ParseChange(text string) (Change, error) {
	switch n, scales := strings.CutPrefix(text, "scale="); {
	case scales:
		replicas, err := strconv.ParseInt(n, 10, 32)
		if err != nil || replicas < 0 {
			return Change{}, fmt.Errorf("%s is no number of replicas", strict.Quote(n))
		}
		return Change{Scale, int32(replicas)}, nil
	case text == string(Restart), text == string(Undo):
		return Change{Kind: ChangeKind(text)}, nil
	}
	return Change{}, fmt.Errorf("%s is no change: write restart, undo or scale=N", strict.Quote(text))
}

// Run rolls the Deployments of some files out. From, unless nil, are files with the Deployments
// before the change. The error is of type scenarios.Errors if the manifests are invalid; it is
// ErrNoDeployment if they have none. With Options.Since, the report can have no Deployments. After
// an error of Options.Each, it has those before. The worst Deployments come first.
func Run(files, from []input.File, o Options) (*Report, error) {
	o.complete()
	if err := workloads.KnowContainers(files, slices.Concat(o.App.Start.Names(), o.App.Stop.Names())); err != nil {
		return nil, err
	}
	list, others, err := load(files, from, &o)
	if err != nil {
		return nil, err
	}
	r := &Report{Setting: o.setting(), NotRolledOut: others, Details: o.Details}
	quick := len(list) > Detailed && !o.Details
	for i, w := range list {
		result, err := measure(w, o.in(w, i, len(list)), quick)
		if err != nil && i > 0 {
			r.Left = len(list) - i
			r.sort()
			return r, err
		} else if err != nil {
			return nil, err
		}
		r.Workloads = append(r.Workloads, *result)
		o.excuse(&r.Workloads[i])
	}
	r.sort()
	for i := range r.Workloads {
		result := &r.Workloads[i]
		w := result.of
		own := o.in(w, i, len(list))
		if quick && i < Detailed {
			full, err := measure(w, own, false)
			if err != nil {
				return r, err
			}
			*result = *full
			o.excuse(result)
		}
		if err := w.showWorst(own, result, quick && i >= Detailed, len(list) > 1); err != nil {
			return nil, err
		}
	}
	r.sort()
	return r, nil
}

// showWorst adds the worst run to a result, and the command that shows it.
func (w *workload) showWorst(o *Options, result *Workload, brief, several bool) (err error) {
	if result.Runs == 0 {
		return nil
	}
	if result.Worst.Command = o.command(w, several, result.Worst.Seed); o.Keep && !brief {
		result.Worst.Run, err = w.show(context.Background(), o, result.Worst.Seed)
	}
	return err
}

// Detailed is the number of Deployments, the worst ones, of which a report has the details.
const Detailed = 3

// sort sorts the Deployments, the worst ones first.
func (r *Report) sort() {
	slices.SortStableFunc(r.Workloads, func(a, b Workload) int {
		return cmp.Or(cmp.Compare(b.badness(), a.badness()), cmp.Compare(b.lost(), a.lost()),
			cmp.Compare(b.Outage, a.Outage))
	})
}

// badness orders the Deployments.
func (w *Workload) badness() int {
	if w.Bad() {
		return 10 + w.severity()
	}
	return w.severity()
}

// severity orders the verdicts.
func (w *Workload) severity() int {
	return slices.Index([]Verdict{LosesNone, Loses, MissesDeadline, NeverCompletes, NeverReady}, w.Verdict)
}

// excuse says why the verdict of a Deployment does not count, if it is ignored, or was no better in
// the baseline.
func (o *Options) excuse(w *Workload) {
	if w.Verdict == LosesNone && len(w.Waits) == 0 {
		return
	}
	if w.of.ignored {
		w.Known = "ignored by an annotation or the configuration"
	} else if o.Baseline != nil && slices.ContainsFunc(o.Baseline.Workloads, func(before Workload) bool {
		return before.Title() == w.Title() && before.severity() >= w.severity() && len(before.Waits) >= len(w.Waits) &&
			(before.lost() >= w.lost() || before.Runs < w.Runs)
	}) {
		w.Known = "in the baseline"
	}
}

// ignores reports whether the options, or an annotation of a Deployment or of its template that may
// ask for less, say that its rollout does not count.
func (o *Options) ignores(n *strict.Node, file string) bool {
	is := o.Ignores != nil && o.Ignores(file)
	for _, object := range []*strict.Node{n, n.Find("spec.template")} {
		text := object.Find("metadata.annotations").Field(workloads.IgnoreAnnotation).Value
		is = is || o.AllowAnnotations && slices.Contains(strings.FieldsFunc(text, func(r rune) bool {
			return r == ',' || r == ' '
		}), "rollout")
	}
	return is
}

// lost returns how many requests the Deployment loses in the worst run.
func (w *Workload) lost() float64 {
	if w.Lost == nil {
		return 0
	}
	return w.Lost.Greatest
}

// in returns the options for a workload, the one with an index of some.
func (o *Options) in(w *workload, index, of int) *Options {
	own := *o
	own.App, own.Router = o.App.in(w.spec.Namespace, w.spec.Name), w.router.Name
	if of > 1 {
		own.Each = func(n int, name string, do func(context.Context, int) error) error {
			return o.Each(n, fmt.Sprintf("%s of %s (%d of %d)", name, w.object().Title(), index+1, of), do)
		}
	}
	return &own
}

func (o *Options) complete() {
	if o.Profile.Version == "" {
		o.Profile = profile.Newest()
	}
	if o.Each == nil {
		o.Each = func(n int, _ string, do func(context.Context, int) error) error {
			for i := range n {
				if err := do(context.Background(), i); err != nil {
					return err
				}
			}
			return nil
		}
	}
}

// load reads and checks the manifests. It also returns the names of the workloads that are not
// rolled out yet.
func load(files, from []input.File, o *Options) (list []*workload, others []string, err error) {
	errs := &strict.Collector{}
	var old []*workload
	if from != nil {
		before := reader{o: o, errs: errs}
		before.read(from)
		old = append([]*workload{}, before.workloads...)
	}
	r := &reader{o: o, errs: errs}
	r.read(files)
	if len(r.workloads) > 0 {
		others = r.passOver(files)
	}
	for _, m := range r.others {
		pos := m.Node.Pos
		others = append(others, fmt.Sprintf("%s (%s:%d)", manifests.Title(kindOf(m.Node), m.Namespace(), m.Name),
			pos.File, pos.Line))
	}
	if len(r.workloads) == 0 && errs.Len() == 0 {
		for _, m := range r.others {
			m.Node.Field("kind").Errorf("a %s is not rolled out yet: only Deployments are", kindOf(m.Node))
		}
		for _, n := range r.around.others {
			kind := n.Field("kind")
			kind.ErrorIf(kind.Value == "Rollout", "a %s is not rolled out yet: only Deployments are", kindOf(n))
		}
		if errs.Len() == 0 {
			return nil, nil, ErrNoDeployment
		}
	}
	others = append(others, r.leadNowhere()...)
	others = append(others, r.leaveOut(old)...)
	r.reach()
	if o.Since != nil {
		if n := r.leaveUnchanged(o.Since); n > 0 {
			others = append(others, printable.Count(n, "Deployment")+" without a change")
		}
	}
	r.check(old)
	if err := errs.Err(); err != nil || len(r.workloads) == 0 {
		return nil, others, err
	}
	list, err = o.choose(r.workloads)
	return list, others, err
}

// kindOf returns the kind of an object, with the group of a custom resource: the kind of a Service
// of Knative is no Service.
func kindOf(n *strict.Node) string {
	kind, version := n.Field("kind").Value, n.Field("apiVersion").Value
	if manifests.IsCustom(version) {
		kind += " of " + version
	}
	return kind
}

// command returns the command that shows a run of a workload of several.
func (o *Options) command(w *workload, several bool, seed int64) string {
	if o.Command == "" {
		return ""
	}
	text := o.Command
	if several {
		text += " --workload " + w.spec.Namespace + "/" + w.spec.Name
	}
	return fmt.Sprintf("%s --seed %d", text, seed)
}

// App says how programs start and stop, and what else happens. It is about the containers that are
// not sidecars, or about one by its name.
type App struct {
	Start value.Durations // until the program accepts connections; not known: at once
	Stop  value.Durations // from SIGTERM to the exit; not known: DefaultStop in the container that serves
	// Refuse is how long after SIGTERM the program goes on to accept connections; not known: not at
	// all; Never: until it exits.
	Refuse value.Durations
	// Others are events in the programs and on the node. Their times with at count from the change.
	Others []*whatif.Event
}

// DefaultStop is how long the program that serves takes from SIGTERM to its exit, if nobody knows.
const DefaultStop = 100 * time.Millisecond

// Never is longer than any run.
const Never = 1000 * time.Hour

// Add adds an event. The changes of a Deployment are no part of an App.
func (a *App) Add(e *whatif.Event) error {
	to := map[string]*value.Durations{whatif.Start: &a.Start, whatif.Stop: &a.Stop, whatif.Refuse: &a.Refuse}[e.What]
	if to == nil {
		a.Others = append(a.Others, e)
		return nil
	}
	takes := value.Interval{Min: Never, Max: Never}
	if !e.Never {
		takes = value.Interval(*e.Length)
	}
	if !to.Set(e.Container, takes) {
		return fmt.Errorf("%s is there twice", e.What)
	}
	return nil
}

// in returns what is known of the programs of a workload.
func (a App) in(namespace, name string) App {
	for _, known := range []*value.Durations{&a.Start, &a.Stop, &a.Refuse} {
		*known = known.Within(namespace, name)
	}
	return a
}

// neverStarts reports whether the new pods are never Ready.
func (a *App) neverStarts() bool { return a.Start.Ordinary != nil && a.Start.Ordinary.Min >= Never }

// refuse returns how long after SIGTERM the program in a container goes on to accept connections.
func (a *App) refuse(container string) value.Interval {
	if known := a.Refuse.In(container, true); known != nil {
		return *known
	}
	return value.Interval{}
}

// String says in words how the program starts and stops.
func (a *App) String() string {
	start, refuse, stop := "is up at once", "refuses connections at SIGTERM", value.Format(DefaultStop)+" later"
	if text := words(a.Start); text != "" {
		start = "is up after " + text
	}
	if a.neverStarts() {
		start = "is never up in new pods"
	}
	switch i := a.refuse(""); {
	case i.Min >= Never:
		refuse = "accepts connections until it exits"
	case i.Max > 0:
		refuse = "refuses connections " + i.String() + " after SIGTERM"
	}
	if text := words(a.Stop); text != "" {
		stop = text + " after SIGTERM"
	} else if a.refuse("").Max > 0 {
		stop = value.Format(DefaultStop) + " after SIGTERM"
	}
	text := "The program " + start + ", " + refuse + ", and exits " + stop + "."
	for _, e := range a.Others {
		text += " " + e.Text + "."
	}
	return text
}

// words returns what is known of some containers.
func words(d value.Durations) string {
	var list []string
	written := func(i value.Interval) string {
		if i.Min >= Never {
			return "no time"
		}
		return value.Draw(i).String()
	}
	if d.Ordinary != nil {
		list = append(list, written(*d.Ordinary))
	}
	for _, name := range d.Names() {
		list = append(list, written(d.Of[name])+" in container "+name)
	}
	return strings.Join(list, ", ")
}

// control returns the latencies of the control plane beside a kind of node. Without a kind of node
// they are nil: the defaults of package node.
func (o *Options) control() *fakeruntime.ControlDelays {
	set, ok := fakeruntime.ControlDelaySet(o.Delays)
	if !ok {
		return nil
	}
	return &set
}

// longest returns the longest latencies of a watch, a call and a sync.
func (o *Options) longest() (watch, call, sync time.Duration) {
	if set := o.control(); set != nil {
		return set.Watch.Max, set.Call.Max, set.Sync.Max
	}
	// the greatest defaults of package node, rounded up
	return 13 * time.Millisecond, 8 * time.Millisecond, 100 * time.Millisecond
}

// routing returns the router.
func (o *Options) routing() router.LoadBalancer {
	if named, is := router.NamedLoadBalancer(o.Router); is {
		return named.LoadBalancer
	}
	return router.Default
}

// balancer returns the router if it is a load balancer, which takes a time of its own to add and to
// remove each pod.
func (o *Options) balancer() (router.LoadBalancer, bool) {
	if r := o.routing(); !r.Syncs {
		return r, true
	}
	return router.LoadBalancer{}, false
}

// nodes returns the latencies of the nodes.
func (o *Options) nodes() fakeruntime.Delays {
	set, _ := fakeruntime.DelaySet(o.Delays)
	return set
}
