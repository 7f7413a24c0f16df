package rollout

import (
	"cmp"
	"errors"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"probesim.dev/apiserver/admission"
	"probesim.dev/check"
	"probesim.dev/internal/strict"
	"probesim.dev/kube/podutil"
	"probesim.dev/scenarios/manifests"
	"probesim.dev/scenarios/program"
)

// MaxReplicas is the greatest number of pods that a rollout is simulated for. The number of lost requests hardly depends on it.
const MaxReplicas = 100

// workload is a Deployment to roll out.
type workload struct {
	findings
	file    string
	node    *strict.Node
	spec    *appsv1.Deployment // as the API server stores it
	old     *appsv1.Deployment // before the change
	service *v1.Service        // nil: no Service selects its pods
	serves  string             // the container that serves the requests
	notes   []string           // what is not simulated
	shown   *Shown             // unless nil, gets the trace of the run
}

// service is a Service of the manifests.
type service struct {
	*v1.Service
	node *strict.Node
	used bool
}

// reader reads manifests.
type reader struct {
	around
	o         *Options
	errs      *strict.Collector
	workloads []*workload
	services  []*service
	others    []*manifests.Object // workloads that are not rolled out
	rejected  []*appsv1.Deployment
}

// read reads the files. It reports each object that the API server rejects.
func (r *reader) read(files []check.File) {
	for _, f := range files {
		objects := manifests.Parse(f.Name, f.Data, r.errs)
		for _, m := range objects.Manifests {
			if m.Load(); m.Node.Bad() {
				r.refused = append(r.refused, m)
			} else if m.Kind.Kind != "Deployment" {
				r.others = append(r.others, m)
			} else if d := r.admit(m); d != nil {
				r.workloads = append(r.workloads, &workload{file: f.Name, node: m.Node, spec: d})
			} else {
				r.refused = append(r.refused, m)
			}
		}
		r.around.read(objects)
		for _, n := range objects.OfKind("v1", "Service") {
			s := &v1.Service{}
			if strict.Decode(n, s); n.Bad() {
				continue
			}
			s, err := admission.AdmitService(s)
			if err != nil {
				report(n, err)
				continue
			}
			r.services = append(r.services, &service{Service: s, node: n})
		}
	}
}

// admit returns a Deployment as the API server stores it, or reports why it does not.
func (r *reader) admit(m *manifests.Object) *appsv1.Deployment {
	d := &appsv1.Deployment{}
	strict.Decode(m.Node, d)
	d.Status = appsv1.DeploymentStatus{}
	d.Spec.Template.Spec.ReadinessGates = nil
	if r.o.Replicas != nil {
		d.Spec.Replicas = r.o.Replicas
	}
	admitted, err := admission.AdmitDeployment(r.o.Profile, d)
	if err != nil {
		report(m.Node, err)
		r.rejected = append(r.rejected, d)
		return nil
	}
	return admitted
}

// report reports an error of the API server at the fields of an object.
func report(n *strict.Node, err error) {
	var invalid *apierrors.StatusError
	if !errors.As(err, &invalid) || invalid.ErrStatus.Details == nil || len(invalid.ErrStatus.Details.Causes) == 0 {
		n.Errorf("%v", err)
		return
	}
	for _, cause := range invalid.ErrStatus.Details.Causes {
		n.Find(cause.Field).Errorf("%s", cause.Message)
	}
}

// check reports what cannot be rolled out.
func (r *reader) check(from []*workload) {
	for _, w := range r.workloads {
		w.old = w.spec
		replicas := w.node.Find("spec.replicas")
		switch n := *w.spec.Spec.Replicas; {
		case n == 0 && r.o.Change.Kind != Scale:
			replicas.Errorf("there are no replicas to roll out: specify --replicas")
		case max(n, r.o.Change.Scale) > MaxReplicas:
			replicas.Errorf("%d replicas are more than the %d that a rollout is simulated for: specify --replicas 10, which loses about as many requests", max(n, r.o.Change.Scale), MaxReplicas)
		case r.o.Change.Kind == Scale && n == r.o.Change.Scale:
			replicas.Errorf("scale=%d changes nothing", n)
		}
		if w.spec.Spec.Paused {
			w.node.Find("spec.paused").Errorf("the Deployment is paused: a changed template starts no rollout")
		}
		r.findService(w)
		r.findOld(w, from)
		w.notes = notSimulated(w)
		r.warn(w)
	}
	for _, s := range r.services {
		s.used = s.used || r.refuses(s.Service)
	}
	if len(r.refused) == 0 && !slices.ContainsFunc(r.workloads, func(w *workload) bool { return w.service == nil }) {
		return // Services for what is not in the files are fine
	}
	for _, s := range r.services {
		if s.used || len(s.Spec.Selector) == 0 || slices.ContainsFunc(r.rejected, func(d *appsv1.Deployment) bool {
			return selects(s.Service, cmp.Or(d.Namespace, v1.NamespaceDefault), d.Spec.Template.Labels)
		}) ||
			slices.ContainsFunc(r.others, func(m *manifests.Object) bool { return selects(s.Service, m.Namespace(), m.NewPod().Labels) }) {
			continue
		}
		s.node.Find("spec.selector").Errorf("the Service selects no pod: no workload in the files has the labels %s", labels.SelectorFromSet(s.Spec.Selector))
	}
}

// findOld finds the Deployment before the change in the files of --from.
func (r *reader) findOld(w *workload, from []*workload) {
	if from == nil {
		return
	}
	i := slices.IndexFunc(from, func(o *workload) bool { return o.spec.Name == w.spec.Name && o.spec.Namespace == w.spec.Namespace })
	if i < 0 {
		w.node.Find("metadata.name").Errorf("the files of --from have no Deployment of this name")
		return
	}
	w.old = from[i].spec
	before, after := w.old.Spec.Template, w.spec.Spec.Template
	if metav1.FormatLabelSelector(w.old.Spec.Selector) != metav1.FormatLabelSelector(w.spec.Spec.Selector) {
		w.node.Find("spec.selector").Errorf("the API server does not accept another selector than in --from")
	} else if sameTemplate(before, after) {
		w.node.Find("spec.template").Errorf("the template is that of --from: it changes nothing, and no pod is replaced")
	} else if serving(w.old, w.serves) == nil {
		w.node.Find("spec.template.spec.containers").Errorf("the pods of --from have no container %s, which serves the requests", strict.Quote(w.serves))
	}
}

// findService finds the Service of a Deployment, and the container that serves its requests. Of several, the first that is not headless
// counts.
func (r *reader) findService(w *workload) {
	containers := w.spec.Spec.Template.Spec.Containers
	w.serves = containers[0].Name
	for _, c := range containers {
		if !check.IsProxy(&c) {
			w.serves = c.Name
			break
		}
	}
	var all []*service
	for _, s := range r.services {
		if selects(s.Service, w.spec.Namespace, w.spec.Spec.Template.Labels) {
			s.used, all = true, append(all, s)
		}
	}
	if len(all) == 0 {
		return
	}
	counted := max(0, slices.IndexFunc(all, func(s *service) bool { return s.Spec.ClusterIP != v1.ClusterIPNone }))
	w.service = all[counted].Service
	if ports := w.service.Spec.Ports; len(ports) > 0 {
		w.serves = containerOf(containers, ports[0].TargetPort, w.serves)
	}
	for i, s := range all {
		if i != counted {
			w.notes = append(w.notes, "requests to Service "+s.Name)
		}
	}
}

// selects reports whether a Service selects pods with some labels.
func selects(s *v1.Service, namespace string, of map[string]string) bool {
	return len(s.Spec.Selector) > 0 && s.Namespace == namespace && labels.SelectorFromSet(s.Spec.Selector).Matches(labels.Set(of))
}

// containerOf returns the container that has a port, or else another one.
func containerOf(containers []v1.Container, port intstr.IntOrString, otherwise string) string {
	for _, c := range containers {
		for _, p := range c.Ports {
			if port.Type == intstr.String && p.Name == port.StrVal || port.Type == intstr.Int && p.ContainerPort == port.IntVal {
				return c.Name
			}
		}
	}
	return otherwise
}

// notSimulated names what can decide about the rollout and is not simulated.
func notSimulated(w *workload) []string {
	notes := w.notes
	if w.node.Find("spec.template.spec.readinessGates").Written() {
		notes = append(notes, "readinessGates: a pod counts as Ready without them")
	}
	if s := w.service; s != nil {
		if s.Spec.ClusterIP == v1.ClusterIPNone {
			notes = append(notes, "a headless Service")
		}
		if s.Spec.SessionAffinity == v1.ServiceAffinityClientIP {
			notes = append(notes, "sessionAffinity")
		}
		if s.Spec.ExternalTrafficPolicy == v1.ServiceExternalTrafficPolicyLocal {
			notes = append(notes, "externalTrafficPolicy Local")
		}
	}
	if c := w.container(); c.Lifecycle != nil && c.Lifecycle.PreStop != nil {
		if _, known := sleepOf(c); !known {
			notes = append(notes, "how long the preStop hook takes, and whether it stops the program")
		}
	}
	return notes
}

// container returns the container that serves the requests.
func (w *workload) container() *v1.Container { return serving(w.spec, w.serves) }

// serving returns a container of a Deployment.
func serving(d *appsv1.Deployment, name string) *v1.Container {
	return podutil.Find(&v1.Pod{Spec: d.Spec.Template.Spec}, name)
}

// graceOf returns the time from the deletion of a pod until SIGKILL.
func graceOf(d *appsv1.Deployment) time.Duration {
	return time.Duration(*d.Spec.Template.Spec.TerminationGracePeriodSeconds) * time.Second
}

// sleepOf returns how long the preStop hook of a container sleeps, and false if the hook may do something else that takes time.
func sleepOf(c *v1.Container) (time.Duration, bool) {
	if c.Lifecycle == nil || c.Lifecycle.PreStop == nil {
		return 0, true
	}
	switch hook := c.Lifecycle.PreStop; {
	case hook.Sleep != nil:
		return time.Duration(hook.Sleep.Seconds) * time.Second, true
	case hook.Exec != nil:
		return program.SleepOf(hook.Exec.Command)
	}
	return 0, false
}
