package play

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/internal/runner/play/manifest"
	"probesim.dev/internal/scenarios/drive"
	"probesim.dev/internal/scenarios/simulate"
	"probesim.dev/internal/world/apiserver/admission"
	"probesim.dev/scenarios/plan"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// Options say how to play.
type Options struct {
	Image     string
	Pull      v1.PullPolicy
	Namespace string // that exists; empty: play creates one of its own
	Notify    func(now time.Duration)
}

// Labels of all objects that play creates.
const (
	labelPlay     = manifest.Domain + "play"     // the ID of the play
	labelRun      = manifest.Domain + "run"      // the number of the run
	labelDeadline = manifest.Domain + "deadline" // in seconds since 1970, after which --clean removes it
)

// spare is how long after the longest run the objects of a play may still be there.
const spare = 10 * time.Minute

// Play is one play of some runs, all at the same time.
type Play struct {
	Options
	ID      string
	Runs    []*Run
	cluster *Cluster
	own     bool // the namespace is of this play
	created bool // something was asked for
	until   time.Duration
}

// Run is the play of one plan.
type Run struct {
	Plan   *plan.Plan
	Until  virtual.Time
	Result *simulate.Result
	Node   Node // what was measured of the node
	Age    time.Duration
	stage  manifest.Stage
}

// New prepares a play. It makes no request.
func New(c *Cluster, o Options, plans []*plan.Plan, until time.Duration) (*Play, error) {
	id := strings.ToLower(rand.Text()[:6])
	p := &Play{Options: o, ID: id, cluster: c, own: o.Namespace == ""}
	if p.own {
		p.Namespace = "probesim-play-" + id
	}
	for _, of := range plans {
		p.until = max(p.until, cmp.Or(until, of.Duration))
	}
	for i, of := range plans {
		r := &Run{Plan: of, Until: virtual.At(cmp.Or(until, of.Duration))}
		files, err := manifest.Collect(of.Scenario)
		if err != nil {
			return nil, err
		}
		r.stage = manifest.Stage{Image: o.Image, Pull: o.Pull, Prefix: fmt.Sprintf("p%s-%d-", id, i+1),
			Labels: p.labels(), Seconds: int64((p.until + spare).Seconds()),
			Part: manifest.Part{Files: files, File: manifest.FileOf(of.Scenario), Run: of.Scenario.Metadata.Name,
				Version: of.Version, Seed: of.Seed}}
		r.stage.Labels[labelRun] = fmt.Sprint(i + 1)
		p.Runs = append(p.Runs, r)
	}
	return p, nil
}

// Own reports whether the namespace is one of the play.
func (p *Play) Own() bool { return p.own }

// Length is how long the play takes.
func (p *Play) Length() time.Duration { return p.until }

// Node returns what all runs have measured of the nodes.
func (p *Play) Node() Node {
	n := Node{}
	for _, r := range p.Runs {
		n.merge(r.Node)
	}
	return n
}

// Dropped returns what the played pods of a run do not have of its manifests.
func (r *Run) Dropped() (names []string) {
	for _, w := range r.Plan.Scenario.Workloads {
		for _, name := range manifest.Dropped(w.Pod) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// labels are those of all objects of the play.
func (p *Play) labels() map[string]string {
	return map[string]string{labelPlay: p.ID, labelDeadline: fmt.Sprint(time.Now().Add(p.until + spare).Unix())}
}

// Objects returns the objects that the play creates at first, for people to read.
func (p *Play) Objects() (list []object, err error) {
	if p.own {
		list = append(list, p.namespaceObject())
	}
	for _, r := range p.Runs {
		objects, err := r.objects()
		if err != nil {
			return nil, err
		}
		list = append(list, objects...)
	}
	return list, nil
}

// namespaceObject is the namespace of the play. It enforces the strictest rules on its pods.
func (p *Play) namespaceObject() *v1.Namespace {
	labels := p.labels()
	labels["pod-security.kubernetes.io/enforce"] = "restricted"
	return &v1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
		ObjectMeta: metav1.ObjectMeta{Name: p.Namespace, Labels: labels}}
}

// objects returns the objects of a run that its first steps create.
func (r *Run) objects() (list []object, err error) {
	for _, s := range r.Plan.Scenario.Services {
		list = append(list, r.stage.Service(s.Object))
	}
	for i := range r.Plan.Streams() {
		client, err := r.stage.Client(i+1, "")
		if err != nil {
			return nil, err
		}
		list = append(list, client)
	}
	for _, planned := range r.Plan.Pods() {
		pod, err := r.stage.Pod(planned.Pod)
		if err != nil {
			return nil, err
		}
		list = append(list, pod)
	}
	known, _ := r.Plan.Profile()
	for _, w := range r.Plan.Deployments() {
		admitted, err := admission.AdmitDeployment(known, w.Controlled.Deployment)
		if err != nil {
			return nil, err
		}
		d, err := r.stage.Deployment(admitted, 1, 0)
		if err != nil {
			return nil, err
		}
		list = append(list, d)
	}
	return list, nil
}

// Play creates the namespace, plays the runs, and removes all objects. The error is about the
// cluster, and of type Unexpected, or that of the context.
func (p *Play) Play(ctx context.Context) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	if p.own {
		if err := p.cluster.create(ctx, "", p.namespaceObject()); err != nil {
			return Unexpected{fmt.Sprintf("cannot create namespace %s: %s%s", p.Namespace, reason(err),
				p.inNamespace(err))}
		}
	}
	p.created = true
	if err := p.tryAll(ctx); err != nil {
		return err
	}
	age := p.cluster.kubeletAge(ctx)
	worlds := map[string]*world{}
	for _, r := range p.Runs {
		r.Age = age
		worlds[r.stage.Prefix] = newWorld(ctx, fail, p.cluster, p.Namespace, r.stage, r.Plan)
	}
	p.observe(ctx, fail, worlds)
	var runs sync.WaitGroup
	for _, r := range p.Runs {
		runs.Go(func() { r.play(ctx, worlds[r.stage.Prefix]) })
	}
	done := make(chan struct{})
	go func() { runs.Wait(); close(done) }()
	for began, tick := time.Now(), time.Tick(time.Second); ; {
		select {
		case <-done:
			return context.Cause(ctx)
		case <-tick:
			if p.Notify != nil {
				p.Notify(time.Since(began))
			}
		}
	}
}

// inNamespace suggests what to do without the right to create a namespace.
func (p *Play) inNamespace(err error) string {
	if apierrors.IsForbidden(err) {
		return "\nUse a namespace that exists with --namespace"
	}
	return ""
}

// tryAll asks the server to create all objects without storing them: admission and quota answer
// before anything is created. A new namespace gets its ServiceAccount some time later.
func (p *Play) tryAll(ctx context.Context) error {
	for _, r := range p.Runs {
		objects, err := r.objects()
		if err != nil {
			return Unexpected{err.Error()}
		}
		for _, o := range objects {
			for began := time.Now(); ; {
				err := p.cluster.tryToCreate(ctx, p.Namespace, o)
				if err == nil {
					break
				}
				if ctx.Err() != nil {
					return context.Cause(ctx)
				}
				if !strings.Contains(err.Error(), "serviceaccount") || time.Since(began) > unschedulable {
					return Unexpected{fmt.Sprintf("the cluster refuses %s %s: %s",
						o.GetObjectKind().GroupVersionKind().Kind, o.GetName(), reason(err))}
				}
				time.Sleep(pause)
			}
		}
	}
	return nil
}

// play plays a run and keeps its result.
func (r *Run) play(ctx context.Context, w *world) {
	defer w.end()
	w.zero, w.until = time.Now(), r.Until
	w.stage.Part.Zero = w.zero
	driver := drive.Start(r.Plan, w)
	w.run(r.Until)
	end := min(w.now(), r.Until)
	w.run(r.Until.Add(logLag)) // for what is on its way
	records := slices.DeleteFunc(inOrder(w.records), func(rec trace.Record) bool { return rec.T > end })
	records, err := withTraffic(records, r.Plan.Streams())
	if err != nil {
		w.fail(err)
	}
	if ctx.Err() != nil {
		err = simulate.ErrInterrupted
	}
	r.Node = w.node
	r.Result = simulate.Observed(r.Plan, driver, records, end, err)
}

// Remove removes what the play has created, and waits until it is gone.
func (p *Play) Remove(ctx context.Context) error {
	if !p.created {
		return nil
	}
	return p.cluster.RemoveLeftover(ctx, Leftover{ID: p.ID, Namespace: p.Namespace, own: p.own})
}

var errLeft = errors.New("not everything is gone yet; 'probesim play --clean' removes what is left later")

// created are the kinds of objects that play creates in a namespace. A Deployment goes before its
// pods.
var created = []string{"Deployment", "Service", "Pod"}

// list returns the objects of a kind with labels.
func (c *Cluster) list(ctx context.Context, kind, namespace, labels string) ([]object, error) {
	answer, err := c.call("GET", kind, namespace, "").
		VersionedParams(&metav1.ListOptions{LabelSelector: labels}, parameter).Do(ctx).Get()
	if err != nil {
		return nil, err
	}
	items, err := meta.ExtractList(answer)
	var list []object
	for _, item := range items {
		list = append(list, item.(object))
	}
	return list, err
}

// remove removes one object, unless it is another one of that name by now.
func (c *Cluster) remove(ctx context.Context, kind, namespace string, o object) error {
	uid, grace, policy := o.GetUID(), int64(1), metav1.DeletePropagationBackground
	err := c.delete(ctx, kind, namespace, o.GetName(), &metav1.DeleteOptions{GracePeriodSeconds: &grace,
		PropagationPolicy: &policy, Preconditions: &metav1.Preconditions{UID: &uid}})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// patience is how long to wait for objects to be gone.
const patience = 60 * time.Second

// removeObjects removes the objects with labels from a namespace that have not been asked to go
// yet, and returns how many are still there.
func (c *Cluster) removeObjects(ctx context.Context, namespace, labels string, asked map[types.UID]bool) (left int,
	err error) {
	for _, kind := range created {
		objects, err := c.list(ctx, kind, namespace, labels)
		if err != nil {
			return 0, err
		}
		left += len(objects)
		for _, o := range objects {
			if !asked[o.GetUID()] {
				asked[o.GetUID()] = true
				if err := c.remove(ctx, kind, namespace, o); err != nil {
					return 0, err
				}
			}
		}
	}
	return left, nil
}

// removeNamespace removes a namespace of a play, unless it has been asked to go, and returns how
// many are still there: 1 or 0.
func (c *Cluster) removeNamespace(ctx context.Context, l Leftover, asked map[types.UID]bool) (left int, err error) {
	namespace := &v1.Namespace{}
	err = c.call("GET", "Namespace", "", l.Namespace).Do(ctx).Into(namespace)
	switch {
	case apierrors.IsNotFound(err):
		return 0, nil
	case err != nil:
		return 0, err
	case namespace.Labels[labelPlay] != l.ID:
		return 0, fmt.Errorf("namespace %s is none of play %s", l.Namespace, l.ID)
	case !asked[namespace.UID]:
		asked[namespace.UID] = true
		err = c.remove(ctx, "Namespace", "", namespace)
	}
	return 1, err
}

// Leftover is a play whose objects are still there.
type Leftover struct {
	ID, Namespace string
	Deadline      time.Time
	own           bool
}

// Leftovers returns the plays with objects in the cluster: in namespaces of their own, and in a
// namespace.
func (c *Cluster) Leftovers(ctx context.Context, namespace string) ([]Leftover, error) {
	var all []Leftover
	seen := map[string]bool{}
	add := func(o object, in string, own bool) {
		id := o.GetLabels()[labelPlay]
		if seen[id] {
			return
		}
		seen[id] = true
		seconds, _ := strconv.ParseInt(o.GetLabels()[labelDeadline], 10, 64)
		all = append(all, Leftover{id, in, time.Unix(seconds, 0), own})
	}
	namespaces, err := c.list(ctx, "Namespace", "", labelPlay)
	if err != nil && !apierrors.IsForbidden(err) {
		return nil, err
	}
	for _, o := range namespaces {
		add(o, o.GetName(), true)
	}
	for _, kind := range created {
		objects, err := c.list(ctx, kind, namespace, labelPlay)
		if err != nil {
			return nil, err
		}
		for _, o := range objects {
			add(o, namespace, false)
		}
	}
	return all, nil
}

// RemoveLeftover removes what is left of a play, and waits until it is gone. The pods go first,
// without their grace periods.
func (c *Cluster) RemoveLeftover(ctx context.Context, l Leftover) error {
	asked := map[types.UID]bool{}
	for began := time.Now(); time.Since(began) < patience; time.Sleep(pause) {
		left, err := c.removeObjects(ctx, l.Namespace, labelPlay+"="+l.ID, asked)
		if err == nil && l.own {
			namespaces, failed := c.removeNamespace(ctx, l, asked)
			left, err = left+namespaces, failed
		}
		if err != nil || left == 0 {
			return err
		}
	}
	return errLeft
}
