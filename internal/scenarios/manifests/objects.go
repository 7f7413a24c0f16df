package manifests

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/strict"
	"probesim.dev/scenarios/format"
)

// Replace replaces workloads of a file by those that stand for them. A file with scenarios also
// gets the workloads that it does not have.
func (f *Objects) Replace(instead []*Object) {
	for _, m := range instead {
		if f.replaceOne(m) || len(f.Scenarios) == 0 {
			continue
		}
		f.Manifests = append(f.Manifests, m)
		f.ByName[m.Name] = append(f.ByName[m.Name], m)
	}
}

func (f *Objects) replaceOne(m *Object) bool {
	found := false
	for _, list := range [][]*Object{f.Manifests, f.ByName[m.Name]} {
		for i, old := range list {
			if old.Kind.Kind == m.Kind.Kind && old.Name == m.Name && namespace(old.Node) == namespace(m.Node) {
				list[i], found = m, true
			}
		}
	}
	return found
}

// namespace is the namespace that an object is written with.
func namespace(n *strict.Node) string { return n.Find("metadata.namespace").Value }

// Objects holds the objects of one file.
type Objects struct {
	Name      string
	Scenarios []*strict.Node
	Manifests []*Object
	ByName    map[string][]*Object
	others    []*strict.Node        // objects of other kinds
	names     map[string]strict.Pos // positions of manifests by apiVersion, kind, namespace and name

	// If one of these is set, an unknown name may belong to an object that could not be read.
	Broken  bool            // a part of the file, or the name of a workload, could not be read
	refused map[string]bool // names of rejected objects
}

// MayContain reports whether a workload of this name may be in the file although none was found.
func (f *Objects) MayContain(name string) bool { return f.Broken || f.refused[name] }

// refuse remembers a rejected object.
func (f *Objects) refuse(n *strict.Node) { f.refused[n.Find("metadata.name").Value] = true }

// maxObjects is the limit of objects in a file, including the items of lists.
const maxObjects = 10_000

// sort sorts the objects of a file into manifests, scenarios and other objects. Whether other
// objects are an error depends on the use of the file.
func (f *Objects) sort(docs []*strict.Node) {
	f.names, f.ByName, f.refused = map[string]strict.Pos{}, map[string][]*Object{}, map[string]bool{}
	for _, doc := range docs {
		if f.full(doc) {
			return
		}
		if len(docs) == 1 {
			doc = whole(doc)
		}
		f.object(doc, doc.Field("apiVersion"), doc.Field("kind"))
	}
}

// whole returns an object that has a document without a type, if that is a part of a pod, a pod
// template without its workload, or a part of a container.
func whole(n *strict.Node) *strict.Node {
	if isContainer(n) {
		n = n.Within("[0]")
	}
	if n.Kind == strict.Sequence && slices.ContainsFunc(n.Items, isContainer) {
		n = n.Within("containers")
	}
	if only[v1.PodSpec](n) && slices.ContainsFunc(n.Field("containers").Items, isContainer) ||
		only[appsv1.DeploymentSpec](n) && n.Find("template.spec.containers").Kind == strict.Sequence {
		n = n.Within("spec")
	}
	apiVersion, kind, containers := "v1", "Pod", n.Find("spec.containers")
	if !containers.Written() { // of a custom resource, only the template counts
		apiVersion, kind, containers = "fragment.probesim.dev/v1", "Fragment", n.Find("spec.template.spec.containers")
	}
	if n.Kind != strict.Mapping || n.Field("apiVersion").Written() || n.Field("kind").Written() ||
		containers.Kind != strict.Sequence {
		return n
	}
	put := func(to *strict.Node, field, value string) {
		if !to.Field(field).Written() && to.Kind == strict.Mapping {
			to.Put(field, field, strict.Scalar, value)
		}
	}
	for _, container := range containers.Items {
		put(container, "name", "fragment")
		put(container, "image", "fragment")
	}
	put(n, "apiVersion", apiVersion)
	put(n, "kind", kind)
	if !n.Field("metadata").Written() {
		put(n.Put("metadata", "metadata", strict.Mapping, ""), "name", "fragment")
	}
	return n
}

func (f *Objects) full(n *strict.Node) bool {
	if len(f.Scenarios)+len(f.Manifests)+len(f.others) < maxObjects {
		return false
	}
	n.Errorf("the file has more than %d objects", maxObjects)
	return true
}

func (f *Objects) object(n, apiVersion, kind *strict.Node) {
	if !hasType(n, apiVersion, kind) {
		f.refuse(n)
		return
	}
	isScenario := kind.Value == "Scenario" || kind.Value == "ScenarioList"
	list, isList := strings.CutSuffix(kind.Value, "List")
	switch w := KindNamed(list); {
	case IsCustom(apiVersion.Value) && !isScenario:
		if isCustomWorkload(n, apiVersion) {
			f.manifest(n, customKind(apiVersion.Value, kind.Value))
		} else {
			f.others = append(f.others, n)
		}
	case isScenario && apiVersionIs(apiVersion, kind, format.APIVersion):
		if isList {
			f.items(n, apiVersion, scalar(list))
		} else {
			f.Scenarios = append(f.Scenarios, n)
		}
	case isScenario: // with a wrong apiVersion, which is reported
	case kind.Value == "List":
		if apiVersionIs(apiVersion, kind, "v1") {
			f.items(n, nil, nil)
		}
	case w == nil:
		if checkKind(n, apiVersion, kind) {
			f.others = append(f.others, n)
		} else {
			f.refuse(n)
		}
	case !apiVersionIs(apiVersion, kind, w.APIVersion):
		selector := n.Find("spec.selector")
		selector.ErrorIf(w.APIVersion == "apps/v1" && n.Find("spec.template").Written() && !selector.Written(),
			"is required in apps/v1, and must match the labels of the pods")
		if !isList {
			f.refuse(n)
		}
	case isList:
		f.items(n, apiVersion, scalar(list))
	default:
		f.manifest(n, w)
	}
}

// only reports whether a document is a mapping that has fields of a type only.
func only[Type any](n *strict.Node) bool {
	fields := map[string]bool{}
	for field := range reflect.TypeFor[Type]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		fields[name] = true
	}
	other := func(key strict.Key) bool { return !fields[key.Name] }
	return n.Kind == strict.Mapping && !slices.ContainsFunc(n.Keys, other)
}

// isContainer reports whether a document is no object, but a part of a container with a probe.
// Values of a chart also have other fields.
func isContainer(n *strict.Node) bool {
	return only[v1.Container](n) && n.Field("image").Kind != strict.Mapping &&
		slices.ContainsFunc(n.Keys, func(key strict.Key) bool {
			return strings.HasSuffix(key.Name, "Probe") && n.Field(key.Name).Kind == strict.Mapping
		})
}

// hasType reports whether an object has an apiVersion and a kind.
func hasType(n, apiVersion, kind *strict.Node) bool {
	if n.Kind != strict.Mapping {
		n.Errorf("must be a Kubernetes object, a mapping with apiVersion and kind")
		return false
	}
	says := true
	for _, field := range []*strict.Node{apiVersion, kind} {
		if field.Kind != strict.Scalar || valueOf(field) == "" {
			field.Errorf("is required: every document names its type, as in apiVersion: v1, kind: Pod")
			says = false
		}
	}
	return says
}

func apiVersionIs(apiVersion, kind *strict.Node, want string) bool {
	if apiVersion.Value == want {
		return true
	}
	for _, old := range removed {
		of := strings.TrimSuffix(kind.Value, "List")
		if old.apiVersion == apiVersion.Value && slices.Contains(strings.Fields(old.kinds), of) {
			apiVersion.Errorf("%q has no kind %s since %s: write %s", apiVersion.Value, kind.Value, old.release, want)
			return false
		}
	}
	apiVersion.Errorf("%q has no kind %s: write %s", apiVersion.Value, kind.Value, want)
	return false
}

// scalar returns a node for a value that a list gives to all its items.
func scalar(v string) *strict.Node { return &strict.Node{Kind: strict.Scalar, Tag: "!!str", Value: v} }

// items adds the objects of a list. Items may omit the kind and apiVersion that the list implies.
func (f *Objects) items(n, apiVersion, kind *strict.Node) {
	strict.CheckKeys(n, "apiVersion", "kind", "metadata", "items")
	items := n.Field("items")
	items.ErrorIf(items.Written() && items.Kind != strict.Sequence, "must be a list")
	for _, item := range items.Items {
		if f.full(item) {
			return
		}
		if kind == nil {
			f.object(item, item.Field("apiVersion"), item.Field("kind"))
			continue
		}
		ofKind, ofVersion := item.Field("kind"), item.Field("apiVersion")
		switch {
		case ofKind.Written() && ofKind.Value != kind.Value:
			ofKind.Errorf("must be %s, because the list is a %[1]sList", kind.Value)
			f.refuse(item)
		case ofVersion.Written() && ofVersion.Value != apiVersion.Value:
			ofVersion.Errorf("must be %s, like the apiVersion of the list", apiVersion.Value)
			f.refuse(item)
		default:
			f.object(item, apiVersion, kind)
		}
	}
}

// valueOf returns the value of a field, or an empty string for null.
func valueOf(n *strict.Node) string {
	if !n.Written() {
		return ""
	}
	return n.Value
}

// Limits of a workload.
const (
	maxObjectValues = 20_000
	maxObjectText   = 3 << 19 // bytes; etcd rejects larger requests by default
)

// fitsAPI reports whether a workload is small enough to be stored in a cluster and to be checked.
// Many checks compare each item of a list with all others.
func fitsAPI(n *strict.Node, kind *workloadKind) bool {
	values, text := n.Size()
	if values > maxObjectValues {
		n.Errorf("the %s has more than %d values", kind.Kind, maxObjectValues)
	} else if text > maxObjectText {
		n.Errorf("the %s has more than 1.5 MiB of text, which etcd does not store", kind.Kind)
	}
	return values <= maxObjectValues && text <= maxObjectText
}

// manifest adds a workload.
func (f *Objects) manifest(n *strict.Node, kind *workloadKind) {
	name := n.Find("metadata.name")
	m := &Object{Kind: kind, Node: n, Name: cmp.Or(valueOf(name), valueOf(n.Find("metadata.generateName")))}
	f.Broken = f.Broken || m.Name == "" || name.Bad()
	namespace := valueOf(n.Find("metadata.namespace"))
	id := kind.APIVersion + "/" + kind.Kind + "/" + cmp.Or(namespace, v1.NamespaceDefault) + "/" + m.Name
	if first, twice := f.names[id]; twice && valueOf(name) != "" {
		name.Errorf("the %s %s is already defined in line %d", kind.Kind, m.Name, first.Line)
		return
	}
	if !fitsAPI(n, kind) {
		f.refuse(n)
		return
	}
	f.names[id] = n.Pos
	f.Manifests = append(f.Manifests, m)
	f.ByName[m.Name] = append(f.ByName[m.Name], m)
}

// NoWorkload says that the file has neither a Scenario nor a workload, and what it has instead. The
// text continues an error.
func (f *Objects) NoWorkload() string {
	has := "it has no objects"
	if kinds := KindsOf(f.unchecked()); len(kinds) > 0 {
		has = "it has only " + printable.Some(kinds, 5)
	}
	return ", and no workload: " + has + "; a workload is a " + Workloads
}

// Parse reads the objects of a file. Of a long list of kubectl get, it reads what workloads need.
func Parse(name string, data []byte, errs *strict.Collector) *Objects {
	f := &Objects{Name: name}
	docs, whole := strict.Parse(name, lean(data), errs)
	f.Broken = !whole
	f.sort(docs)
	return f
}

// Service returns the Service of a name in the file, decoded, or nil.
func (f *Objects) Service(name string) (*v1.Service, *strict.Node) {
	namespace, name := format.SplitName(name)
	for _, n := range f.OfKind("v1", "Service") {
		of := cmp.Or(valueOf(n.Find("metadata.namespace")), v1.NamespaceDefault)
		if n.Find("metadata.name").Value == name && (namespace == "" || namespace == of) {
			s := &v1.Service{}
			strict.Decode(n, s)
			return s, n
		}
	}
	return nil, nil
}

// ServiceNames returns the names of the Services in the file.
func (f *Objects) ServiceNames() []string {
	return printable.Words(f.OfKind("v1", "Service"),
		func(n *strict.Node) string { return n.Find("metadata.name").Value })
}

// Service is a Service in a manifest, which is not checked.
type Service struct {
	Namespace, Name string
	Selector        map[string]string
}

// Selects reports whether the Service selects the pods of a workload. One without a selector, or of
// type ExternalName, selects none.
func (s *Service) Selects(w *Workload) bool {
	return s.Namespace == w.Pod.Namespace && len(s.Selector) > 0 &&
		labels.SelectorFromSet(s.Selector).Matches(labels.Set(w.Pod.Labels))
}

func serviceIn(n *strict.Node) Service {
	s := Service{cmp.Or(valueOf(n.Find("metadata.namespace")), v1.NamespaceDefault), valueOf(n.Find("metadata.name")),
		map[string]string{}}
	selector := n.Find("spec.selector")
	if valueOf(n.Find("spec.type")) == string(v1.ServiceTypeExternalName) {
		return s
	}
	for i, key := range selector.Keys {
		s.Selector[key.Name] = selector.Items[i].Value
	}
	return s
}

func isService(n *strict.Node) bool {
	return n.Field("apiVersion").Value == "v1" && n.Field("kind").Value == "Service"
}

// hasControlPlane reports whether a scenario of the file has a control plane, and so can have
// Services.
func (f *Objects) hasControlPlane() bool {
	return slices.ContainsFunc(f.Scenarios,
		func(n *strict.Node) bool { return n.Find("spec.controlPlane").Kind != strict.Missing })
}

// RefuseOthers reports the objects that a scenario file cannot contain.
func (f *Objects) RefuseOthers() {
	services := f.hasControlPlane()
	for _, n := range f.others {
		if services && isService(n) {
			continue
		}
		if w := KindNamed(n.Field("kind").Value); w != nil {
			apiVersionIs(n.Field("apiVersion"), n.Field("kind"), w.APIVersion)
		} else {
			n.Field("kind").Errorf("unknown kind %s%s: a scenario file contains only workloads and Scenario documents",
				strict.Quote(n.Field("kind").Value),
				strict.DidYouMean(n.Field("kind").Value, append(WorkloadKinds(), "Scenario")))
		}
		f.refuse(n)
	}
}

// WorkloadNames returns the names of the workloads of a kind, or of all workloads if kind is empty,
// with their namespaces if it should.
func (f *Objects) WorkloadNames(kind string, namespaces bool) []string {
	var names []string
	for _, m := range f.Manifests {
		if len(names) < strict.MaxSuggestions && (kind == "" || kind == m.Kind.Kind) {
			name := m.Name
			if namespaces {
				name = m.Namespace() + "/" + name
			}
			names = append(names, name)
		}
	}
	return names
}
