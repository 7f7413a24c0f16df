package realcontrollers

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"probesim.dev/apiserver/admission"
	"probesim.dev/apiserver/store"
	"probesim.dev/controller/replicaset"
)

// The resources that are not in the store: one node, and events, which are thrown away.
const (
	nodes  store.Kind = "nodes"
	events store.Kind = "events"
)

var kinds = map[store.Kind]schema.GroupVersionKind{
	store.Pods: v1.SchemeGroupVersion.WithKind("Pod"), store.Services: v1.SchemeGroupVersion.WithKind("Service"),
	store.Deployments: appsv1.SchemeGroupVersion.WithKind("Deployment"), store.ReplicaSets: appsv1.SchemeGroupVersion.WithKind("ReplicaSet"),
	store.EndpointSlices: discoveryv1.SchemeGroupVersion.WithKind("EndpointSlice"),
	nodes:                v1.SchemeGroupVersion.WithKind("Node"), events: v1.SchemeGroupVersion.WithKind("Event"),
}

// path is what the URL of a request says.
type path struct {
	kind                         store.Kind
	namespace, name, subresource string
}

func parse(url string) path {
	parts := strings.Split(strings.Trim(url, "/"), "/")
	if parts[0] == "api" {
		parts = parts[2:]
	} else {
		parts = parts[3:]
	}
	var p path
	if parts[0] == "namespaces" && len(parts) > 2 {
		p.namespace, parts = parts[1], parts[2:]
	}
	parts = append(parts, "", "")
	p.kind, p.name, p.subresource = store.Kind(parts[0]), parts[1], parts[2]
	return p
}

// connection is the way of a component to the server.
type connection struct {
	*server
	component string
}

// RoundTrip serves a request after its latency.
func (s connection) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
		r.Body.Close()
	}
	p := parse(r.URL.Path)
	if watch := r.URL.Query().Get("watch"); watch == "true" || watch == "1" {
		return s.watch(r, s.component, p.kind), nil
	}
	method := r.Method
	if p.subresource != "" {
		method += " " + p.subresource
	}
	time.Sleep(s.delays.Call("", method, p.kind, p.namespace+"/"+p.name))
	if p.kind == events {
		return reply(http.StatusCreated, body), nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Method == http.MethodGet && p.name == "" {
		return s.list(p, r.URL.Query().Get("labelSelector"))
	}
	o, err := s.serve(r.Method, p, body)
	var status apierrors.APIStatus
	switch {
	case errors.As(err, &status):
		failure := status.Status()
		failure.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
		return reply(int(failure.Code), encode(failure)), nil
	case err != nil:
		return nil, err
	case o == nil:
		return reply(http.StatusOK, encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess})), nil
	case r.Method == http.MethodPost:
		return reply(http.StatusCreated, encode(typed(p.kind, o))), nil
	}
	return reply(http.StatusOK, encode(typed(p.kind, o))), nil
}

// list serves the objects of a kind that a selector matches.
func (s *server) list(p path, selector string) (*http.Response, error) {
	wanted, err := labels.Parse(selector)
	if err != nil {
		return nil, err
	}
	if p.kind == store.ReplicaSets && p.namespace != "" { // a handler of the Deployment controller asks
		s.turns.Add("deployment pods", "GET replicasets")
	}
	items := []store.Object{}
	if p.kind == nodes {
		items = append(items, typed(nodes, node()))
	}
	for _, o := range s.store.List(p.kind) {
		if (p.namespace == "" || o.GetNamespace() == p.namespace) && wanted.Matches(labels.Set(o.GetLabels())) {
			items = append(items, typed(p.kind, o))
		}
	}
	gvk := kinds[p.kind]
	return reply(http.StatusOK, encode(map[string]any{
		"kind": gvk.Kind + "List", "apiVersion": gvk.GroupVersion().String(), "items": items,
		"metadata": map[string]any{"resourceVersion": strconv.FormatInt(s.store.Version()+1, 10)},
	})), nil
}

// turn logs a call of a process of the simulator, if the URL or the object says which it is.
func (s *server) turn(method string, p path, o store.Object) {
	point, process := method+" "+string(p.kind), ""
	switch {
	case method == http.MethodDelete && p.kind == store.Pods:
		process = "delete " + p.namespace + "/" + p.name
		if pod := s.store.Pod(p.namespace + "/" + p.name); pod != nil && metav1.GetControllerOf(pod) != nil {
			s.turns.Add(replicaset.VictimsOf+p.namespace+"/"+metav1.GetControllerOf(pod).Name, store.Key(pod))
		}
	case method == http.MethodPost && p.kind == store.Pods && metav1.GetControllerOf(o) != nil:
		process = "create " + p.namespace + "/" + metav1.GetControllerOf(o).Name
	case method == http.MethodPost && p.kind == store.ReplicaSets && metav1.GetControllerOf(o) != nil:
		process = "deployment " + p.namespace + "/" + metav1.GetControllerOf(o).Name
	case p.kind == store.EndpointSlices && o != nil:
		process = "endpointslice " + p.namespace + "/" + o.GetLabels()[discoveryv1.LabelServiceName]
	case p.subresource == "status":
		point = method + " status " + string(p.kind)
		process = strings.TrimSuffix(string(p.kind), "s") + " " + p.namespace + "/" + p.name
	case p.kind == store.ReplicaSets && method != http.MethodPost && method != http.MethodGet:
		rs := s.store.Get(p.kind, p.namespace+"/"+p.name)
		if rs == nil || metav1.GetControllerOf(rs) == nil {
			return
		}
		process = "deployment " + p.namespace + "/" + metav1.GetControllerOf(rs).Name
	default:
		return
	}
	s.turns.Add(process, point)
}

// serve makes a call.
func (s *server) serve(method string, p path, body []byte) (store.Object, error) {
	if method == http.MethodGet {
		return s.store.Find(p.kind, p.namespace, p.name)
	}
	if method == http.MethodDelete {
		s.turn(method, p, nil)
		return nil, s.delete(p.kind, p.namespace, p.name)
	}
	gvk := kinds[p.kind]
	decoded, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, &gvk, nil)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	o := decoded.(store.Object)
	o.SetNamespace(p.namespace)
	s.turn(method, p, o)
	switch {
	case method == http.MethodPost:
		return s.create(p.kind, o)
	case method == http.MethodPut && p.subresource == "status":
		return s.changed(s.store.UpdateStatus(p.kind, o))
	case method == http.MethodPut:
		return s.changed(s.store.Update(p.kind, o))
	}
	return nil, apierrors.NewMethodNotSupported(v1.Resource(string(p.kind)), method)
}

// typed returns a copy of an object with its kind and version, which clients expect.
func typed(kind store.Kind, o store.Object) store.Object {
	o = o.DeepCopyObject().(store.Object)
	o.GetObjectKind().SetGroupVersionKind(kinds[kind])
	return o
}

func encode(o any) []byte {
	text, err := json.Marshal(o)
	if err != nil {
		panic(err) // API types can always be marshaled
	}
	return text
}

func reply(code int, body []byte) *http.Response {
	return &http.Response{
		StatusCode: code, Status: http.StatusText(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}
}

// node returns the only node.
func node() *v1.Node {
	return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: admission.NodeName, UID: admission.NodeName, ResourceVersion: "1"}}
}
