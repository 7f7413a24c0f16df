package realcontrollers

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

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
	"probesim.dev/sim/virtual"
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

// watcher is a watch. It receives each change when it is due. A change never overtakes the one
// before it.
type watcher struct {
	server  *Server
	name    string // as in controller.Delays
	kind    store.Kind
	last    virtual.Time // when the last change is due
	queue   []store.Change
	receive func(store.Change)
}

func watchName(component string, kind store.Kind) string {
	return component + " watch of " + string(kind)
}

// follow starts a watch of a component. The caller holds the lock.
func (s *Server) follow(component string, kind store.Kind, receive func(store.Change)) {
	s.watchers = append(s.watchers, &watcher{server: s, name: watchName(component, kind), kind: kind, receive: receive})
}

func (w *watcher) send(c store.Change) {
	s := w.server
	w.last = max(w.last, s.Now().Add(s.Delays.Watch(w.name, c)))
	w.queue = append(w.queue, c)
	s.later(w.last.Sub(s.Now()), func() {
		first := w.queue[0]
		w.queue = w.queue[1:]
		w.receive(first)
	})
}

// watch serves a watch of a component: it sends the objects that exist, a bookmark, and then each
// change.
func (s *Server) watch(component string, r *http.Request, kind store.Kind) *http.Response {
	b := &body{ctx: r.Context(), filled: make(chan struct{}, 1)}
	s.locked(func() {
		if kind == nodes {
			b.send("ADDED", kind, node())
		}
		for _, o := range s.Store.List(kind) {
			b.send("ADDED", kind, o)
		}
		empty, _ := scheme.Scheme.New(kinds[kind])
		mark := empty.(store.Object)
		mark.SetResourceVersion(strconv.FormatInt(s.Store.Version()+1, 10))
		mark.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
		b.send("BOOKMARK", kind, mark)
		s.follow(component, kind, func(c store.Change) { b.send(string(c.Type), kind, c.New) })
	})
	return &http.Response{
		StatusCode: http.StatusOK, Status: "OK", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: b, ContentLength: -1,
	}
}

// body is the response to a watch.
type body struct {
	ctx    context.Context
	filled chan struct{}
	rest   []byte // of the reader

	mu   sync.Mutex
	text []byte
}

func (b *body) send(event string, kind store.Kind, o store.Object) {
	b.mu.Lock()
	b.text = append(append(b.text, encode(map[string]any{"type": event, "object": typed(kind, o)})...), '\n')
	b.mu.Unlock()
	select {
	case b.filled <- struct{}{}:
	default:
	}
}

func (b *body) Read(to []byte) (int, error) {
	for len(b.rest) == 0 {
		select {
		case <-b.filled:
		case <-b.ctx.Done():
			return 0, io.EOF
		}
		b.mu.Lock()
		b.rest, b.text = b.text, nil
		b.mu.Unlock()
	}
	n := copy(to, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

func (b *body) Close() error { return nil }
