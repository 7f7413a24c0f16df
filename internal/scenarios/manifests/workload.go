package manifests

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"probesim.dev/internal/lists"
	"probesim.dev/internal/podutil"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/scenarios/program"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/world/apiserver/admission"
)

// Workload is an object in a manifest that creates pods.
type Workload struct {
	strict.Pos
	Kind string
	Name string // metadata.name, or else metadata.generateName
	// the name by which a scenario refers to it: NAMESPACE/NAME if the file has this name in
	// several namespaces
	Ref      string
	RefKind  string   // the Kind, if another kind has the same name, so that a scenario must name it
	Replicas int      // number of pods; 1 for a Pod
	Pod      *v1.Pod  // the first pod, as the API server stores it, with defaults
	Notes    []string // what is wrong with the pod although the API server accepts it
	// NotSimulated names what can decide what happens to the pods and is not simulated, such as
	// progressDeadlineSeconds.
	NotSimulated []string
	// Template is the path of the pod template in the workload, such as spec.template. It is empty
	// for a Pod.
	Template string
	// Owner is the workload that the object stands for: the one that made it, if the file does not
	// have it. Otherwise, it is nil.
	Owner *Owner

	root, node *strict.Node // of the pod template, and of the object
}

// Annotation is an annotation in a manifest.
type Annotation struct {
	Key, Value       string
	KeyPos, ValuePos strict.Pos
	Path             string
}

// Annotations returns the annotations of a workload whose key begins with a prefix: its own ones,
// and then those of its pod template.
func (w *Workload) Annotations(prefix string) []Annotation {
	var list []Annotation
	for _, object := range []*strict.Node{w.node, w.root} {
		all := object.Find("metadata.annotations")
		for i, key := range all.Keys {
			if value := all.Items[i]; strings.HasPrefix(key.Name, prefix) {
				list = append(list, Annotation{key.Name, value.Value, key.Pos, value.Pos, value.Path()})
			}
		}
		if w.Template == "" {
			break
		}
	}
	return list
}

// At returns the position of a field of the pod, as in
// spec.containers[0].livenessProbe.periodSeconds. If the manifest does not have the field, At
// returns the position of the innermost field around it.
func (w *Workload) At(field string) strict.Pos { return w.root.Find(field).Pos }

// PodNode returns the pod template as it is written.
func (w *Workload) PodNode() *strict.Node { return w.root }

// File is the content of a file of manifests.
type File struct {
	Workloads []Workload
	Unchecked []Unchecked // the other objects, in the order of the file
	Scenarios int         // number of Scenario documents
	Services  []Service
}

// Has reports whether the manifest has a field of the pod.
func (w *Workload) Has(field string) bool { return w.root.Find(field).Written() }

// Read reads a file of manifests in memory and checks its workloads as LoadBytes does. The error is
// of type Errors. A valid workload may still use fields that the simulator does not support.
// Objects that another workload made are left out.
func Read(name string, data []byte) (*File, error) {
	errs := &strict.Collector{}
	f := Parse(name, data, errs)
	m := &File{Scenarios: len(f.Scenarios)}
	list, owners := f.unowned()
	for _, w := range list {
		if w.Load(); w.Node.Bad() {
			continue
		}
		pod := w.NewPod()
		admission.Default(pod)
		m.Workloads = append(m.Workloads,
			Workload{Pos: w.Node.Pos, Kind: w.Kind.Kind, Name: w.Name, Replicas: w.Replicas, Pod: pod,
				Notes: PortNotes(pod, &PodErrors{Manifest: w}), NotSimulated: NotSimulated(w, pod),
				Template: w.Kind.Template, Owner: owners[w], root: w.Root(), node: w.Node})
	}
	for i := range m.Workloads {
		w := &m.Workloads[i]
		w.Ref = w.Name
		for _, o := range m.Workloads {
			switch {
			case o.Name != w.Name:
			case o.Pod.Namespace != w.Pod.Namespace:
				w.Ref = w.Pod.Namespace + "/" + w.Name
			case o.Kind != w.Kind:
				w.RefKind = w.Kind
			}
		}
	}
	for _, n := range f.others {
		checkAnnotations(n)
		if isService(n) {
			m.Services = append(m.Services, serviceIn(n))
		}
	}
	m.Unchecked = f.unchecked()
	m.disruptionBudgets(f.others)
	return m, errs.Err()
}

// annotationPrefix begins the keys of the annotations that probesim reads.
const annotationPrefix = "probesim.dev/"

// checkAnnotations reports the annotations of probesim on an object that is no workload: nothing
// would read them.
func checkAnnotations(n *strict.Node) {
	all := n.Find("metadata.annotations")
	for i, key := range all.Keys {
		if strings.HasPrefix(key.Name, annotationPrefix) {
			all.Items[i].Errorf("is for workloads, and a %s is none: write it on one of %s",
				printable.Text(n.Field("kind").Value), Workloads)
		}
	}
}

// Workloads lists what can be a workload, for people.
var Workloads = strings.Join(WorkloadKinds(), ", ") + ", or a custom resource with containers in spec.template, such " +
	"as a Rollout or a Service of Knative"

// IsWorkload reports whether objects with this apiVersion and built-in kind create pods.
func IsWorkload(apiVersion, kind string) bool {
	w := KindNamed(kind)
	return w != nil && w.APIVersion == apiVersion
}

// Object is a workload: a pod, or an object with a pod template. It comes from a file or from a Go
// program.
type Object struct {
	Kind   *workloadKind
	Node   *strict.Node // where errors about the object are reported; empty if the object comes from a Go program
	Name   string       // the name that scenarios use: metadata.name, or else metadata.generateName
	object APIObject    // nil until load decodes it from node

	loaded      bool
	Size        int // number of values in the file
	Comparisons int // number of pairs of items in its lists
	meta        *metav1.ObjectMeta
	pod         *v1.Pod // as written; the pod of a template has no name
	Replicas    int
	own         field.ErrorList // why the API server would reject the object, without errors about its pods
}

// YAML returns the object as it is written, with the apiVersion and kind that a list gives it.
func (m *Object) YAML() string {
	for _, of := range [][2]string{{"apiVersion", m.Kind.APIVersion}, {"kind", m.Kind.Kind}} {
		if !m.Node.Field(of[0]).Written() {
			m.Node.Put(of[0], of[0], strict.Scalar, of[1])
		}
	}
	return m.Node.YAML(func(*strict.Node) bool { return false })
}

// workloadKind is a kind of object that creates pods.
type workloadKind struct {
	APIVersion, Kind string
	// Template is the path of the pod template; empty if the object is the pod.
	Template string
	// Count is the path of the field with the number of pods; empty if there is none.
	Count string
	// restarts are the restart policies that the API server accepts in the template; nil for all.
	restarts []v1.RestartPolicy
	goType
}

// goType is the Go type of a kind of object.
type goType struct {
	Make func() APIObject
	is   func(APIObject) bool
	// pick sets the fields of a manifest from its object.
	pick func(*Object)
}

var (
	restartAlways = []v1.RestartPolicy{v1.RestartPolicyAlways}
	restartOfJobs = []v1.RestartPolicy{v1.RestartPolicyOnFailure, v1.RestartPolicyNever}
)

// Kinds are the kinds of objects that create pods. Their defaults and the restart policies that
// they accept are in pkg/apis/apps and pkg/apis/batch at v1.37.0.
var Kinds = []workloadKind{
	{"v1", "Pod", "", "", nil, typed(func(m *Object, o *v1.Pod) {
		m.meta, m.pod, m.Replicas = &o.ObjectMeta, o, 1
	})},
	{"apps/v1", "Deployment", "spec.template", "spec.replicas", restartAlways,
		typed(func(m *Object, o *appsv1.Deployment) {
			m.controlled(&o.ObjectMeta, &o.Spec.Template, o.Spec.Replicas, o.Spec.Selector)
		})},
	{"apps/v1", "StatefulSet", "spec.template", "spec.replicas", restartAlways,
		typed(func(m *Object, o *appsv1.StatefulSet) {
			m.controlled(&o.ObjectMeta, &o.Spec.Template, o.Spec.Replicas, o.Spec.Selector)
			m.pod.Spec.Volumes = withClaimVolumes(m.pod.Spec.Volumes, o.Spec.VolumeClaimTemplates)
		})},
	{"apps/v1", "DaemonSet", "spec.template", "", restartAlways, typed(func(m *Object, o *appsv1.DaemonSet) {
		m.controlled(&o.ObjectMeta, &o.Spec.Template, nil, o.Spec.Selector) // one pod per node, and there is one node
	})},
	{"apps/v1", "ReplicaSet", "spec.template", "spec.replicas", restartAlways,
		typed(func(m *Object, o *appsv1.ReplicaSet) {
			m.controlled(&o.ObjectMeta, &o.Spec.Template, o.Spec.Replicas, o.Spec.Selector)
		})},
	{"v1", "ReplicationController", "spec.template", "spec.replicas", restartAlways,
		typed(func(m *Object, o *v1.ReplicationController) {
			template := cmp.Or(o.Spec.Template, &v1.PodTemplateSpec{})
			selector := o.Spec.Selector
			if len(selector) == 0 { // pkg/apis/core/v1/defaults.go at v1.37.0
				selector = template.Labels
			}
			m.controlled(&o.ObjectMeta, template, o.Spec.Replicas, &metav1.LabelSelector{MatchLabels: selector})
		})},
	{"batch/v1", "Job", "spec.template", "spec.parallelism", restartOfJobs, typed(func(m *Object, o *batchv1.Job) {
		admission.DefaultJob(o)
		m.template(&o.ObjectMeta, &o.Spec.Template, parallelPods(&o.Spec))
		m.own = admission.ValidateJob(o)
	})},
	{"batch/v1", "CronJob", "spec.jobTemplate.spec.template", "spec.jobTemplate.spec.parallelism", restartOfJobs,
		typed(func(m *Object, o *batchv1.CronJob) {
			job := &o.Spec.JobTemplate.Spec
			m.template(&o.ObjectMeta, &job.Template, parallelPods(job))
			m.own = admission.ValidateCronJob(o)
		})},
}

// typed returns the Go type of a kind from the function that picks the parts of an object.
func typed[T any, P interface {
	*T
	APIObject
}](pick func(*Object, P)) goType {
	return goType{
		Make: func() APIObject { return P(new(T)) },
		is:   func(o APIObject) bool { _, is := o.(P); return is },
		pick: func(m *Object) { pick(m, m.object.(P)) },
	}
}

func (m *Object) template(meta *metav1.ObjectMeta, template *v1.PodTemplateSpec, replicas *int32) {
	m.meta, m.Replicas = meta, 1
	m.pod = &v1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	if replicas != nil {
		m.Replicas = int(*replicas)
	}
}

// controlled sets the fields of the workload of a controller.
func (m *Object) controlled(meta *metav1.ObjectMeta, template *v1.PodTemplateSpec, replicas *int32,
	selector *metav1.LabelSelector) {
	m.template(meta, template, replicas)
	m.own = admission.ValidateController(m.Kind.Kind, meta, replicas, selector, template)
}

// withClaimVolumes adds the volumes of claim templates in front of the others. They replace volumes
// of the same name (updateStorage in pkg/controller/statefulset at v1.37.0).
func withClaimVolumes(volumes []v1.Volume, templates []v1.PersistentVolumeClaim) []v1.Volume {
	var all []v1.Volume
	for _, t := range templates {
		claim := &v1.PersistentVolumeClaimVolumeSource{ClaimName: t.Name}
		all = append(all, v1.Volume{Name: t.Name, VolumeSource: v1.VolumeSource{PersistentVolumeClaim: claim}})
	}
	for _, v := range volumes {
		if !slices.ContainsFunc(templates, func(t v1.PersistentVolumeClaim) bool { return t.Name == v.Name }) {
			all = append(all, v)
		}
	}
	return all
}

// parallelPods returns how many pods of a job run at the same time.
func parallelPods(job *batchv1.JobSpec) *int32 {
	if job.Parallelism != nil && job.Completions != nil {
		return new(min(*job.Parallelism, *job.Completions))
	}
	return job.Parallelism
}

// ReplicasUnread reports whether the number of pods is written but could not be read.
func (m *Object) ReplicasUnread() bool {
	spec := m.Node.Find(strings.TrimSuffix(m.Kind.Template, ".template"))
	return slices.ContainsFunc([]string{"replicas", "parallelism", "completions"},
		func(name string) bool { return spec.Field(name).Unread() })
}

func KindNamed(name string) *workloadKind {
	return lists.Find(Kinds, func(x *workloadKind) bool { return x.Kind == name })
}

// TemplateOf returns the path of the pod template in objects of a kind, such as spec.template. It
// is empty for a Pod.
func TemplateOf(kind string) string {
	if k := KindNamed(kind); k != nil {
		return k.Template
	}
	return "spec.template"
}

// WorkloadKinds returns the built-in kinds of objects that create pods.
func WorkloadKinds() []string {
	return printable.Words(Kinds, func(k workloadKind) string { return k.Kind })
}

// Namespace returns the namespace of the object, which need not be loaded.
func (m *Object) Namespace() string {
	if m.object != nil {
		return cmp.Or(m.object.GetNamespace(), v1.NamespaceDefault)
	}
	return cmp.Or(valueOf(m.Node.Find("metadata.namespace")), v1.NamespaceDefault)
}

// Root returns the node that has the metadata and spec of the pod.
func (m *Object) Root() *strict.Node { return m.Node.Find(m.Kind.Template) }

// Load decodes the object as far as possible, and reports why the API server would reject it or its
// pods.
func (m *Object) Load() {
	if m.loaded {
		return
	}
	m.loaded = true
	m.Size, _ = m.Node.Size()
	m.Comparisons = m.Node.Comparisons()
	if m.object == nil {
		m.object = m.Kind.Make()
		if c, is := m.object.(*custom); is {
			c.decode(m.Node)
		} else {
			strict.Decode(m.Node, m.object)
		}
	}
	if m.object.GetName() == "" && m.object.GetGenerateName() != "" {
		m.object.SetName(admission.GeneratedName(m.object.GetGenerateName(), 0))
	}
	m.Kind.pick(m)
	m.reportObjectErrors()
	pod := m.NewPod()
	admission.Default(pod)
	if grace := m.pod.Spec.TerminationGracePeriodSeconds; m.Kind.Template != "" && grace != nil {
		pod.Spec.TerminationGracePeriodSeconds = grace // check the written value, even if pods of this kind replace it
	}
	m.Check(&PodErrors{Manifest: m}, pod)
}

// reportObjectErrors reports why the API server would reject the object. It leaves out errors about
// a selector if a part of the selector or of the labels could not be read.
func (m *Object) reportObjectErrors() {
	selector, labels := m.Node.Find("spec.selector"), m.Root().Find("metadata.labels")
	unknown := selector.Bad() || labels.Bad()
	for _, e := range m.own {
		if at := m.Node.Find(e.Field); !unknown ||
			at.Path() != labels.Path() && !strings.HasPrefix(at.Path(), selector.Path()) {
			at.Errorf("%s", e.ErrorBody())
		}
	}
}

// PodName returns the name of the pod of a replica. The pods of every controller are named like the
// pods of a StatefulSet. Names that would be too long are shortened.
func (m *Object) PodName(replica int) string {
	switch m.Kind.Kind {
	case "Pod":
		return m.meta.Name
	case "StatefulSet":
		return m.meta.Name + "-" + strconv.Itoa(replica)
	}
	return admission.GeneratedName(m.meta.Name+"-", replica)
}

// NewPod returns a copy of the pod, as replica 0, as a client sends it to the API server: without
// the fields that the API server sets. The UID of a pod is kept.
func (m *Object) NewPod() *v1.Pod {
	pod := m.pod.DeepCopy()
	pod.Status = v1.PodStatus{}
	pod.Namespace, pod.Name = m.meta.Namespace, m.PodName(0)
	if m.Kind.Template != "" {
		pod.UID, pod.GenerateName, pod.OwnerReferences = "", "", nil
	}
	// the StatefulSet controller sets both (initIdentity in pkg/controller/statefulset at v1.37)
	if m.Kind.Kind == "StatefulSet" {
		pod.Spec.Hostname, pod.Spec.Subdomain = "", ""
	}
	pod.DeletionTimestamp, pod.DeletionGracePeriodSeconds = nil, nil
	pod.CreationTimestamp = metav1.Time{}
	pod.ManagedFields, pod.ResourceVersion, pod.Generation = nil, "", 0
	return pod
}

// Check reports why the API server would reject the pod, whose defaults are set.
func (m *Object) Check(errs *PodErrors, pod *v1.Pod) {
	for _, e := range admission.Validate(pod) {
		// the name of the object, which was checked, is the source of other names
		if e.Field != "metadata.name" || m.Kind.Template == "" {
			errs.report(pod, e)
		}
	}
	path, policy := field.NewPath("spec", "restartPolicy"), pod.Spec.RestartPolicy
	switch {
	case m.Kind.restarts == nil || slices.Contains(m.Kind.restarts, policy):
	case policy == v1.RestartPolicyAlways: // written, or by default
		errs.report(pod, field.Required(path,
			fmt.Sprintf("valid values: %q, %q", m.Kind.restarts[0], m.Kind.restarts[1])))
	default:
		errs.report(pod, field.NotSupported(path, policy, m.Kind.restarts))
	}
}

// PortNotes returns a note for each unknown port of the containers of a pod.
func PortNotes(pod *v1.Pod, errs *PodErrors) []string {
	var notes []string
	for path, container := range Containers(pod) {
		for _, port := range program.UnknownPorts(container) {
			notes = append(notes, fmt.Sprintf("%s: %s", errs.At(pod, path+"."+port.Path).Pos, port.Note(container)))
		}
	}
	return notes
}

// Containers returns the containers of a pod with their paths, such as spec.initContainers[0].
func Containers(pod *v1.Pod) iter.Seq2[string, *v1.Container] {
	return func(yield func(string, *v1.Container) bool) {
		i, field := 0, "initContainers"
		for c := range podutil.Containers(&pod.Spec) {
			if field == "initContainers" && i == len(pod.Spec.InitContainers) {
				i, field = 0, "containers"
			}
			if !yield(fmt.Sprintf("spec.%s[%d]", field, i), c) {
				return
			}
			i++
		}
	}
}

// Deployment returns a copy of the object, as a client sends it to the API server, with the
// template of a pod; nil if it is no Deployment.
func (m *Object) Deployment(pod *v1.Pod, replicas int) *appsv1.Deployment {
	object, is := m.object.(*appsv1.Deployment)
	if !is {
		return nil
	}
	d := object.DeepCopy()
	d.Namespace, d.Name, d.UID, d.ResourceVersion = m.Namespace(), m.Name, "", ""
	d.Status = appsv1.DeploymentStatus{}
	d.Spec.Replicas = new(int32(replicas))
	d.Spec.Template.Labels, d.Spec.Template.Annotations = pod.Labels, pod.Annotations
	d.Spec.Template.Spec = *pod.Spec.DeepCopy()
	return d
}

// Title returns the name of a workload for people, with its namespace unless that is the default
// one.
func Title(kind, namespace, name string) string {
	if namespace != "" && namespace != v1.NamespaceDefault {
		name = namespace + "/" + name
	}
	return kind + " " + name
}
