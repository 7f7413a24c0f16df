package validation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/podutil"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/world/apiserver/admission"
	"probesim.dev/scenarios/format"
	"probesim.dev/scenarios/plan"
)

// controlled reports whether the scenario has a control plane.
func (c *checker) controlled() bool { return c.scenario.Spec.ControlPlane != nil }

// checkControlPlane checks the delays of the control plane, and reports what needs one.
func (c *checker) checkControlPlane() {
	s := &c.scenario.Spec
	n := c.spec.Field("controlPlane")
	if n.Kind != strict.Missing && s.ControlPlane == nil && !n.Bad() {
		s.ControlPlane = &format.ControlPlane{}
	}
	if !c.controlled() {
		if !n.Bad() {
			c.spec.Refuse([]string{"services", "traffic"},
				"needs controlPlane: write controlPlane: {}, which turns the controllers on")
		}
		return
	}
	checkSet(n.Field("set"), s.ControlPlane.Set)
	for _, step := range c.spec.Field("steps").Items {
		step.Refuse([]string{"stepClock"}, "cannot be used with controlPlane: the clocks of controllers do not jump")
	}
}

// control makes the controllers create the pods of a Deployment.
func (c *checker) control(w *workload, n *strict.Node) {
	if !c.controlled() || w.Manifest.Kind.Kind != "Deployment" {
		return
	}
	n.Refuse([]string{"stagger"}, "cannot be used with controlPlane: the controllers decide when pods are created")
	n.Refuse([]string{"static"}, "cannot be used with controlPlane: a Deployment has no static pods")
	d := w.Manifest.Deployment(w.Pod, w.Replicas)
	if d == nil || n.Field("static").Written() {
		return
	}
	w.Controlled = &plan.Controlled{Deployment: d, ReplicaSets: 1,
		Containers: map[*format.Step]map[string]fakeruntime.ContainerConfig{}}
	for _, step := range c.scenario.Spec.Steps {
		if step != nil && step.Rollout != nil && (step.Rollout.Template != nil || step.Rollout.Restart) {
			w.Controlled.ReplicaSets++
		}
	}
	if admitted := c.admit(d, w.Manifest.Node); admitted != nil {
		checkPods(admitted, n.Field("replicas"))
	}
	c.checkSelector(w, n.Field("name"))
}

// checkPods reports a Deployment that has too many pods during a rollout.
func checkPods(d *appsv1.Deployment, n *strict.Node) {
	pods := int(*d.Spec.Replicas)
	if update := d.Spec.Strategy.RollingUpdate; update != nil {
		surge, _ := intstr.GetScaledValueFromIntOrPercent(update.MaxSurge, pods, true)
		pods += surge
	}
	n.ErrorIf(pods > format.MaxPods, "there would be %d pods during a rollout, with maxSurge: at most %d are possible",
		pods, format.MaxPods)
}

// checkSelector reports a Deployment that would take the pods of one before it for its own, or the
// other way round.
func (c *checker) checkSelector(w *workload, n *strict.Node) {
	for _, other := range c.workloads {
		if other.Controlled == nil || other == w || other.Pod.Namespace != w.Pod.Namespace {
			continue
		}
		for _, of := range [][2]*workload{{w, other}, {other, w}} {
			selector, err := metav1.LabelSelectorAsSelector(of[0].Controlled.Deployment.Spec.Selector)
			if err == nil && selector.Matches(labels.Set(of[1].Pod.Labels)) {
				n.Errorf("the selector of the Deployment %s matches the pods of the Deployment %s: two controllers "+
					"would fight for them", of[0].Manifest.Name, of[1].Manifest.Name)
				return
			}
		}
	}
}

// admit returns a Deployment as the API server stores it, or nil after reporting what the server
// rejects. Errors of the template are those of its pods, which are reported where the pods are.
func (c *checker) admit(d *appsv1.Deployment, n *strict.Node) *appsv1.Deployment {
	profiles := c.profiles()
	if len(profiles) == 0 {
		return nil
	}
	admitted, err := admission.AdmitDeployment(profiles[0], d) // the rules are those of all releases
	if err == nil {
		return admitted
	}
	for _, cause := range causesOf(err) {
		n.Find(cause.Field).ErrorIf(!strings.HasPrefix(cause.Field, "spec.template"), "%s", cause.Message)
	}
	return nil
}

func causesOf(err error) []metav1.StatusCause {
	status, is := err.(apierrors.APIStatus)
	if !is || status.Status().Details == nil {
		return []metav1.StatusCause{{Message: err.Error()}}
	}
	return status.Status().Details.Causes
}

// deployment returns the Deployment that a step names, or nil after reporting why there is none.
func (c *checker) deployment(name string, n *strict.Node) *workload {
	if !c.controlled() {
		n.ErrorIf(!c.spec.Field("controlPlane").Bad(),
			"needs controlPlane: write controlPlane: {} in spec, which turns the controllers on")
		return nil
	}
	field := n.Field("workload")
	if field.Bad() || !c.resolved() {
		return nil
	}
	isMeant := func(w *workload) bool {
		namespace, own := format.SplitName(name)
		return name == "" || own == w.Manifest.Name && (namespace == "" || namespace == w.Pod.Namespace)
	}
	isOther := func(w *workload) bool { return w.Controlled == nil }
	deployments := slices.DeleteFunc(slices.Clone(c.workloads), isOther)
	found := slices.DeleteFunc(slices.Clone(deployments), func(w *workload) bool { return !isMeant(w) })
	other := slices.IndexFunc(c.workloads, func(w *workload) bool { return name != "" && isOther(w) && isMeant(w) })
	switch {
	case other >= 0:
		kind := c.workloads[other].Manifest.Kind.Kind
		field.Errorf("%s is a %s: %s", name, kind, notRolledOut(kind))
	case len(found) == 1:
		return found[0]
	case len(found) > 1:
		n.Errorf("there are %d Deployments: name the one you mean with workload", len(found))
	case name == "":
		n.Errorf("the scenario has no Deployment")
	default:
		names := printable.Words(deployments, func(w *workload) string { return w.Manifest.Name })
		field.Errorf("the scenario has no Deployment %s%s", strict.Quote(name), strict.OrList(name, names))
	}
	return nil
}

func notRolledOut(kind string) string {
	if kind == "Pod" {
		return "it has no rollout"
	}
	return kind + "s are not rolled out yet; its pods are created once"
}

// checkScale checks the action scale.
func (c *checker) checkScale(s *format.Scale, n *strict.Node) {
	field := n.Field("replicas")
	w := c.deployment(s.Workload, n)
	switch {
	case w == nil || field.Bad():
	case s.Replicas == nil:
		field.Errorf("is required: the number of pods")
	case *s.Replicas < 0 || *s.Replicas > format.MaxPods:
		checkRange(field, *s.Replicas, 0, format.MaxPods)
	case c.begun(w):
		w.rolled = w.rolled.DeepCopy()
		w.rolled.Spec.Replicas = new(int32(*s.Replicas))
		checkPods(w.rolled, field)
	}
}

// checkRollout checks the action rollout, and makes the programs of the new pods.
func (c *checker) checkRollout(step *format.Step, n *strict.Node) {
	r := step.Rollout
	w := c.deployment(r.Workload, n)
	for _, name := range []string{"restart", "pause", "resume"} {
		n.Field(name).ErrorIf(n.Field(name).Value == "false", "must be true, or left out")
	}
	n.Field("containers").ErrorIf(n.Field("containers").Written() && r.Template == nil,
		"needs template: other changes keep the programs that there are")
	variants := n.WrittenOf("template", "restart", "undo", "pause", "resume", "spec")
	switch {
	case n.Bad() || w == nil:
		return
	case len(variants) == 0:
		n.Errorf("changes nothing: write one of template, restart: true, undo, pause: true, resume: true and spec")
		return
	case n.Field("spec").Field("template").Written():
		n.Field("spec").Field("template").Errorf("write template beside workload, with the programs in containers")
		return
	case len(variants) > 1:
		n.Errorf("has several changes, %s: write a step for each", strings.Join(variants, " and "))
		return
	}
	if !c.begun(w) {
		return // it is invalid, which is reported
	}
	if r.Undo != nil {
		c.checkUndo(w, *r.Undo, n.Field("undo"))
		return
	}
	c.checkChange(w, step, n, n.Field(variants[0]))
}

// begun reports whether the state of a Deployment after the steps before is known.
func (c *checker) begun(w *workload) bool {
	if w.rolled == nil {
		if profiles := c.profiles(); len(profiles) > 0 {
			w.rolled, _ = admission.AdmitDeployment(profiles[0], w.Controlled.Deployment)
		}
		w.revisions = 1
	}
	return w.rolled != nil
}

// checkUndo reports an undo to a revision that there cannot be.
func (c *checker) checkUndo(w *workload, revision int64, n *strict.Node) {
	switch {
	case revision < 0:
		n.Errorf("must be 0, for the revision before, or the number of a revision")
	case w.revisions < 2:
		n.Errorf("there is no earlier ReplicaSet: no step before this one changes the template of %s", w.Manifest.Name)
	case w.rolled.Spec.Paused:
		n.Errorf("%s is paused by a step before this one: resume it first", w.Manifest.Name)
	case revision > int64(w.revisions+w.undos):
		n.Errorf("there is no revision %d yet: the steps before this one make %d at most", revision,
			w.revisions+w.undos)
	default:
		w.undone = true
		w.undos++
	}
}

// checkChange applies a change to the Deployment as the steps before have left it.
func (c *checker) checkChange(w *workload, step *format.Step, n, field *strict.Node) {
	r := step.Rollout
	if !c.withinMergeLimit(w.Manifest, field) {
		return
	}
	profiles := c.profiles()
	if len(profiles) == 0 {
		return
	}
	patched, err := admission.PatchDeployment(profiles[0], w.rolled, r.JSON(fmt.Sprint(n.Pos)))
	if err != nil {
		for _, cause := range causesOf(err) {
			under := strings.TrimPrefix(strings.TrimPrefix(cause.Field, "spec."), field.Name()+".")
			if strings.HasPrefix(cause.Field, "spec.selector") {
				under = "selector"
			}
			field.Find(under).Errorf("%s", cause.Message)
		}
		if r.Template != nil {
			w.revisions++ // later steps can rely on it
		}
		return
	}
	same := equality.Semantic.DeepEqual(patched.Spec, w.rolled.Spec)
	if same && (!w.undone && !r.Restart || r.Pause || r.Resume) {
		already := map[string]string{"pause": "already paused", "resume": "not paused"}[field.Name()]
		field.Errorf("changes nothing: %s is %s", w.Manifest.Name,
			cmp.Or(already, "already like that, so no rollout begins"))
		return
	}
	checkPods(patched, field)
	if !equality.Semantic.DeepEqual(patched.Spec.Template, w.rolled.Spec.Template) {
		w.revisions++
		c.checkPrograms(w, step, patched, n.Field("containers"))
	}
	w.rolled = patched
}

// checkPrograms makes the programs in the pods of a changed template: those of the containers of
// the step, and otherwise those that the scenario has for the pods before.
func (c *checker) checkPrograms(w *workload, step *format.Step, d *appsv1.Deployment, n *strict.Node) {
	pod := &v1.Pod{ObjectMeta: *d.Spec.Template.ObjectMeta.DeepCopy(), Spec: *d.Spec.Template.Spec.DeepCopy()}
	pod.Namespace, pod.Name = w.Pod.Namespace, w.Pod.Name
	if w.scripts == nil {
		w.scripts = scriptsOf(w.Spec.Containers, w.node.Field("containers"))
	}
	for _, s := range scriptsOf(step.Rollout.Containers, n) {
		i := slices.IndexFunc(w.scripts, func(old script) bool { return old.spec.Name == s.spec.Name })
		if i < 0 {
			w.scripts = append(w.scripts, s)
			continue
		}
		s.node.Refuse([]string{"lease"}, "write the lease in spec.pods: new pods want the same one")
		s.spec.Lease = w.scripts[i].spec.Lease
		w.scripts[i] = s
	}
	entry, list := *w.Spec, &strict.Node{Kind: strict.Sequence}
	entry.Containers = nil
	for _, s := range w.scripts {
		if podutil.Find(pod, s.spec.Name) != nil || slices.Contains(n.Items, s.node) {
			entry.Containers, list.Items = append(entry.Containers, s.spec), append(list.Items, s.node)
		}
	}
	next := &workload{Workload: &plan.Workload{Spec: &entry, Manifest: w.Manifest, Pod: pod, Replicas: w.Replicas,
		Controlled: w.Controlled}, errs: w.errs}
	c.checkContainers(next, list)
	w.Controlled.Containers[step] = next.Containers
	isOld := func(note string) bool { return slices.Contains(w.Notes, note) }
	w.Notes = append(w.Notes, slices.DeleteFunc(next.Notes, isOld)...)
}

// script is what a file says about a container, and where.
type script struct {
	spec format.Container
	node *strict.Node
}

func scriptsOf(list []format.Container, n *strict.Node) []script {
	var all []script
	for i, spec := range list {
		all = append(all, script{spec, n.Index(i)})
	}
	return all
}

// checkLease checks the lease of a container.
func (c *checker) checkLease(l *format.Lease, n *strict.Node) {
	switch {
	case l == nil || n.Bad():
	case !c.controlled():
		n.Errorf("needs controlPlane: write controlPlane: {} in spec")
	case l.Name == "":
		n.Field("name").Errorf("is required: the name of the lease")
	case l.Release && l.Duration != 0:
		n.Field("duration").Errorf("has no effect with release: true: the lease is free when the program ends")
	default:
		c.scenario.Lease(l.Name)
	}
}
