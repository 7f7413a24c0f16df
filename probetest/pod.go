package probetest

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/podutil"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/scenarios/program"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/world/apiserver/admission"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/format"
	"probesim.dev/scenarios/plan"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// Pod is a pod of a run, from its addition to its removal. AddPod, AddWorkload and RunScenario
// return pods; the zero value belongs to no run, and every matcher returns an error for it.
type Pod struct {
	// Object is the pod that the API server stored when the pod was added, with API defaults.
	Object *v1.Pod

	member
	key  string // namespace/name
	from int    // index of the first record that can be about the pod
}

// Container is a container of a pod, with all its restarts. Get one from Pod.Container.
type Container struct {
	pod  *Pod
	name string
}

// Container returns the container or init container with a name. If the pod does not have one,
// every matcher returns an error that lists the names of the containers.
func (p *Pod) Container(name string) *Container { return &Container{p, name} }

// String returns the name of the pod, as namespace/name unless the namespace is default.
func (p *Pod) String() string {
	if p == nil || p.key == "" {
		return "<no pod>"
	}
	return trace.PodName(p.key)
}

// String returns the name of the pod and the container, such as web/app.
func (c *Container) String() string {
	if c == nil {
		return "<no container>"
	}
	return c.pod.String() + "/" + c.name
}

// GomegaString returns the name of the pod. Gomega prints it in messages in place of the fields.
func (p Pod) GomegaString() string { return p.String() }

// GomegaString returns the name of the container. Gomega prints it in messages in place of the
// fields.
func (c Container) GomegaString() string { return c.String() }

// Records returns the trace records about the pod and its containers, in order, for assertions that
// no matcher of this package covers. Their times are virtual times of the node: they count from
// t=0, not from the addition of the pod.
func (p *Pod) Records() []trace.Record {
	var list []trace.Record
	for _, i := range p.indexes() {
		list = append(list, p.log.records[i])
	}
	return list
}

// containers returns the names of the pod's containers, init containers first.
func (p *Pod) containers() []string { return containerNames(&p.Object.Spec) }

func containerNames(spec *v1.PodSpec) []string {
	var names []string
	for c := range podutil.Containers(spec) {
		names = append(names, c.Name)
	}
	return names
}

// Delete deletes the pod through the API at the current virtual time. The optional argument is the
// grace period in seconds, 0 or more; 0 forces the deletion. Without it, the pod's
// terminationGracePeriodSeconds applies. If the API server does not have the pod, the next call of
// Advance fails the test.
func (p *Pod) Delete(gracePeriodSeconds ...int64) {
	p.tb("Delete").Helper()
	var grace *int64
	switch {
	case len(gracePeriodSeconds) > 1:
		p.tb("Delete").Fatalf("Delete: give one grace period, not %d", len(gracePeriodSeconds))
		return
	case len(gracePeriodSeconds) == 1 && gracePeriodSeconds[0] < 0:
		p.tb("Delete").Fatalf("Delete: the grace period must not be negative, and it is %d s", gracePeriodSeconds[0])
		return
	case len(gracePeriodSeconds) == 1:
		grace = &gracePeriodSeconds[0]
	}
	p.do("Delete", p.title(), func(n *Node) error {
		return n.sim.DeletePod(p.Object.Namespace, p.Object.Name, grace)
	})
}

// Kill ends the container with SIGKILL at the current virtual time, as the OOM killer does: with
// exit code 137 and the reason OOMKilled. If the container is not running, the next call of Advance
// fails the test.
func (c *Container) Kill() {
	if c == nil {
		panic("probetest: Kill: the container is nil: use Pod.Container")
	}
	p := c.pod
	p.tb("Kill").Helper()
	if err := p.requireContainer(c.name); err != nil {
		p.tb("Kill").Fatalf("Kill: %s", err)
		return
	}
	p.do("Kill", p.title(), func(n *Node) error {
		kill := fakeruntime.Kill{PodUID: string(p.Object.UID), Container: c.name, Reason: "OOMKilled"}
		if !n.sim.KillContainer(kill) {
			return fmt.Errorf("the container %s is not running", c)
		}
		return nil
	})
}

// requireContainer returns an error if the pod does not have a container.
func (p *Pod) requireContainer(name string) error {
	if names := p.containers(); !slices.Contains(names, name) {
		return fmt.Errorf("the pod %s has no container %q%s; its containers are: %s", p, name,
			strict.DidYouMean(name, names), strings.Join(names, ", "))
	}
	return nil
}

func (p *Pod) tb(method string) testing.TB {
	if p == nil || p.log == nil {
		panic("probetest: " + method + ": the pod belongs to no node: use a pod that AddPod or AddWorkload returned")
	}
	return p.t
}

func (p *Pod) title() string { return "pod " + p.String() }

// AddPod creates a pod through the API at the current virtual time. The API server sets defaults in
// a copy, so the argument stays unchanged.
//
// The optional behaviors say what the programs in the containers do. If several behaviors have the
// same container, the last one applies. The test fails if the API server would reject the pod, if a
// behavior does not fit the pod, or if the node still has a pod of the same name.
func (n *Node) AddPod(pod *v1.Pod, behavior ...Behavior) *Pod {
	n.tb().Helper()
	if pod == nil {
		n.t.Fatalf("AddPod: the pod is nil")
		return nil
	}
	added := n.add(pod, behavior)
	if added == nil {
		return nil
	}
	return added[0]
}

// AddWorkload adds the pods of a Deployment, StatefulSet, DaemonSet, ReplicaSet, Job or CronJob,
// one for each replica, 100 ms apart. Their names are NAME-0, NAME-1, and so on. As with AddPod,
// errors fail the test, and no controller acts on them: nothing replaces a pod that is deleted. For
// a Deployment that is rolled out, see AddDeployment.
func (n *Node) AddWorkload(w Workload, behavior ...Behavior) []*Pod {
	n.tb().Helper()
	return n.add(w, behavior)
}

func (n *Node) add(w Workload, behavior []Behavior) []*Pod {
	n.t.Helper()
	if !n.usable() {
		return nil
	}
	planned, err := n.compile(w, merged(nil, behavior))
	if err != nil {
		n.t.Fatalf("%s", err)
		return nil
	}
	var added []*Pod
	for i := range planned {
		p := &planned[i]
		key := p.Pod.Namespace + "/" + p.Pod.Name
		if last := n.pods[key]; last != nil && !last.gone() {
			n.t.Fatalf("the node already has a pod %s: delete it and call Advance first, or use another name", last)
			return nil
		}
		added = append(added, n.addPlanned(key, p))
	}
	return added
}

// addPlanned adds a pod. Like the API server, it gives each pod a new UID, even if an earlier pod
// had the same name.
func (n *Node) addPlanned(key string, p *plan.PlannedPod) *Pod {
	if again := n.added[key]; again > 0 {
		p.Pod.UID += types.UID(fmt.Sprintf("-%d", again))
		p.Program.UID = string(p.Pod.UID)
	}
	n.added[key]++
	dropped := admission.DropDisabled(n.profile, p.Pod.Spec.DeepCopy())
	for _, note := range admission.Notes(n.profile, "pod "+trace.PodName(key), "", dropped) {
		n.log.note(note)
	}
	pod := &Pod{Object: p.Pod, member: member{n.t, n, n.log}, key: key, from: len(n.log.records)}
	n.pods[key] = pod
	n.sim.At(p.At.Add(n.Now()), func() {
		if err := n.sim.AddPod(p.Pod, p.Program); err != nil {
			n.fail("the pod %s cannot be added: %s", pod, err)
		}
	})
	return pod
}

// gone reports whether the API server has removed the pod.
func (p *Pod) gone() bool {
	return slices.ContainsFunc(p.indexes(), func(i int) bool { return p.log.records[i].Kind == trace.PodRemoved })
}

// subject is the pod or container that a matcher examines.
type subject struct {
	pod       *Pod
	container string // empty: the pod with all its containers
}

// subjectOf returns the subject of an assertion. It returns an error if every assertion about the
// subject would be vacuous.
func subjectOf(actual any) (*subject, error) {
	s := &subject{}
	ofContainer := false
	switch a := actual.(type) {
	case *Pod:
		s.pod = a
	case Pod:
		s.pod = &a
	case *Container:
		if a != nil {
			s.pod, s.container, ofContainer = a.pod, a.name, true
		}
	case Container:
		s.pod, s.container, ofContainer = a.pod, a.name, true
	default:
		return nil, fmt.Errorf("expected a *probetest.Pod, a *probetest.Container, or a list of them, got a %T", actual)
	}
	if s.pod == nil || s.pod.log == nil {
		return nil, errors.New("the pod is nil: use a pod that AddPod, AddWorkload or RunScenario returned")
	}
	if ofContainer {
		if err := s.pod.requireContainer(s.container); err != nil {
			return nil, err
		}
	}
	if err := s.pod.examine(); err != nil {
		return nil, err
	}
	if len(s.pod.indexes()) == 0 {
		return nil, fmt.Errorf("the pod %s is added later than the time that the run has reached%s", s.pod,
			s.pod.node.more())
	}
	return s, nil
}

// more says how to run the node further. A nil node is that of a complete run.
func (n *Node) more() string {
	switch {
	case n == nil:
		return ": the run is complete"
	case n.sim.Usable() != nil:
		return ", and the node is closed: assert before the test ends"
	}
	return ": call Advance first"
}

// requireOneContainer replaces a pod by its only container. A pod with several containers is an
// error.
func (s *subject) requireOneContainer() error {
	if s.container != "" {
		return nil
	}
	names := s.pod.containers()
	if len(names) > 1 {
		return fmt.Errorf("the pod %s has several containers: assert about one of them with Container: %s", s.pod,
			strings.Join(names, ", "))
	}
	s.container = names[0]
	return nil
}

// indexes returns the indexes of the pod's records in the log. They end where the next pod of the
// same name is added, since containers can outlive their pod in the API.
func (p *Pod) indexes() []int {
	if p == nil || p.log == nil {
		return nil // nil or the zero value
	}
	var list []int
	for i := p.from; i < len(p.log.records); i++ {
		r := &p.log.records[i]
		added := r.Kind == trace.PodAdded
		switch {
		case r.Pod != p.key || !added && list == nil:
		case added && list != nil:
			return list
		default:
			list = append(list, i)
		}
	}
	return list
}

// added returns the virtual time at which the pod was added.
func (s *subject) added() virtual.Time { return s.record(s.pod.indexes()[0]).T }

func (s *subject) record(i int) *trace.Record { return &s.pod.log.records[i] }

// records returns the occurrences of the subject's records that satisfy a predicate.
func (s *subject) records(wanted func(*trace.Record) bool) []occurrence {
	var list []occurrence
	for _, i := range s.pod.indexes() {
		if r := s.record(i); s.about(r) && wanted(r) {
			list = append(list, occurrence{t: r.T, record: i})
		}
	}
	return list
}

func (s *subject) about(r *trace.Record) bool { return s.container == "" || r.Container == s.container }

func (s *subject) String() string {
	if s.container == "" {
		return s.pod.String()
	}
	return s.pod.Container(s.container).String()
}

// Behavior says what the programs in the containers of a pod do. The keys are names of containers.
// A container without rules runs forever and answers every probe with ok.
type Behavior map[string][]Rule

// Rule is one statement about a program: which instances it applies to, when, and what the program
// does then. The fields have the notation of behavior in a scenario file (docs/format.md);
// durations have units, such as "40s" or "1m30s". An empty field is not set. If several rules
// apply, the last one wins. A request that no rule covers gets the answer ok.
//
//	{For: "40s", Probes: "down"}                    // nothing listens in the first 40 s of each instance
//	{After: "60s", For: "6s", Liveness: "stall"}    // a garbage collection pauses the program for 6 s
//	{Instance: "0", After: "2m", Exit: "1"}         // the first instance crashes after two minutes
//	{AfterSigterm: "8s", Exit: "0"}                 // the program takes 8 s to shut down
//
// There is no field for since and until of a scenario file, which wait for moments: a test can wait
// for a moment itself, and change what a Handler answers.
type Rule struct {
	Replica  string // the pods of a workload, such as "1" or "0..2"; empty: all
	Instance string // the instances of the container: "0" is the first, "1.." every restart; empty: all

	After        string // time since the start of the instance: "40s", or with a seed a random one: "40s..50s"
	At           string // time since t=0
	AfterSigterm string // time since the stop signal
	For          string // how long the rule applies; empty: until the end
	Every        string // period in which the rule repeats; needs For
	Chance       string // probability for each request, such as "10%"; without a seed the rule never applies

	Startup   string // answers to the probe: "fail", "ok in 2s", "[ok x3, hang, repeat]"
	Liveness  string
	Readiness string
	Probes    string // answers to each probe whose own field in this rule is empty
	PostStart string
	PreStop   string
	Exit      string // exit code, or "never" with AfterSigterm
	Refuse    bool   // with AfterSigterm: the program closes its listener for new connections

	// Endpoints has answers by endpoint, for all probes and hooks that ask there:
	// "http:8080/healthz", "tcp:5432", "grpc:9000/service" or "exec:cat /tmp/healthy". A port has
	// its number or its name. In place of answers, "{answeredBy: proxy}" names the container of the
	// pod that answers there.
	Endpoints map[string]string

	// Handler responds to the httpGet probes and hooks of the container. A rule with a handler has
	// no answers and no Exit in the fields above.
	//
	// The simulator calls the handler on a goroutine, at the virtual time of the response, and
	// waits for it. The handler must respond without waiting. Its responses must depend only on the
	// requests and on state that the program controls; otherwise runs are not repeatable. A handler
	// that panics, or exceeds NodeOptions.HandlerTimeout, fails the test with its stack. A panic
	// with http.ErrAbortHandler is not a failure: it closes the connection.
	Handler http.Handler
}

// String returns the rule as a mapping of a scenario file, on one line. Files cannot have the
// Handler.
func (r Rule) String() string { return format.RuleText(r).String() }

// text returns the behavior with the rules of package format.
func (b Behavior) text() format.Behavior {
	text := format.Behavior{}
	for _, name := range slices.Sorted(maps.Keys(b)) {
		text[name] = nil
		for _, r := range b[name] {
			text[name] = append(text[name], format.RuleText(r))
		}
	}
	return text
}

// Workload is an API object that creates pods: a Pod, Deployment, StatefulSet, DaemonSet,
// ReplicaSet, Job or CronJob. See Node.AddWorkload.
type Workload = manifests.APIObject

// compile returns the pods that an object creates with the programs in their containers.
func (n *Node) compile(w Workload, b Behavior) ([]plan.PlannedPod, error) {
	pods, err := scenarios.Compile(w, b.text(), scenarios.CompileOptions{Profile: n.profile, Seed: n.options.Seed})
	if _, invalid := err.(scenarios.Errors); invalid {
		kind := reflect.TypeOf(w).Elem().Name()
		return nil, fmt.Errorf("the %s %s cannot be added:\n%w", kind,
			printable.Text(cmp.Or(w.GetName(), w.GetGenerateName())), err)
	}
	if err == nil {
		n.noteHidden(w.GetName(), pods[0].Program, b)
	}
	return pods, err
}

// noteHidden adds a note for each rule that never applies, because a later rule always wins.
func (n *Node) noteHidden(object string, compiled fakeruntime.Pod, b Behavior) {
	for _, container := range slices.Sorted(maps.Keys(b)) {
		rules := b[container]
		for i := range rules {
			if by := program.HiddenBy(compiled.Containers[container].Program.Rules, i); by >= 0 {
				n.log.note(fmt.Sprintf("%s/%s: the rule %s never applies: the later rule %s wins whenever it could",
					object, container, rules[i], rules[by]))
			}
		}
	}
}
