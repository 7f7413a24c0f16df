package realcontrollers

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"probesim.dev/internal/world/apiserver/admission"
	"probesim.dev/internal/world/apiserver/store"
)

// The resources that are not in the store: one node, and events, which are thrown away.
const (
	nodes  store.Kind = "nodes"
	events store.Kind = "events"
)

var kinds = map[store.Kind]schema.GroupVersionKind{
	store.Pods: v1.SchemeGroupVersion.WithKind("Pod"), store.Services: v1.SchemeGroupVersion.WithKind("Service"),
	store.Deployments:    appsv1.SchemeGroupVersion.WithKind("Deployment"),
	store.ReplicaSets:    appsv1.SchemeGroupVersion.WithKind("ReplicaSet"),
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

// transport carries the requests of a component.
type transport struct {
	*Server
	component string
}

// RoundTrip serves a request after its latency.
func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
		r.Body.Close()
	}
	p := parse(r.URL.Path)
	if watch := r.URL.Query().Get("watch"); watch == "true" || watch == "1" {
		return t.watch(t.component, r, p.kind), nil
	}
	var o store.Object
	var list []byte
	var err error
	c := t.begin(r.Method, p, body)
	if !t.wait(c.latency, func() {
		if r.Method == http.MethodGet && p.name == "" {
			list, err = t.list(c, p, r.URL.Query().Get("labelSelector"))
			return
		}
		o, err = t.serve(c, p, body)
	}) {
		return nil, errEnded
	}
	var status apierrors.APIStatus
	switch {
	case errors.As(err, &status):
		failure := status.Status()
		failure.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
		return reply(int(failure.Code), encode(failure)), nil
	case err != nil:
		return nil, err
	case list != nil:
		return reply(http.StatusOK, list), nil
	case p.kind == events:
		return reply(http.StatusCreated, body), nil
	case o == nil:
		return reply(http.StatusOK, encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
			Status: metav1.StatusSuccess})), nil
	case r.Method == http.MethodPost:
		return reply(http.StatusCreated, encode(typed(p.kind, o))), nil
	}
	return reply(http.StatusOK, encode(typed(p.kind, o))), nil
}

// errEnded is the error of calls after the end of the run.
var errEnded = errors.New("the run is over")

// serve makes a call when it reaches the server.
func (s *Server) serve(c call, p path, body []byte) (store.Object, error) {
	if c.of != "" {
		s.creating[c.of]--
	}
	if c.walk != "" {
		s.Turn(c.walk, p.namespace+"/"+p.name)
	}
	if c.process != "" {
		s.Turn(c.process, c.method+" "+string(p.kind))
	}
	if p.kind == events {
		return nil, s.event(body)
	}
	switch c.method {
	case http.MethodGet:
		return s.Store.Find(p.kind, p.namespace, p.name)
	case http.MethodDelete:
		return nil, s.delete(p.kind, p.namespace, p.name)
	}
	o, err := decode(p, body)
	switch {
	case err != nil:
		return nil, err
	case c.method == http.MethodPost:
		return s.Create(p.kind, o)
	case c.method == putStatus:
		return s.changed(s.Store.UpdateStatus(p.kind, o))
	case c.method == http.MethodPut:
		return s.changed(s.Store.Update(p.kind, o))
	}
	return nil, apierrors.NewMethodNotSupported(v1.Resource(string(p.kind)), c.method)
}

// list returns the objects of a kind that a selector matches, as JSON.
func (s *Server) list(c call, p path, selector string) ([]byte, error) {
	wanted, err := labels.Parse(selector)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if c.process != "" {
		s.Turn(c.process, c.method+" "+string(p.kind))
	}
	items := []store.Object{}
	if p.kind == nodes {
		items = append(items, typed(nodes, node()))
	}
	for _, o := range s.Store.List(p.kind) {
		if (p.namespace == "" || o.GetNamespace() == p.namespace) && wanted.Matches(labels.Set(o.GetLabels())) {
			items = append(items, typed(p.kind, o))
		}
	}
	gvk := kinds[p.kind]
	return encode(map[string]any{
		"kind": gvk.Kind + "List", "apiVersion": gvk.GroupVersion().String(), "items": items,
		"metadata": map[string]any{"resourceVersion": strconv.FormatInt(s.Store.Version()+1, 10)},
	}), nil
}

// decode returns the object in the body of a request.
func decode(p path, body []byte) (store.Object, error) {
	gvk := kinds[p.kind]
	decoded, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, &gvk, nil)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	o := decoded.(store.Object)
	o.SetNamespace(p.namespace)
	return o, nil
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
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(body)),
		ContentLength: int64(len(body)),
	}
}

// node returns the only node.
func node() *v1.Node {
	return &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: admission.NodeName, UID: admission.NodeName,
		ResourceVersion: "1"}}
}
