package rollout

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"probesim.dev/internal/input"
	"probesim.dev/internal/podutil"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/scenarios/program"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/workloads"
	"probesim.dev/internal/world/apiserver/admission"
	"probesim.dev/internal/world/router"
)

// MaxReplicas is the greatest number of pods that a rollout is simulated for. The number of lost
// requests hardly depends on it.
const MaxReplicas = 100

// workload is a Deployment to roll out.
type workload struct {
	findings
	file       string
	node       *strict.Node
	spec       *appsv1.Deployment // as the API server stores it
	old        *appsv1.Deployment // before the change
	services   []string           // the names of the Services that select its pods
	targets    []target           // those of them that are in the runs
	main       string             // the container that serves if no Service says which
	require    Requirements       // about rollouts, of the options and of its annotation
	containers Requirements       // those that package check judges
	notes      []string           // what is not simulated
	router     Router             // where its requests come from
	shown      *Shown             // unless nil, gets the trace of the run
	drawn      sample             // the runs so far
	ignored    bool               // its rollout does not count
	tried      bool               // it has a change that may help
}

// reader reads manifests.
type reader struct {
	around
	fronts    fronts
	o         *Options
	errs      *strict.Collector
	workloads []*workload
	services  []*service
	others    []*manifests.Object // workloads that are not rolled out
	refused   []*manifests.Object // those that the API server does not accept
}

// read reads the files. It reports each object that the API server rejects.
func (r *reader) read(files []input.File) {
	for _, f := range files {
		objects := manifests.Parse(f.Name, f.Data, r.errs)
		for _, m := range objects.Manifests {
			if m.Load(); m.Node.Bad() {
				r.refused = append(r.refused, m)
			} else if m.Kind.Kind != "Deployment" {
				r.others = append(r.others, m)
			} else if d := r.admit(m); d != nil {
				w := &workload{file: f.Name, node: m.Node, spec: d, ignored: r.o.ignores(m.Node, f.Name)}
				w.require, w.containers = r.o.annotated(m.Node)
				r.workloads = append(r.workloads, w)
			} else {
				r.refused = append(r.refused, m)
			}
		}
		r.around.read(objects)
		r.fronts.read(objects)
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
			r.addService(&service{Service: s, node: n})
		}
	}
}

// passOver takes the errors in objects of kinds that a rollout does not need out of the errors, and
// returns them as text.
func (r *reader) passOver(files []input.File) (others []string) {
	docs := map[string][]*strict.Node{}
	for _, f := range files {
		docs[f.Name], _ = strict.Parse(f.Name, f.Data, &strict.Collector{})
	}
	left := &strict.Collector{}
	for _, e := range r.errs.List() {
		kind := ""
		for _, doc := range docs[e.File] {
			if doc.Pos.Line <= e.Line {
				kind = doc.Field("kind").Value
			}
		}
		switch strings.TrimSuffix(kind, "List") {
		case "", "Deployment", "Service":
			left.Add(e)
		default:
			others = append(others,
				fmt.Sprintf("an invalid %s (%s:%d: %s)", printable.Text(kind), e.File, e.Line, e.Text()))
		}
	}
	*r.errs = *left
	return others
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

// reach finds the Services of each Deployment, and what is in front of them.
func (r *reader) reach() {
	for _, w := range r.workloads {
		r.findServices(w)
		r.findWay(w)
	}
}

// check reports what cannot be rolled out.
func (r *reader) check(from []*workload) {
	for _, w := range r.workloads {
		w.old = w.spec
		r.simulated(w, r.o.Change.Scale)
		if r.o.Change.Kind == Scale && *w.spec.Spec.Replicas == r.o.Change.Scale {
			w.node.Find("spec.replicas").Errorf("scale=%d changes nothing", r.o.Change.Scale)
		}
		if w.spec.Spec.Paused {
			w.node.Find("spec.paused").Errorf("the Deployment is paused: a changed template starts no rollout")
		}
		if r.o.Change.Kind == Undo && *w.spec.Spec.RevisionHistoryLimit == 0 {
			w.node.Find("spec.revisionHistoryLimit").
				Errorf("no earlier ReplicaSet is kept, so there is none to go back to")
		}
		r.findOld(w, from)
		w.notSimulated()
		r.warn(w)
	}
	if len(r.refused) == 0 && !slices.ContainsFunc(r.workloads, func(w *workload) bool { return len(w.targets) == 0 }) {
		return // Services for what is not in the files are fine
	}
	for _, s := range r.services {
		if r.isIdle(s.Service) {
			r.selectsNothing(s)
		}
	}
}

// isIdle reports whether a Service should select pods of the files, and selects none.
func (r *reader) isIdle(s *v1.Service) bool {
	return len(s.Spec.Selector) > 0 && s.Spec.Type != v1.ServiceTypeExternalName &&
		!slices.ContainsFunc(slices.Concat(r.refused, r.others),
			func(m *manifests.Object) bool { return selects(s, m.Namespace(), m.NewPod().Labels) }) &&
		!slices.ContainsFunc(r.workloads,
			func(w *workload) bool { return selects(s, w.spec.Namespace, w.spec.Spec.Template.Labels) })
}

// simulated reports what cannot be simulated of a Deployment to roll out, which can get up to some
// more replicas.
func (r *reader) simulated(w *workload, most int32) {
	if !w.is(r.o.Workload) {
		return
	}
	replicas := w.node.Find("spec.replicas")
	if most = max(most, *w.spec.Spec.Replicas); *w.spec.Spec.Replicas == 0 && r.o.Change.Kind != Scale {
		replicas.Errorf("there are no replicas to roll out: specify --replicas")
		return
	} else if most > MaxReplicas {
		replicas.Errorf("%d replicas are more than the %d that a rollout is simulated for: specify --replicas 10, "+
			"which loses about as many requests", most, MaxReplicas)
		return
	}
	one := w.spec.DeepCopy()
	one.Spec.Replicas = new(int32(1)) // a Deployment without pods can be scaled
	var errs strict.Errors
	if _, err := workloads.Admit(one, r.o.Profile); errors.As(err, &errs) {
		for _, e := range errs {
			w.node.Find(e.Path).Errorf("%s", e.Message)
		}
	} else if err != nil {
		w.node.Errorf("%v", err)
	}
}

// before returns the index of a Deployment in those of --from, or -1.
func (w *workload) before(from []*workload) int {
	return slices.IndexFunc(from,
		func(o *workload) bool { return o.spec.Name == w.spec.Name && o.spec.Namespace == w.spec.Namespace })
}

func (w *workload) sameTemplate(old *workload) bool {
	return equality.Semantic.DeepEqual(old.spec.Spec.Template, w.spec.Spec.Template)
}

// leaveUnchanged leaves out the Deployments that other files have too, with the same Services and
// the same router, and returns their number. Errors in those files are no matter: what is invalid
// there has changed.
func (r *reader) leaveUnchanged(files []input.File) int {
	past := reader{o: r.o, errs: &strict.Collector{}}
	past.read(files)
	past.reach()
	all := len(r.workloads)
	r.workloads = slices.DeleteFunc(r.workloads, func(w *workload) bool {
		i := w.before(past.workloads)
		return i >= 0 && w.router.Name == past.workloads[i].router.Name &&
			equality.Semantic.DeepEqual(w.spec, past.workloads[i].spec) &&
			slices.EqualFunc(w.targets, past.workloads[i].targets, func(a, b target) bool {
				return equality.Semantic.DeepEqual(a.Service, b.Service)
			})
	})
	return all - len(r.workloads)
}

// leaveOut leaves out the Deployments that the files of --from do not have or have with the same
// template, if others change, and names them.
func (r *reader) leaveOut(from []*workload) (names []string) {
	changes := func(w *workload) bool {
		i := w.before(from)
		return i >= 0 && !w.sameTemplate(from[i])
	}
	if from == nil || !slices.ContainsFunc(r.workloads, changes) || r.o.Workload != "" {
		return nil
	}
	r.workloads = slices.DeleteFunc(r.workloads, func(w *workload) bool {
		left := !changes(w)
		if left {
			names = append(names, fmt.Sprintf("%s (%s:%d), which does not change",
				manifests.Title("Deployment", w.spec.Namespace, w.spec.Name), w.file, w.node.Pos.Line))
		}
		return left
	})
	return names
}

// findOld finds the Deployment before the change in the files of --from.
func (r *reader) findOld(w *workload, from []*workload) {
	if from == nil || !w.is(r.o.Workload) {
		return
	}
	i := w.before(from)
	if i < 0 {
		w.node.Find("metadata.name").Errorf("the files of --from have no Deployment of this name")
		return
	}
	w.old = from[i].spec
	r.simulated(from[i], 0)
	if w.old.Spec.Paused {
		from[i].node.Find("spec.paused").Errorf("the Deployment is paused: its pods can have an earlier template")
	}
	if metav1.FormatLabelSelector(w.old.Spec.Selector) != metav1.FormatLabelSelector(w.spec.Spec.Selector) {
		w.node.Find("spec.selector").Errorf("the API server does not accept another selector than in --from")
	} else if w.sameTemplate(from[i]) {
		w.node.Find("spec.template").Errorf("the template is that of --from: it changes nothing, and no pod is " +
			"replaced")
		return
	}
	for _, c := range w.serve() {
		if serving(w.old, c) == nil {
			w.node.Find("spec.template.spec.containers").
				Errorf("the pods of --from have no container %s, which serves the requests", strict.Quote(c))
		}
	}
}

// sleep returns how long the preStop hooks of the containers that serve sleep at least after the
// change, and false if one may do something else that takes time.
func (w *workload) sleep() (least time.Duration, known bool) { return w.sleepIn(w.spec) }

// sleepIn returns the same for the Deployment before or after the change.
func (w *workload) sleepIn(d *appsv1.Deployment) (least time.Duration, known bool) {
	for i, name := range w.serve() {
		slept, is := sleepOf(serving(d, name))
		if !is {
			return 0, false
		}
		if i == 0 || slept < least {
			least = slept
		}
	}
	return least, true
}

// serving returns a container of a Deployment.
func serving(d *appsv1.Deployment, name string) *v1.Container {
	return podutil.Find(&v1.Pod{Spec: d.Spec.Template.Spec}, name)
}

// graceOf returns the time from the deletion of a pod until SIGKILL.
func graceOf(d *appsv1.Deployment) time.Duration {
	return time.Duration(*d.Spec.Template.Spec.TerminationGracePeriodSeconds) * time.Second
}

// sleepOf returns how long the preStop hook of a container keeps the program from its stop: how
// long it sleeps, or until it stops the program. It returns false if the hook may do something else
// that takes time.
func sleepOf(c *v1.Container) (time.Duration, bool) {
	if c == nil || c.Lifecycle == nil || c.Lifecycle.PreStop == nil {
		return 0, true
	}
	if after, stops := program.HookStop(c); stops {
		return after, true
	}
	switch hook := c.Lifecycle.PreStop; {
	case hook.Sleep != nil:
		return time.Duration(hook.Sleep.Seconds) * time.Second, true
	case hook.Exec != nil:
		return program.SleepOf(hook.Exec.Command)
	}
	return 0, false
}

// ErrNoService is the error of Options.Service that no Deployment has.
var ErrNoService = errors.New("there is no Service")

// ErrNoDeployment is the error of files without a Deployment.
var ErrNoDeployment = errors.New("there is no Deployment")

// is reports whether a Deployment has a name, or namespace/name. Each has an empty one.
func (w *workload) is(name string) bool {
	return name == "" || name == w.spec.Name || name == w.spec.Namespace+"/"+w.spec.Name
}

// choose leaves out the Deployments that the options do not name, and those whose pods their
// Service does not select.
func (o *Options) choose(list []*workload) ([]*workload, error) {
	var names, services []string
	named := slices.DeleteFunc(slices.Clone(list), func(w *workload) bool {
		names = append(names, w.spec.Name)
		return !w.is(o.Workload)
	})
	chosen := slices.DeleteFunc(slices.Clone(named), func(w *workload) bool {
		services = append(services, w.services...)
		return o.Service != "" && len(w.counted()) == 0
	})
	missing, name, known := ErrNoService, o.Service, services
	if len(named) == 0 {
		missing, name, known = ErrNoDeployment, o.Workload, names
	}
	switch {
	case len(chosen) > 0:
		return chosen, nil
	case len(known) == 0:
		return nil, fmt.Errorf("%w %q: no Service in the files selects pods of a Deployment", missing, name)
	}
	return nil, fmt.Errorf("%w %s%s; there are: %s", missing, strict.Quote(name),
		strict.DidYouMean(path.Base(name), known), printable.Few(known))
}

// target is a Service, and the container that serves its requests.
type target struct {
	*v1.Service
	node      *strict.Node
	container string
	counted   bool // its requests are
}

func (t *target) name() string   { return t.Namespace + "/" + t.Name }
func (t *target) headless() bool { return t.Spec.ClusterIP == v1.ClusterIPNone }

// service is a Service of the manifests.
type service struct {
	*v1.Service
	node *strict.Node
}

// addService adds a Service, or reports that its file has one of its name before.
func (r *reader) addService(s *service) {
	i := slices.IndexFunc(r.services, func(o *service) bool {
		return o.Name == s.Name && o.Namespace == s.Namespace && o.node.Pos.File == s.node.Pos.File
	})
	if i < 0 {
		r.services = append(r.services, s)
		return
	}
	s.node.Find("metadata.name").Errorf("the Service %s is already defined in line %d", s.Name,
		r.services[i].node.Pos.Line)
}

// selectsNothing reports a Service without pods. A namespace that only one of two manifests has is
// easy to miss.
func (r *reader) selectsNothing(s *service) {
	for _, w := range r.workloads {
		if selects(s.Service, s.Namespace, w.spec.Spec.Template.Labels) {
			s.node.Find("metadata").Errorf("the Service selects no pod: it is in namespace %s, and Deployment %s is "+
				"in namespace %s", s.Namespace, w.spec.Name, w.spec.Namespace)
			return
		}
	}
	s.node.Find("spec.selector").Errorf("the Service selects no pod: no workload in the files has the labels %s",
		labels.SelectorFromSet(s.Spec.Selector))
}

// findServices finds the Services of a Deployment, and the containers that serve their requests.
// Each is counted unless the options name one, but a headless one only without others: kube-proxy
// has no part in its requests.
func (r *reader) findServices(w *workload) {
	containers := w.spec.Spec.Template.Spec.Containers
	w.main = containers[max(0, slices.IndexFunc(containers, func(c v1.Container) bool {
		return !workloads.IsProxy(&c)
	}))].Name
	for _, s := range r.services {
		if !selects(s.Service, w.spec.Namespace, w.spec.Spec.Template.Labels) {
			continue
		}
		if s.Spec.Type == v1.ServiceTypeExternalName {
			w.note("requests to Service %s, which is of type ExternalName and has no endpoints", s.Name)
			continue
		}
		w.services = append(w.services, s.Name)
		w.targets = append(w.targets, target{Service: s.Service, node: s.node, container: w.containerOf(s),
			counted: r.o.Service == "" || r.o.Service == s.Name})
	}
	others := slices.ContainsFunc(w.targets, func(t target) bool { return t.counted && !t.headless() })
	w.targets = slices.DeleteFunc(w.targets, func(t target) bool {
		if t.headless() && others && t.counted {
			w.notes = append(w.notes, "requests to headless Service "+t.Name)
		}
		return t.headless() && (others || !t.counted)
	})
	for _, t := range w.counted() {
		for _, o := range r.workloads {
			if o != w && selects(t.Service, o.spec.Namespace, o.spec.Spec.Template.Labels) {
				w.note("Deployment %s, which gets a part of the requests to Service %s", o.spec.Name, t.Name)
			}
		}
	}
}

// counted returns the Services whose requests are counted.
func (w *workload) counted() (list []*target) {
	for i := range w.targets {
		if w.targets[i].counted {
			list = append(list, &w.targets[i])
		}
	}
	return list
}

// serve returns the containers that serve the requests that are counted: at least one, also without
// a Service.
func (w *workload) serve() (list []string) {
	for _, t := range w.counted() {
		if !slices.Contains(list, t.container) {
			list = append(list, t.container)
		}
	}
	if len(list) == 0 {
		list = []string{w.main}
	}
	return list
}

// serves reports whether a container serves requests, also of Services that are not counted.
func (w *workload) serves(container string) bool {
	return len(w.targets) == 0 && container == w.main || slices.ContainsFunc(w.targets,
		func(t target) bool { return t.container == container })
}

// selects reports whether a Service selects pods with some labels.
func selects(s *v1.Service, namespace string, of map[string]string) bool {
	return len(s.Spec.Selector) > 0 && s.Namespace == namespace &&
		labels.SelectorFromSet(s.Spec.Selector).Matches(labels.Set(of))
}

// containerOf returns the container that the first port of a Service leads to, or the main one.
func (w *workload) containerOf(s *service) string {
	if len(s.Spec.Ports) == 0 {
		return w.main
	}
	port := s.Spec.Ports[0].TargetPort
	has := func(c v1.Container) bool {
		return slices.ContainsFunc(c.Ports, func(p v1.ContainerPort) bool {
			return port.Type == intstr.String && p.Name == port.StrVal ||
				port.Type == intstr.Int && p.ContainerPort == port.IntVal
		})
	}
	pod := &w.spec.Spec.Template.Spec
	if i := slices.IndexFunc(pod.Containers, has); i >= 0 {
		return pod.Containers[i].Name
	}
	if i := slices.IndexFunc(pod.InitContainers, has); i >= 0 {
		w.note("Service %s leads to the sidecar %s, which gets SIGTERM only when the "+
			"other containers have ended", s.Name, pod.InitContainers[i].Name)
	} else if port.Type == intstr.String {
		s.node.Find("spec.ports[0].targetPort").
			Errorf("no container of Deployment %s has a port of the name %s, so the Service has no endpoints for it",
				w.spec.Name, strict.Quote(port.StrVal))
	} else if len(pod.Containers) > 1 && port.IntVal != 0 {
		w.note("which container listens at port %d of Service %s: none has it among "+
			"its ports, and %s is taken", port.IntVal, s.Name, w.main)
	}
	return w.main
}

// front is an Ingress or a route in the files, through which requests from outside come to
// Services.
type front struct {
	*strict.Node
	services []string // namespace/name
	parents  []string // of a route: Gateways, whose classes count; empty: another kind
}

// String names the object for people.
func (f *front) String() string {
	return fmt.Sprintf("%s %s (%s:%d)", f.kind(), f.Find("metadata.name").Value, f.Pos.File, f.Pos.Line)
}

func (f *front) kind() string { return f.Field("kind").Value }

func (f *front) annotation(key string) string { return f.Find("metadata.annotations").Field(key).Value }

// controllers are the classes of IngressClasses, by the controller that an object in the files
// names.
var controllers = map[string]string{
	"k8s.io/ingress-nginx": "nginx", "traefik.io/ingress-controller": "traefik", "ingress.k8s.aws/alb": "alb",
}

// fronts are the objects in front of Services.
type fronts struct {
	list     []*front
	gateways map[string]string // classes by namespace/name
	classes  map[string]string // of Ingresses, by the name of an IngressClass
}

// read adds the objects of a file.
func (f *fronts) read(objects *manifests.Objects) {
	if f.gateways == nil {
		f.gateways, f.classes = map[string]string{}, map[string]string{}
	}
	for _, n := range objects.Others() {
		group, _, _ := strings.Cut(n.Field("apiVersion").Value, "/")
		kind := n.Field("kind").Value
		switch ofGateways := group == "gateway.networking.k8s.io"; {
		case ofGateways && kind == "Gateway":
			f.gateways[nameIn(namespaceOf(n), n.Field("metadata"))] = n.Find("spec.gatewayClassName").Value
		case ofGateways && strings.HasSuffix(kind, "Route"):
			f.addRoute(n)
		case group != "networking.k8s.io" && group != "extensions":
		case kind == "IngressClass":
			f.classes[n.Find("metadata.name").Value] = controllers[n.Find("spec.controller").Value]
		case kind == "Ingress":
			f.addIngress(n)
		}
	}
}

func namespaceOf(n *strict.Node) string {
	return cmp.Or(n.Find("metadata.namespace").Value, metav1.NamespaceDefault)
}

// nameIn returns the namespace, unless a reference or a metadata has another one, and the name.
func nameIn(namespace string, n *strict.Node) string {
	return cmp.Or(n.Field("namespace").Value, namespace) + "/" + n.Field("name").Value
}

// addIngress adds an Ingress.
func (f *fronts) addIngress(n *strict.Node) {
	own := &front{Node: n}
	backends := []*strict.Node{n.Find("spec.defaultBackend"), n.Find("spec.backend")} // the last before v1
	for _, rule := range n.Find("spec.rules").Items {
		for _, p := range rule.Find("http.paths").Items {
			backends = append(backends, p.Field("backend"))
		}
	}
	for _, b := range backends {
		if name := cmp.Or(b.Find("service.name").Value, b.Field("serviceName").Value); name != "" {
			own.services = append(own.services, namespaceOf(n)+"/"+name)
		}
	}
	f.list = append(f.list, own)
}

// addRoute adds a route of the Gateway API.
func (f *fronts) addRoute(n *strict.Node) {
	own := &front{Node: n}
	for _, p := range n.Find("spec.parentRefs").Items {
		name := ""
		if p.Field("kind").Value != "Service" { // as of a mesh
			name = nameIn(namespaceOf(n), p)
		}
		own.parents = append(own.parents, name)
	}
	for _, rule := range n.Find("spec.rules").Items {
		for _, b := range rule.Field("backendRefs").Items {
			if kind := cmp.Or(b.Field("kind").Value, "Service"); kind == "Service" && b.Field("name").Value != "" {
				own.services = append(own.services, nameIn(namespaceOf(n), b))
			}
		}
	}
	f.list = append(f.list, own)
}

// way is how requests come to a Deployment: through a router, or through something that is not
// simulated.
type way struct {
	of      string   // the object, for people
	router  string   // empty: it is not simulated
	because []string // what in the object says so
}

// ways returns the ways to the Services of a Deployment from outside, without those that are
// kube-proxy's.
func (f *fronts) ways(w *workload) (list []way) {
	for _, t := range w.counted() {
		if own, is := balancerOf(t.Service); is {
			list = append(list, own)
		}
		for _, in := range f.list {
			if !slices.Contains(in.services, t.name()) {
				continue
			}
			for _, parent := range in.parents {
				list = append(list, f.through(in, f.gateways[parent], t.Service))
			}
			if len(in.parents) == 0 {
				class := cmp.Or(in.Find("spec.ingressClassName").Value, in.annotation("kubernetes.io/ingress.class"))
				list = append(list, f.through(in, class, t.Service))
			}
		}
	}
	return list
}

// through returns the way that an object of a class in front of a Service makes.
func (f *fronts) through(in *front, class string, s *v1.Service) way {
	to := way{of: in.String()}
	if class != "" {
		to.because = []string{"class " + class}
	}
	if c := f.classes[class]; c != "" {
		class = c
	}
	nodes := func(because string) {
		to.router, to.because = router.KubeProxy, append(to.because, because)
	}
	switch {
	case class == "nginx" && in.kind() == "Ingress":
		to.router = "ingress-nginx"
		if strings.EqualFold(in.annotation("nginx.ingress.kubernetes.io/service-upstream"), "true") {
			nodes("service-upstream")
		}
	case class == "traefik":
		to.router = "traefik"
		if strings.EqualFold(s.Annotations["traefik.ingress.kubernetes.io/service.nativelb"], "true") {
			nodes("nativelb")
		}
	case class == "alb":
		const key = "alb.ingress.kubernetes.io/target-type"
		if strings.EqualFold(cmp.Or(s.Annotations[key], in.annotation(key)), "ip") {
			to.router, to.because = "alb-ip", append(to.because, "target-type ip")
		} else {
			nodes("target-type instance, so its targets are nodes")
		}
	case class == "gce", class == "gce-internal", strings.HasPrefix(class, "gke-l7"):
		to.router = "neg"
		if strings.Contains(strings.ReplaceAll(s.Annotations["cloud.google.com/neg"], " ", ""), `"ingress":false`) {
			nodes("without network endpoint groups, so its targets are nodes")
		}
	case class == "" && slices.Contains(in.parents, ""):
		to.because = []string{"its parent is a Service, so a mesh decides"}
	case class == "" && in.kind() != "Ingress":
		to.because = []string{"its Gateway is not in the files"}
	case class == "":
		to.because = []string{"it names no class, so the default one of the cluster counts"}
	}
	return to
}

// balancerOf returns the way through the load balancer of a Service, if it is not kube-proxy's.
func balancerOf(s *v1.Service) (way, bool) {
	if s.Annotations["service.cilium.io/lb-l7"] == "enabled" {
		return way{of: "The Envoy of Cilium", because: []string{"service.cilium.io/lb-l7 of Service " + s.Name}}, true
	} else if s.Spec.Type != v1.ServiceTypeLoadBalancer {
		return way{}, false
	}
	const aws = "service.beta.kubernetes.io/aws-load-balancer-"
	if s.Annotations[aws+"nlb-target-type"] == "ip" || s.Annotations[aws+"type"] == "nlb-ip" {
		return way{"Service " + s.Name, "nlb-ip", []string{"type LoadBalancer, an NLB with IP targets"}}, true
	}
	return way{}, false
}

// gate returns the readiness gate that a load balancer of a Deployment has, or the label that adds
// it; or nothing, as of other routers, or if the Deployment stops all pods before.
func (r *reader) gate(w *workload) string {
	const ofGKE, inject = "cloud.google.com/load-balancer-neg-ready", "elbv2.k8s.aws/pod-readiness-gate-inject"
	_, unavailable := w.fenceposts()
	if lb, named := router.NamedLoadBalancer(w.router.Name); !named || lb.Syncs ||
		*w.spec.Spec.Replicas <= unavailable {
		return ""
	} else if lb.Name == "neg" {
		return ofGKE
	}
	for _, gate := range w.node.Find("spec.template.spec.readinessGates").Items {
		name := gate.Field("conditionType").Value
		if name == ofGKE || strings.HasPrefix(name, "target-health.") { // those of AWS
			return name
		}
	}
	if has(r.around.space(w), inject, "enabled") {
		return inject + " of Namespace " + w.spec.Namespace
	}
	return ""
}

// leadNowhere names the objects in front of Services that are not in the files, or that select no
// pod in them.
func (r *reader) leadNowhere() (list []string) {
	for _, in := range r.fronts.list {
		for _, name := range slices.Compact(slices.Sorted(slices.Values(in.services))) {
			why := "is not in the files"
			i := slices.IndexFunc(r.services, func(s *service) bool { return name == s.Namespace+"/"+s.Name })
			if i >= 0 && r.isIdle(r.services[i].Service) {
				why = "selects no pod in the files"
			} else if i >= 0 {
				continue
			}
			list = append(list, fmt.Sprintf("what %s leads to (Service %s %s)", in, path.Base(name), why))
		}
	}
	return list
}

// findWay chooses the router of a Deployment: that of the options, or the slowest one that the
// files put in front, or kube-proxy. It doubts the ways that are not simulated.
func (r *reader) findWay(w *workload) {
	defer func() { w.router.gate = r.gate(w) }()
	w.router = Router{Name: r.o.Router}
	if r.o.Router != "" {
		return
	}
	w.router.Name = router.KubeProxy
	slowest, ways := time.Duration(0), r.fronts.ways(w)
	for _, way := range ways {
		lb, _ := router.NamedLoadBalancer(way.router)
		if takes := lb.RemoveMost + lb.MinSync + lb.Gather; way.router != "" && (slowest == 0 || takes > slowest) {
			slowest = takes
			w.router = Router{Name: way.router, From: way.of, Because: strings.Join(way.because, ", ")}
		}
	}
	for _, way := range ways {
		if way.router == "" {
			w.doubt("%s is in front, and how long it takes to follow the pods is not known: %s. The figures are those "+
				"of %s. If you have measured it, say --router 'gateway: add 5s, remove 5s'.", way.of,
				strings.Join(way.because, ", "), w.router.Name)
		}
	}
}
