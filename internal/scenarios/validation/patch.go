package validation

import (
	"cmp"
	"slices"

	v1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"probesim.dev/internal/podutil"
	"probesim.dev/internal/scenarios/program"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/world/apiserver/admission"
	"probesim.dev/kube/profile"
	"probesim.dev/scenarios/format"
)

// kubeletConditions are the conditions that the kubelet sets. A patch must not change them: the
// simulator does not model the effect.
var kubeletConditions = []v1.PodConditionType{
	v1.PodScheduled, v1.PodReady, v1.PodInitialized, v1.ContainersReady, v1.PodReadyToStartContainers,
	v1.DisruptionTarget, v1.PodResizePending, v1.PodResizeInProgress, podutil.AllContainersRestarting,
}

// checkPatchPod applies the patch to the pods in their initial state. Of what other patches change
// before, it considers only probes.
func (c *checker) checkPatchPod(p *format.PatchPod, n *strict.Node) {
	switch {
	case n.Bad():
	case p.Metadata == nil && p.Spec == nil && p.Status == nil:
		n.Errorf("changes nothing: write metadata, spec or status")
	case p.Status != nil && (p.Metadata != nil || p.Spec != nil):
		n.Errorf("patches the status and more: the API updates the status separately, so write a step for each")
	case p.Status != nil:
		checkStatus(n)
		return
	}
	for _, w := range c.matching(p.Pod) {
		if !n.Bad() && c.withinLimits(w, n) {
			c.checkPatched(p, w, n)
		}
	}
}

func (c *checker) checkPatched(p *format.PatchPod, w *workload, n *strict.Node) {
	before := w.Pod
	if p.ChangesProbes() {
		before = cmp.Or(w.probed, w.Pod)
	}
	patched := merge(before, p.JSON(), n)
	if patched == nil {
		return
	}
	if w.Spec.Static && p.ChangesProbes() {
		n.Field("spec").Errorf("a patch cannot change the probes of a static pod: write a setManifest step")
		return
	}
	admission.Default(patched)
	for _, version := range c.profiles() {
		errs := admission.ValidateUpdate(version, patched, before)
		if p.ChangesProbes() {
			errs = append(errs, admission.ValidateGated(version, patched)...)
		}
		if report(n, patched, errs) {
			return
		}
	}
	if p.ChangesProbes() {
		if w.checkProbes(patched, n); !n.Bad() {
			w.probed = patched
		}
	}
	isNew := func(f string) bool { return !slices.Contains(w.Pod.Finalizers, f) }
	n.Find("metadata.finalizers").ErrorIf(slices.ContainsFunc(patched.Finalizers, isNew),
		"a new finalizer is not supported yet: a patch can only remove finalizers")
}

// checkProbes reports probes for which the programs of the scenario are not made: rules answer one
// kind of handler, and endpoints are those of the first handler.
func (w *workload) checkProbes(patched *v1.Pod, n *strict.Node) {
	for container := range podutil.Containers(&patched.Spec) {
		if first := w.withAdded[container.Name]; first != nil {
			w.checkHandlers(container, first, n)
		}
	}
}

// checkHandlers reports handlers of probes that differ from the first ones.
func (w *workload) checkHandlers(c, first *v1.Container, n *strict.Node) {
	for _, probe := range podutil.Probes(c) {
		was := podutil.ProbeOf(first, probe.Key)
		switch {
		case program.HandlerOf(&probe.ProbeHandler) != program.HandlerOf(&was.ProbeHandler):
			n.Field("spec").Errorf("a step cannot change the kind of handler of the %s of %s yet", probe.Field, c.Name)
		case w.answersEndpoints(c.Name) && !apiequality.Semantic.DeepEqual(probe.ProbeHandler, was.ProbeHandler):
			n.Field("spec").Errorf("a step cannot change the endpoint of the %s of %s yet, because its behavior has "+
				"endpoints", probe.Field, c.Name)
		}
	}
}

// addProbes notes the probes that patches add to the containers of a workload.
func (c *checker) addProbes(w *workload) {
	w.withAdded = map[string]*v1.Container{}
	for container := range podutil.Containers(&w.Pod.Spec) {
		w.withAdded[container.Name] = container
	}
	for i, s := range c.scenario.Spec.Steps {
		if s == nil || s.Patch == nil || !s.Patch.ChangesProbes() || !w.isAny(s.Patch.Pod) {
			continue
		}
		n := c.spec.Field("steps").Index(i).Field("patch")
		if n.Bad() || !c.withinLimits(w, n) {
			continue
		}
		patched, err := admission.Merge(w.Pod, s.Patch.JSON())
		if err != nil {
			continue // reported elsewhere
		}
		admission.Default(patched)
		for after := range podutil.Containers(&patched.Spec) {
			if first := w.withAdded[after.Name]; first != nil {
				w.withAdded[after.Name] = withProbes(first, after)
			}
		}
	}
}

// withProbes returns a container with the probes that only another version of the container has.
func withProbes(c, other *v1.Container) *v1.Container {
	with := *c
	with.LivenessProbe = cmp.Or(c.LivenessProbe, other.LivenessProbe)
	with.ReadinessProbe = cmp.Or(c.ReadinessProbe, other.ReadinessProbe)
	with.StartupProbe = cmp.Or(c.StartupProbe, other.StartupProbe)
	return &with
}

// isAny reports whether a name, which can be a range, matches a pod of the workload.
func (w *workload) isAny(name string) bool {
	return slices.ContainsFunc(format.NamesOf(name),
		func(name string) bool { _, count := w.Named(name); return count > 0 })
}

// checkStatus reports a patch of the status that changes more than conditions which the kubelet
// does not set, or that the API server rejects (ValidatePodStatusUpdate in
// pkg/apis/core/validation/validation.go at v1.37.0).
func checkStatus(n *strict.Node) {
	status, conditions := n.Field("status"), n.Find("status.conditions")
	more := status.WrittenBeside("conditions") || conditions.Kind != strict.Missing && !conditions.Written()
	for _, c := range conditions.Items {
		name, is, removes := c.Field("type"), c.Field("status"), c.Field("$patch").Written()
		switch {
		case name.Value == "" && !removes:
			name.Errorf("is required: the type of the condition")
			continue
		case name.Value == "" || slices.Contains(kubeletConditions, v1.PodConditionType(name.Value)):
			more = true
			continue
		}
		for _, why := range validation.IsQualifiedName(name.Value) {
			name.Errorf("%s", why)
		}
		is.ErrorIf(!removes && !slices.Contains([]string{"True", "False", "Unknown"}, is.Value),
			"%s is not a condition status: write \"True\", \"False\" or \"Unknown\"", strict.Quote(is.Value))
	}
	status.ErrorIf(more, "is supported only for conditions that the kubelet does not set")
}

// checkResize applies the patch to the pods in their initial state. It does not consider what other
// steps change before.
func (c *checker) checkResize(r *format.Resize, n *strict.Node) {
	switch {
	case n.Bad():
		return
	case r.Spec == nil:
		n.Errorf("changes nothing: write the resources of containers under spec")
		return
	}
	for _, p := range c.profiles() {
		if !p.ResizesAreQueued {
			n.Errorf("the kubelet of %s resizes pods by other rules, which are not simulated: write later versions "+
				"in kubernetesVersions", p.Version)
			return
		}
	}
	for _, w := range c.matching(r.Pod) {
		for _, p := range c.profiles() {
			if !n.Bad() && c.withinLimits(w, n) {
				w.checkResize(r, p, n)
			}
		}
	}
}

func (w *workload) checkResize(r *format.Resize, p profile.Profile, n *strict.Node) {
	before := w.NewPod(0)
	admission.Default(before)
	patched := merge(before, r.JSON(), n)
	if patched == nil {
		return
	}
	admission.Default(patched)
	known := admission.Validate(before) // errors of the manifest, reported there
	isKnown := func(e *field.Error) bool {
		return slices.ContainsFunc(known, func(k *field.Error) bool { return k.Error() == e.Error() })
	}
	report(n, patched, slices.DeleteFunc(admission.ValidateResize(p, patched, before), isKnown))
}

// checkDebug reports fields that an ephemeral container cannot have. It does not consider what
// patches change before.
func (c *checker) checkDebug(d *format.Debug, n *strict.Node) {
	container := n.Field("container")
	switch {
	case n.Bad():
		return
	case !container.Written():
		container.Errorf("is required: the ephemeral container, with a name and an image")
		return
	}
	for _, w := range c.matching(d.Pod) {
		if !container.Bad() {
			w.checkDebug(d, n)
		}
	}
}

func (w *workload) checkDebug(d *format.Debug, n *strict.Node) {
	pod := w.NewPod(0)
	for _, other := range w.debugged {
		pod.Spec.EphemeralContainers = append(pod.Spec.EphemeralContainers, other.Container)
	}
	container := d.Container.DeepCopy()
	admission.DefaultEphemeral(container)
	for _, e := range admission.ValidateEphemeral(pod, container, field.NewPath("container")) {
		n.Find(e.Field).Errorf("%s", e.ErrorBody())
	}
	w.debugged = append(w.debugged, d)
}

// ephemeral returns the ephemeral containers that steps add to the pods of the workload.
func (c *checker) ephemeral(w *workload) []*v1.Container {
	var list []*v1.Container
	for _, s := range c.scenario.Spec.Steps {
		if s == nil || s.Debug == nil {
			continue
		}
		if w.isAny(s.Debug.Pod) {
			list = append(list, (*v1.Container)(&s.Debug.Container.EphemeralContainerCommon))
		}
	}
	return list
}
