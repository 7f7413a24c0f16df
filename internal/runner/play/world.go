package play

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/runner/play/manifest"
	"probesim.dev/internal/scenarios/drive"
	"probesim.dev/internal/world/apiserver/admission"
	"probesim.dev/scenarios/plan"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// world is a cluster as the driver of a scenario sees it. The driver, the watches and the logs take
// turns: only the goroutine of run uses the fields.
type world struct {
	drive.World // nil: manifest.Refuse has refused what needs the other methods
	ctx         context.Context
	cluster     *Cluster
	namespace   string
	stage       manifest.Stage
	plan        *plan.Plan
	zero        time.Time
	until       virtual.Time // the end of the run
	turns       chan func()
	end         context.CancelFunc      // ends the logs of the run
	fail        context.CancelCauseFunc // ends all runs with an error that is none of the scenario

	due       []due // by time
	records   []trace.Record
	observers []func(*trace.Record)
	pods      map[string]*pod   // by the name on the cluster
	seen      map[string]object // other objects, by kind and name
	workloads []*workload
	node      Node // what the starts of containers took
}

func newWorld(ctx context.Context, fail context.CancelCauseFunc, c *Cluster, namespace string, stage manifest.Stage,
	p *plan.Plan) *world {
	ctx, end := context.WithCancel(ctx)
	return &world{ctx: ctx, end: end, fail: fail, cluster: c, namespace: namespace, stage: stage, plan: p,
		turns: make(chan func(), 64), pods: map[string]*pod{}, seen: map[string]object{}, node: Node{}}
}

func (w *world) now() virtual.Time { return virtual.At(time.Since(w.zero)) }

// turn calls f in the goroutine of run, unless the run is over.
func (w *world) turn(f func()) {
	select {
	case w.turns <- f:
	case <-w.ctx.Done():
	}
}

// Record adds a record with the current time.
func (w *world) Record(r trace.Record) int64 { return w.recordAt(w.now(), r) }

func (w *world) recordAt(t virtual.Time, r trace.Record) int64 {
	r.T, r.Step = t, int64(len(w.records)+1)
	w.records = append(w.records, r)
	for _, f := range w.observers {
		f(&r)
	}
	return r.Step
}

// At leaves out what comes after the end of the run.
func (w *world) At(t virtual.Time, do func()) {
	if t <= w.until {
		w.at(t, do)
	}
}

func (w *world) at(t virtual.Time, do func()) {
	i := len(w.due)
	for i > 0 && w.due[i-1].at > t {
		i--
	}
	w.due = slices.Insert(w.due, i, due{t, do})
}

// due is what to do at a time.
type due struct {
	at virtual.Time
	do func()
}

// run takes turns until a time of the run, or until its context is done.
func (w *world) run(until virtual.Time) {
	for w.ctx.Err() == nil && w.now() < until {
		for len(w.due) > 0 && w.due[0].at <= w.now() {
			next := w.due[0].do
			w.due = w.due[1:]
			next()
		}
		wake := until
		if len(w.due) > 0 {
			wake = min(wake, w.due[0].at)
		}
		timer := time.NewTimer(max(0, wake.Sub(w.now())))
		select {
		case f := <-w.turns:
			f()
		case <-timer.C:
		case <-w.ctx.Done():
		}
		timer.Stop()
	}
}

func (w *world) Observe(f func(*trace.Record)) { w.observers = append(w.observers, f) }

// Unexpected is an error of the cluster, or of play, that says nothing about the scenario.
type Unexpected struct{ Message string }

func (e Unexpected) Error() string { return e.Message }

// failure ends the run because a call of the API failed that a scenario needs.
func (w *world) failure(what, name string, err error) error {
	if err == nil {
		return nil
	}
	err = Unexpected{fmt.Sprintf("cannot %s %s: %s", what, name, reason(err))}
	w.fail(err)
	return err
}

func (w *world) AddAdmitted(of *v1.Pod, _ fakeruntime.Pod) error {
	played, err := w.stage.Pod(of)
	if err != nil {
		return err
	}
	w.pods[played.Name] = newPod(of.Namespace+"/"+of.Name, played.Name)
	played.Namespace = w.namespace
	return w.failure("create Pod", of.Name, w.cluster.create(w.ctx, w.namespace, played))
}

func (w *world) DeletePod(_, name string, gracePeriodSeconds *int64) error {
	name = w.nameOf(name)
	err := w.cluster.delete(w.ctx, "Pod", w.namespace, name,
		&metav1.DeleteOptions{GracePeriodSeconds: gracePeriodSeconds})
	if apierrors.IsNotFound(err) {
		err = nil
	}
	return w.failure("delete Pod", name, err)
}

// nameOf returns the name on the cluster of a pod that the trace names.
func (w *world) nameOf(name string) string {
	for _, real := range slices.Sorted(maps.Keys(w.pods)) {
		if trace.PodName(w.pods[real].key) == name {
			return real
		}
	}
	return w.stage.Name(name)
}

func (w *world) change(name, step, subresource string, patch []byte) error {
	name = w.nameOf(name)
	return w.failure(step, "Pod "+name,
		w.cluster.patch(w.ctx, "Pod", w.namespace, name, subresource, types.StrategicMergePatchType, patch))
}

func (w *world) PatchPod(_, name string, patch []byte) error {
	return w.change(name, "patch", "", patch)
}

func (w *world) PatchPodStatus(_, name string, patch []byte) error {
	return w.change(name, "patch", "status", patch)
}

func (w *world) ResizePod(_, name string, patch []byte) error {
	return w.change(name, "resize", "resize", patch)
}

// EvictPod evicts a pod through the API. The step of a scenario is an eviction by the kubelet, of
// which the API has only the deletion.
func (w *world) EvictPod(namespace, name string) error {
	w.Record(trace.Record{Kind: trace.Step, Pod: namespace + "/" + name, Reason: "evict"})
	return w.failure("evict", "Pod "+name, w.cluster.evict(w.ctx, w.namespace, w.nameOf(name)))
}

// workload is a Deployment, as the scenario has it, with the ReplicaSets that the cluster has made
// of it.
type workload struct {
	*plan.Workload
	name    string             // on the cluster
	now     *appsv1.Deployment // as a client of the scenario would see it
	history []revision         // of its templates, the newest last
	sets    map[string]int     // numbers of the ReplicaSets, by their names on the cluster
	pods    map[int]int        // number of pods of each ReplicaSet so far
	program func(*v1.Pod) fakeruntime.Pod
}

// revision is a template with the step that gave it its programs; 0: none did.
type revision struct {
	template v1.PodTemplateSpec
	step     int
}

func (w *world) AddWorkload(d *appsv1.Deployment, program func(*v1.Pod) fakeruntime.Pod) error {
	known, _ := w.plan.Profile()
	admitted, err := admission.AdmitDeployment(known, d)
	if err != nil {
		return err
	}
	w.workloads = append(w.workloads, &workload{Workload: w.plan.Scenario.Deployment(d.Namespace + "/" + d.Name),
		name: w.stage.Name(d.Name), now: admitted, history: []revision{{template: admitted.Spec.Template}},
		sets: map[string]int{}, pods: map[int]int{}, program: program})
	played, err := w.stage.Deployment(admitted, 1, 0)
	if err != nil {
		return err
	}
	played.Namespace = w.namespace
	return w.failure("create Deployment", d.Name, w.cluster.create(w.ctx, w.namespace, played))
}

// workload returns the Deployment of a name on the cluster, or nil.
func (w *world) workload(name string) *workload {
	i := slices.IndexFunc(w.workloads, func(of *workload) bool { return of.name == name })
	if i < 0 {
		return nil
	}
	return w.workloads[i]
}

func (w *world) PatchWorkload(namespace, name string, patch []byte) error {
	of := w.workload(w.stage.Name(name))
	known, _ := w.plan.Profile()
	next, err := admission.PatchDeployment(known, of.now, patch)
	if err != nil {
		return err
	}
	return w.replace(of, next, w.stepOf(of), namespace, name)
}

// stepOf returns the number of the step that is taken now if it gives the pods new programs, or
// that of the last one which did.
func (w *world) stepOf(of *workload) int {
	last := of.history[len(of.history)-1].step
	for i, step := range w.plan.Scenario.Spec.Steps {
		if _, has := of.Controlled.Containers[step]; has && step.At != nil &&
			virtual.At(w.plan.Draw(*step.At, "step at", i)) <= w.now() {
			last = max(last, i+1)
		}
	}
	return last
}

func (w *world) UndoWorkload(namespace, name string, number int64) error {
	of := w.workload(w.stage.Name(name))
	i := len(of.history) - 2
	if number > 0 {
		i = int(number) - 1
	}
	if i < 0 || i >= len(of.history) {
		return errors.New("there is no revision to go back to")
	}
	next := of.now.DeepCopy()
	next.Spec.Template = *of.history[i].template.DeepCopy()
	return w.replace(of, next, of.history[i].step, namespace, name)
}

// replace changes a Deployment to what the scenario makes of it.
func (w *world) replace(of *workload, next *appsv1.Deployment, step int, namespace, name string) error {
	w.Record(trace.Record{Kind: trace.Step, Reason: trace.RolloutStep,
		Object: &trace.Object{Name: "Deployment " + namespace + "/" + name}})
	set := len(of.history)
	if !equality.Semantic.DeepEqual(of.now.Spec.Template, next.Spec.Template) {
		of.history = append(of.history, revision{next.Spec.Template, step})
		set++
	}
	of.now = next
	patch, err := w.stage.Change(next, set, of.history[len(of.history)-1].step)
	if err != nil {
		return err
	}
	return w.failure("change Deployment", name,
		w.cluster.patch(w.ctx, "Deployment", w.namespace, of.name, "", types.MergePatchType, patch))
}

func (w *world) AddService(s *v1.Service) error {
	played := w.stage.Service(s)
	played.Namespace = w.namespace
	if err := w.cluster.create(w.ctx, w.namespace, played); err != nil {
		return w.failure("create Service", s.Name, err)
	}
	address := net.JoinHostPort(played.Spec.ClusterIP, fmt.Sprint(played.Spec.Ports[0].Port))
	for i, e := range w.plan.Streams() {
		if e.Service != s.Namespace+"/"+s.Name {
			continue
		}
		client, err := w.stage.Client(i+1, address)
		if err != nil {
			return err
		}
		w.pods[client.Name] = newPod("", client.Name)
		client.Namespace = w.namespace
		if err := w.cluster.create(w.ctx, w.namespace, client); err != nil {
			return w.failure("create Pod", client.Name, err)
		}
	}
	return nil
}

// A rule that waits for a moment is refused, but moments occur.

func (*world) Occur(int)                   {}
func (*world) OccurIn(string, string, int) {}
