package probetest

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega/types"
	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/gomegacall"
	"probesim.dev/internal/show/why"
	"probesim.dev/internal/value"
	"probesim.dev/internal/world/apiserver/admission"
	"probesim.dev/internal/world/router"
	"probesim.dev/node"
	"probesim.dev/scenarios/format"
	"probesim.dev/scenarios/plan"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
	"probesim.dev/trace/traffic"
)

// Deployment is a Deployment whose pods the controllers of a node create: web-1-0, web-1-1 and so
// on, and web-2-0 after the first change of the template. AddDeployment and ScenarioRun.Deployment
// return Deployments.
//
// Its methods act at the current virtual time, as soon as Advance is called next. If a change is
// not possible, that call fails the test.
type Deployment struct {
	object
	pods     []*Pod
	behavior Behavior
	current  *plan.PlannedPod         // the programs of the next new ReplicaSet
	sets     map[int]*plan.PlannedPod // those of the ReplicaSets that exist, by number
}

// AddDeployment creates a Deployment through the API at the current virtual time. The node needs
// NodeOptions.ControlPlane. The behaviors say what the programs of its pods do, as in AddPod. The
// test fails if the API server would reject the Deployment, if a behavior does not fit, or if there
// is a Deployment of that name.
func (n *Node) AddDeployment(d *appsv1.Deployment, behavior ...Behavior) *Deployment {
	n.tb().Helper()
	if !n.controlled("AddDeployment", d == nil) {
		return nil
	}
	added := &Deployment{object: n.object("Deployment", d), behavior: merged(nil, behavior),
		sets: map[int]*plan.PlannedPod{}}
	var err error
	if added.current, err = n.programs(d, added.behavior); err == nil {
		_, err = admission.AdmitDeployment(n.profile, d)
	}
	if err != nil {
		n.t.Fatalf("AddDeployment: %s", err)
		return nil
	}
	d = d.DeepCopy()
	n.rolled = append(n.rolled, added)
	n.later("AddDeployment of the "+added.String(), func() error { return n.sim.AddWorkload(d, added.program) })
	return added
}

// controlled reports whether the node can take an object of a control plane. If it cannot, it fails
// the test.
func (n *Node) controlled(method string, isNil bool) bool {
	n.t.Helper()
	switch {
	case !n.usable():
	case n.options.ControlPlane == nil:
		n.t.Fatalf("%s: the node has no control plane: use NodeOptions{ControlPlane: &ControlPlane{}}", method)
	case isNil:
		n.t.Fatalf("%s: the object is nil", method)
	default:
		return true
	}
	return false
}

func (n *Node) object(kind string, o metav1.Object) object {
	namespace := o.GetNamespace()
	if namespace == "" {
		namespace = v1.NamespaceDefault
	}
	return object{member: member{n.t, n, n.log}, kind: kind, namespace: namespace, name: o.GetName()}
}

// merged returns the behaviors of all containers. The last one of a container applies.
func merged(b Behavior, more []Behavior) Behavior {
	all := maps.Clone(b)
	if all == nil {
		all = Behavior{}
	}
	for _, b := range more {
		maps.Copy(all, b)
	}
	return all
}

// programs returns a pod of a Deployment with the programs in its containers.
func (n *Node) programs(d *appsv1.Deployment, b Behavior) (*plan.PlannedPod, error) {
	one := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: d.Name, Labels: d.Labels},
		Spec: *d.Spec.DeepCopy()}
	one.Spec.Replicas = new(int32(1))
	planned, err := n.compile(one, b)
	if err != nil {
		return nil, err
	}
	return &planned[0], nil
}

// program returns the program of a pod that a controller has created. It has the name web-2-0.
func (d *Deployment) program(pod *v1.Pod) fakeruntime.Pod {
	d.pods = append(d.pods, &Pod{Object: pod, member: d.member, key: pod.Namespace + "/" + pod.Name})
	set, ordinal, _ := strings.Cut(strings.TrimPrefix(pod.Name, d.name+"-"), "-")
	number, _ := strconv.Atoi(set)
	program := d.current.Program
	if of := d.sets[number]; of != nil {
		program = of.Program
	}
	program.Workload = d.name + "-" + set
	program.Replica, _ = strconv.Atoi(ordinal)
	return program
}

// replicaSetChanged gives a new ReplicaSet the programs that its Deployment has now.
func (d *Deployment) replicaSetChanged(r *trace.Record) {
	if r.Kind != trace.WorkloadChanged {
		return
	}
	name, isSet := strings.CutPrefix(r.Object.Name, "ReplicaSet "+d.key()+"-")
	if number, err := strconv.Atoi(name); isSet && err == nil && d.sets[number] == nil {
		d.sets[number] = d.current
	}
}

// Pods returns the pods that the Deployment has had so far, in the order of their creation.
func (d *Deployment) Pods() []*Pod {
	if d == nil {
		return nil
	}
	return append([]*Pod(nil), d.pods...)
}

// Update changes the spec of the Deployment, as kubectl apply does; a changed template begins a
// rollout. The behaviors are those of the pods with the new template; containers that they do not
// name behave as before. A change without an effect fails the test.
func (d *Deployment) Update(change func(*appsv1.DeploymentSpec), behavior ...Behavior) {
	d.t.Helper()
	d.do("Update", func(n *Node) error { return d.update(n, change, behavior) })
}

// Restart begins a rollout of the same template, as kubectl rollout restart does.
func (d *Deployment) Restart() {
	d.t.Helper()
	d.set("Restart", func(spec *appsv1.DeploymentSpec) {
		metav1.SetMetaDataAnnotation(&spec.Template.ObjectMeta, format.RestartedAt, trace.FormatTime(d.node.sim.Now()))
	})
}

// Scale changes the number of replicas.
func (d *Deployment) Scale(replicas int) {
	d.t.Helper()
	d.set("Scale", func(spec *appsv1.DeploymentSpec) { spec.Replicas = new(int32(replicas)) })
}

// Undo goes back to the template of the revision before, as kubectl rollout undo does. Its
// ReplicaSet keeps the behavior that it had.
func (d *Deployment) Undo() {
	d.t.Helper()
	d.do("Undo", func(n *Node) error { return n.sim.UndoWorkload(d.namespace, d.name, 0) })
}

// Pause stops a rollout in progress, and keeps later changes from beginning one, until Resume.
func (d *Deployment) Pause() {
	d.t.Helper()
	d.set("Pause", func(spec *appsv1.DeploymentSpec) { spec.Paused = true })
}

// Resume goes on with the rollout of a Deployment that Pause has stopped.
func (d *Deployment) Resume() {
	d.t.Helper()
	d.set("Resume", func(spec *appsv1.DeploymentSpec) { spec.Paused = false })
}

// set is Update for another method.
func (d *Deployment) set(method string, change func(*appsv1.DeploymentSpec)) {
	d.t.Helper()
	d.do(method, func(n *Node) error { return d.update(n, change, nil) })
}

// update changes the Deployment as the API has it.
func (d *Deployment) update(n *Node, change func(*appsv1.DeploymentSpec), behavior []Behavior) error {
	old, err := n.sim.Workload(d.namespace, d.name)
	if err != nil {
		return err
	}
	var patch []byte
	changed := old.DeepCopy()
	change(&changed.Spec)
	switch patch, err = admission.Diff(old, changed); {
	case err != nil:
		return err
	case string(patch) == "{}":
		return errors.New("the change has no effect: the Deployment is already like that")
	}
	behaves, spec := maps.Clone(d.behavior), &changed.Spec.Template.Spec
	maps.DeleteFunc(behaves,
		func(container string, _ []Rule) bool { return !slices.Contains(containerNames(spec), container) })
	behaves = merged(behaves, behavior)
	programs, err := n.programs(changed, behaves)
	if err != nil {
		return err
	}
	if err := n.sim.PatchWorkload(d.namespace, d.name, patch); err != nil {
		return err
	}
	d.current, d.behavior = programs, behaves
	return nil
}

// unready returns the names of the pods that are there and not Ready now.
func (d *Deployment) unready() string {
	var names []string
	for _, p := range d.pods {
		s := &subject{pod: p}
		if all := s.statuses(); len(all) > 0 && !p.gone() && !s.ready(all[len(all)-1].status) {
			names = append(names, p.String())
		}
	}
	return strings.Join(names, ", ")
}

// state is the state of a Deployment from the time of a record on.
type state struct {
	occurrence
	*trace.Workload
}

// states returns the states of the Deployment, in order.
func (d *Deployment) states() []state {
	var list []state
	for i := range d.log.records {
		if r := &d.log.records[i]; r.Kind == trace.WorkloadChanged && r.Object.Name == "Deployment "+d.key() {
			list = append(list, state{occurrence{t: r.T, record: i}, r.Object.Workload})
		}
	}
	return list
}

// deploymentOf returns the Deployment of an assertion, or an error if the assertion would be
// vacuous.
func deploymentOf(actual any) (*Deployment, []state, error) {
	d, ok := actual.(*Deployment)
	if !ok {
		return nil, nil, fmt.Errorf("expected a *probetest.Deployment, got a %T", actual)
	}
	if d == nil {
		return nil, nil, errNoObject
	}
	if err := d.examine(); err != nil {
		return nil, nil, err
	}
	states := d.states()
	if len(states) == 0 {
		return nil, nil, fmt.Errorf("the %s is not created yet%s", d, d.node.more())
	}
	return d, states, nil
}

var errNoObject = errors.New("the object is nil: use one that AddDeployment, AddService or a ScenarioRun returned")

// member is a part of a run.
type member struct {
	t    testing.TB
	node *Node // nil if the run is complete
	log  *log  // nil: it belongs to no run
}

// examine returns an error if every assertion about the member would be vacuous.
func (m *member) examine() error {
	if n := m.node; n != nil {
		n.reached()
		if len(n.due) > 0 && !n.running.Load() {
			return fmt.Errorf("%s has not happened yet%s", n.due[0].what, n.more())
		}
	}
	if m.log.end == 0 {
		return errors.New("no virtual time has passed yet" + m.node.more())
	}
	return nil
}

// do calls f at the current virtual time.
func (m *member) do(method, name string, f func(*Node) error) {
	m.t.Helper()
	if m.node == nil {
		m.t.Fatalf("%s: the run of the %s is complete: RunScenario runs a scenario to its end. Add a step to the "+
			"scenario, or use NewNode.", method, name)
		return
	}
	m.node.later(method+" of the "+name, func() error { return f(m.node) })
}

// object is a Deployment or a Service of a run.
type object struct {
	member
	kind            string // Deployment
	namespace, name string
}

// String returns the kind and the name, such as "Deployment web".
func (o *object) String() string {
	if o == nil || o.log == nil {
		return "<no object>"
	}
	return o.kind + " " + trace.PodName(o.key())
}

// GomegaString returns the kind and the name. Gomega prints it in messages in place of the fields.
func (o *object) GomegaString() string { return o.String() }

func (o *object) key() string { return o.namespace + "/" + o.name }

// examine returns an error if every assertion about the object would be vacuous.
func (o *object) examine() error {
	if o == nil || o.log == nil {
		return errNoObject
	}
	return o.member.examine()
}

// do calls f at the current virtual time.
func (o *object) do(method string, f func(*Node) error) {
	if o == nil || o.log == nil {
		panic("probetest: " + method + ": the object belongs to no node: use one that AddDeployment or AddService " +
			"returned")
	}
	o.t.Helper()
	o.member.do(method, o.String(), f)
}

// later calls f at the current virtual time, when Advance is called next. An error ends the run.
func (n *Node) later(what string, f func() error) {
	n.t.Helper()
	n.at(n.now(), what, func(*node.Node) {
		if err := f(); err != nil {
			n.fail("%s at %s: %s", what, trace.FormatTime(virtual.At(n.now())), err)
		}
	})
}

// Requests is a stream of requests to a Service. The zero value is one request a second through
// kube-proxy that takes no time.
type Requests struct {
	Rate float64 // a second; 0: 1
	// Least and Most bound how long a request takes. Most may be 0 if all take Least.
	Least, Most time.Duration
	// Router sends the requests to the pods: kube-proxy, or one of ControlPlane.LoadBalancers.
	// Empty: kube-proxy.
	Router string
	// Container serves the requests. Empty: a pod serves while any of its containers runs.
	Container string
	// Connections are those that clients keep open. The zero value: each request opens its own.
	Connections traffic.Connections
}

// Service is a Service that gets requests. AddService and ScenarioRun.Service return Services.
type Service struct {
	object
	streams []traffic.Entry
}

// AddService creates a Service through the API at the current virtual time, and sends requests to
// the pods that it selects, from the time on when a router has the first one, or from the first
// change of a Deployment on; all are lost if there is neither. The node needs
// NodeOptions.ControlPlane. Requests are new connections, evenly spread over the pods; requests
// over connections that clients keep open are not counted.
func (n *Node) AddService(s *v1.Service, requests ...Requests) *Service {
	n.tb().Helper()
	if !n.controlled("AddService", s == nil) {
		return nil
	}
	added := &Service{object: n.object("Service", s)}
	_, err := admission.AdmitService(s)
	for _, r := range requests {
		var entry traffic.Entry
		if entry, err = n.entry(added, r); err != nil {
			break
		}
		added.streams = append(added.streams, entry)
	}
	if err != nil {
		n.t.Fatalf("AddService: %s", err)
		return nil
	}
	s = s.DeepCopy()
	n.later("AddService of the "+added.String(), func() error {
		for _, entry := range added.streams {
			if err := n.sim.SendRequests(entry); err != nil {
				return err
			}
		}
		return n.sim.AddService(s)
	})
	return added
}

// entry returns a stream of requests, or an error if it is not possible.
func (n *Node) entry(s *Service, r Requests) (traffic.Entry, error) {
	routers := []string{router.KubeProxy}
	for _, of := range n.options.ControlPlane.LoadBalancers {
		routers = append(routers, of.Name)
	}
	name := cmp.Or(r.Router, router.KubeProxy)
	switch {
	case r.Rate < 0 || r.Least < 0 || r.Most < 0 || r.Most != 0 && r.Most < r.Least:
		return traffic.Entry{}, fmt.Errorf("the Requests %+v have a negative number, or take at most less than at "+
			"least", r)
	case !slices.Contains(routers, name):
		return traffic.Entry{}, fmt.Errorf("there is no router %q; the routers are: %s", name,
			strings.Join(routers, ", "))
	}
	return traffic.Entry{
		Service: s.key(), Router: name, Rate: cmp.Or(r.Rate, 1), Least: r.Least, Most: max(r.Least, r.Most),
		Container: r.Container, Connections: r.Connections,
	}, nil
}

// LostRequests returns how many requests are lost until the present time, or until the end of the
// run. Requests are a fluid, so it can be a fraction.
func (s *Service) LostRequests() float64 {
	sum := 0.0
	for _, l := range s.losses() {
		sum += l.Lost
	}
	return sum
}

// losses returns the losses of the Service, in the order in which they begin.
func (s *Service) losses() (list []why.Race) {
	if s == nil || s.log == nil {
		return nil
	}
	records := s.log.records
	if s.node != nil {
		s.node.reached()
		records = append(slices.Clip(records), s.fold().Unserved(s.log.end)...) // those of a scenario have them
	}
	run := why.New(records, nil, s.log.end)
	for number := range run.Losses() {
		if l, _ := run.Lost(number + 1); l.Service == s.key() {
			list = append(list, l)
		}
	}
	return list
}

// sent returns how many requests are sent to the Service.
func (s *Service) sent() float64 { return s.fold().Sent(s.log.end) }

// fold follows the requests to the Service again.
func (s *Service) fold() *traffic.Fold {
	f := traffic.New(s.streams...)
	for i := range s.log.records {
		f.Observe(&s.log.records[i])
	}
	return f
}

// HaveKeptReady succeeds if at least so many pods of a *Deployment were Ready all the time, from
// the first time on at which so many were: readyReplicas in its status never fell below.
//
//	Expect(web).To(HaveKeptReady(3))
func HaveKeptReady(pods int) *HaveKeptReadyMatcher {
	m := &HaveKeptReadyMatcher{pods: pods}
	m.function, m.judge = "HaveKeptReady", m
	return m
}

// HaveKeptReadyMatcher is the type of HaveKeptReady.
type HaveKeptReadyMatcher struct {
	matcher
	pods int
}

func (m *HaveKeptReadyMatcher) expected(to string) string {
	if m.pods == 1 {
		return to + "have kept 1 pod Ready"
	}
	return fmt.Sprintf("%shave kept %d pods Ready", to, m.pods)
}

func (m *HaveKeptReadyMatcher) examine(actual any) (bool, *finding, error) {
	d, states, err := deploymentOf(actual)
	if err != nil {
		return false, nil, err
	}
	if m.pods < 1 {
		return false, nil, errors.New("HaveKeptReady(0) holds for every run: use 1 or more")
	}
	var since *state    // from which on so many are Ready; nil: never
	fewest := states[0] // after that, or the most if they never were
	for _, s := range states {
		switch ready := int(s.Ready); {
		case since == nil && ready >= m.pods:
			since, fewest = &s, s
		case since == nil && s.Ready > fewest.Ready, since != nil && s.Ready < fewest.Ready:
			fewest = s
		}
	}
	at := trace.FormatTime(fewest.t)
	var got string
	switch {
	case since == nil:
		got = fmt.Sprintf("So many never were: the most were %d, at %s", fewest.Ready, at)
	case fewest.t == since.t:
		got = fmt.Sprintf("At least %d were, from %s on", fewest.Ready, at)
	default:
		got = fmt.Sprintf("From %s on, the fewest were %d, at %s", trace.FormatTime(since.t), fewest.Ready, at)
	}
	return int(fewest.Ready) >= m.pods, d.finding(got, fewest.t, []int{fewest.record}), nil
}

// HaveRolledOutWithin succeeds if the last change of the spec of a *Deployment, or its creation, is
// complete within a time after it: all replicas have the new template and are available, and none
// has an old one, as 'kubectl rollout status' waits for.
//
//	web.Restart()
//	n.Advance(5 * time.Minute)
//	Expect(web).To(HaveRolledOutWithin(2 * time.Minute))
func HaveRolledOutWithin(d time.Duration) *HaveRolledOutWithinMatcher {
	m := &HaveRolledOutWithinMatcher{within: d}
	m.function, m.judge = "HaveRolledOutWithin", m
	return m
}

// HaveRolledOutWithinMatcher is the type of HaveRolledOutWithin.
type HaveRolledOutWithinMatcher struct {
	matcher
	within time.Duration
}

func (m *HaveRolledOutWithinMatcher) expected(to string) string {
	return to + "have rolled out within " + value.Format(m.within)
}

func (m *HaveRolledOutWithinMatcher) examine(actual any) (bool, *finding, error) {
	d, states, err := deploymentOf(actual)
	if err != nil {
		return false, nil, err
	}
	var r rollout
	for _, s := range states {
		switch {
		case r.change.Workload == nil || s.Generation != r.change.Generation:
			r = rollout{s, s}
		case !r.complete():
			r.last = s
		}
	}
	due := r.change.t.Add(min(m.within, MaxTime))
	center := r.last.t
	if !r.complete() {
		if due > d.log.end {
			return false, nil, fmt.Errorf("the time ends %s after the change, at %s, but the run has only reached %s%s",
				value.Format(m.within), trace.FormatTime(due), trace.FormatTime(d.log.end), d.node.more())
		}
		center = due
	}
	return r.complete() && r.last.t <= due, d.finding(r.describe(d), center, []int{r.change.record, r.last.record}), nil
}

// rollout is the last rollout of a Deployment.
type rollout struct {
	change state // that began it
	last   state // the first complete state after it, or the last one
}

func (r *rollout) complete() bool {
	return r.last.Generation == r.change.Generation && r.last.Complete()
}

// describe says how long the rollout took, or where it stands.
func (r *rollout) describe(d *Deployment) string {
	began := "the change at " + trace.FormatTime(r.change.t)
	w := r.last.Workload
	if r.complete() {
		took := value.Format(r.last.t.Sub(r.change.t))
		return fmt.Sprintf("It was complete %s after %s, at %s", took, began, trace.FormatTime(r.last.t))
	}
	text := fmt.Sprintf("It is not complete after %s: %d replicas, %d updated, %d Ready, %d available, %d old",
		began, w.Desired, w.Updated, w.Ready, w.Available, w.Replicas-w.Updated)
	if c := w.Condition("Progressing"); c.Reason != "" {
		text += "; Progressing is " + c.Status + " (" + c.Reason + ")"
	}
	if names := d.unready(); names != "" {
		text += "; not Ready: " + names
	}
	return text
}

// HaveLostRequests succeeds if so many of the requests to a *Service are lost. The number is an
// int, to which the number of lost requests is rounded (0 means that not even a part of one is
// lost), or a Gomega matcher of a float64.
//
//	Expect(shop).To(HaveLostRequests(0))
//	Expect(shop).To(HaveLostRequests(BeNumerically("<", 20)))
func HaveLostRequests(number any) *HaveLostRequestsMatcher {
	m := &HaveLostRequestsMatcher{number: number}
	m.function, m.judge = "HaveLostRequests", m
	return m
}

// HaveLostRequestsMatcher is the type of HaveLostRequests.
type HaveLostRequestsMatcher struct {
	matcher
	number any
}

func (m *HaveLostRequestsMatcher) examine(actual any) (bool, *finding, error) {
	s, ok := actual.(*Service)
	switch {
	case !ok:
		return false, nil, fmt.Errorf("expected a *probetest.Service, got a %T", actual)
	case s == nil:
		return false, nil, errNoObject
	}
	if err := s.examine(); err != nil {
		return false, nil, err
	}
	switch {
	case len(s.streams) == 0:
		return false, nil, fmt.Errorf("no requests are sent to the %s: give AddService some Requests", s)
	case s.sent() == 0:
		return false, nil, fmt.Errorf("no request has been sent to the %s yet%s", s, s.node.more())
	}
	if err := possible[int]("a number", "an int", m.number); err != nil {
		return false, nil, err
	}
	lost := s.LostRequests()
	ok, err := matches(m.number, lost, func(n int) bool { return n == int(math.Round(lost)) && (n > 0 || lost < 1e-6) })
	return ok, s.lossFinding(), err
}

func (m *HaveLostRequestsMatcher) expected(to string) string {
	if n, is := m.number.(types.GomegaMatcher); is {
		return to + "have lost a number of requests that matches " + gomegacall.Of(n)
	}
	return fmt.Sprintf("%shave lost %v requests", to, m.number)
}

// lossFinding describes how many requests are lost, why and when.
func (s *Service) lossFinding() *finding {
	losses := s.losses()
	if len(losses) == 0 {
		return s.finding(fmt.Sprintf("None of %.0f requests is lost", s.sent()), s.log.end, nil)
	}
	var marks []int
	var pods []string
	first := losses[0].From
	text := fmt.Sprintf("%s of %.0f requests are lost, the first at %s:",
		strings.TrimSuffix(fmt.Sprintf("%.1f", s.LostRequests()), ".0"), s.sent(), trace.FormatTime(first))
	for i, l := range losses {
		if i < maxTimes {
			text += fmt.Sprintf("\n    %s, by %s", l.Text, l.Router)
		}
		if l.From == first {
			pods = append(pods, l.Pod)
		}
		marks = append(marks, slices.IndexFunc(s.log.records, func(r trace.Record) bool {
			return r.Kind == trace.LossStarted && r.T == l.From && r.Pod == l.Pod
		}))
	}
	if more := len(losses) - maxTimes; more > 0 {
		text += fmt.Sprintf("\n    and %d more", more)
	}
	return s.finding(text, first, marks, pods...)
}
