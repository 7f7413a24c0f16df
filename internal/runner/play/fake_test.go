package play

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"probesim.dev/scenarios"
	"probesim.dev/scenarios/plan"
	"probesim.dev/trace"
)

// fakeServer is an API server in memory, over pipes: tests have a clock of their own. It has pods,
// namespaces and events.
type fakeServer struct {
	mu       sync.Mutex
	objects  map[string]map[string]any // by path
	watchers map[chan []byte]string    // by the path of their list
	logs     map[string]chan string    // by pod and container
	refuse   func(method, path string, body map[string]any) (code int, message string)
	onCreate func(s *fakeServer, pod map[string]any)
	asked    map[string]bool // verbs and resources, for the role
	uid      int
	accepted chan net.Conn
}

func newFakeServer(t *testing.T) *fakeServer {
	s := &fakeServer{objects: map[string]map[string]any{}, watchers: map[chan []byte]string{},
		logs: map[string]chan string{}, asked: map[string]bool{}, accepted: make(chan net.Conn)}
	server := &http.Server{Handler: s}
	go server.Serve(s)
	t.Cleanup(func() { server.Close() })
	return s
}

// Accept, Close and Addr make it a listener.
func (s *fakeServer) Accept() (net.Conn, error) {
	if conn, ok := <-s.accepted; ok {
		return conn, nil
	}
	return nil, io.EOF
}

func (s *fakeServer) Close() error {
	close(s.accepted)
	return nil
}

func (*fakeServer) Addr() net.Addr { return &net.TCPAddr{} }

// cluster returns a client of the server.
func (s *fakeServer) cluster(t *testing.T) *Cluster {
	t.Helper()
	dial := func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		s.accepted <- server
		return client, nil
	}
	c, err := newCluster(&rest.Config{Host: "http://cluster", Dial: dial})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (s *fakeServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body map[string]any
	if data, _ := io.ReadAll(r.Body); len(data) > 0 {
		_ = json.Unmarshal(data, &body)
	}
	s.note(r)
	if s.refuse != nil {
		if code, message := s.refuse(r.Method, r.URL.Path, body); code > 0 {
			fail(w, code, message)
			return
		}
	}
	query := r.URL.Query()
	switch {
	case strings.HasSuffix(r.URL.Path, "/log"):
		s.serveLog(w, r)
	case query.Get("watch") != "":
		s.serveWatch(w, r)
	case r.Method == http.MethodPost:
		s.create(w, r.URL.Path, body, query.Has("dryRun"))
	case r.Method == http.MethodDelete:
		s.delete(w, r.URL.Path)
	default:
		s.get(w, r.URL.Path, query.Get("labelSelector"))
	}
}

// note keeps what was asked, as a role names it.
func (s *fakeServer) note(r *http.Request) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	i := slices.Index(parts, "v1") + 1
	if i < len(parts) && parts[i] == "namespaces" && len(parts) > i+2 {
		i += 2
	}
	resource := parts[min(i, len(parts)-1)]
	verb := map[string]string{"POST": "create", "DELETE": "delete", "PATCH": "patch"}[r.Method]
	if len(parts) > i+2 {
		resource += "/" + parts[i+2]
	}
	switch {
	case verb != "":
	case r.URL.Query().Get("watch") != "":
		verb = "watch"
	case len(parts) > i+1:
		verb = "get"
	default:
		verb = "list"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked[verb+" "+resource] = true
}

func fail(w http.ResponseWriter, code int, message string) {
	reason := map[int]metav1.StatusReason{403: metav1.StatusReasonForbidden, 404: metav1.StatusReasonNotFound}[code]
	answer(w, code, metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure",
		Code: int32(code), Reason: reason, Message: message})
}

func answer(w http.ResponseWriter, code int, o any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(o)
}

func (s *fakeServer) create(w http.ResponseWriter, list string, o map[string]any, dry bool) {
	meta := o["metadata"].(map[string]any)
	s.mu.Lock()
	s.uid++
	meta["uid"], meta["resourceVersion"] = fmt.Sprint("uid-", s.uid), fmt.Sprint(s.uid)
	s.mu.Unlock()
	if !dry {
		s.store("ADDED", list+"/"+meta["name"].(string), o)
		if s.onCreate != nil && o["kind"] == "Pod" {
			go s.onCreate(s, o)
		}
	}
	answer(w, http.StatusCreated, o)
}

// store stores an object and tells the watchers of its list.
func (s *fakeServer) store(event, path string, o map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.objects[path] = o; event == "DELETED" {
		delete(s.objects, path)
	}
	line, _ := json.Marshal(map[string]any{"type": event, "object": o})
	for w, of := range s.watchers {
		if of == path[:strings.LastIndexByte(path, '/')] {
			w <- line
		}
	}
}

func (s *fakeServer) delete(w http.ResponseWriter, path string) {
	s.mu.Lock()
	o := s.objects[path]
	s.mu.Unlock()
	if o == nil {
		fail(w, 404, "not found")
		return
	}
	s.store("DELETED", path, o)
	answer(w, http.StatusOK, o)
}

func (s *fakeServer) get(w http.ResponseWriter, path, selector string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.objects[path]; o != nil {
		answer(w, http.StatusOK, o)
		return
	}
	kind, isList := map[string]string{"pods": "Pod", "services": "Service", "deployments": "Deployment",
		"namespaces": "Namespace", "nodes": "Node"}[path[strings.LastIndexByte(path, '/')+1:]]
	if !isList {
		fail(w, 404, "not found")
		return
	}
	version := "v1"
	if kind == "Deployment" {
		version = "apps/v1"
	}
	items := []any{}
	key, value, exact := strings.Cut(selector, "=")
	for _, at := range slices.Sorted(maps.Keys(s.objects)) {
		labels, _ := s.objects[at]["metadata"].(map[string]any)["labels"].(map[string]any)
		selected := key == "" || labels[key] != nil && (!exact || labels[key] == value)
		if at[:strings.LastIndexByte(at, '/')] == path && selected {
			items = append(items, s.objects[at])
		}
	}
	answer(w, http.StatusOK, map[string]any{"apiVersion": version, "kind": kind + "List", "items": items})
}

func (s *fakeServer) serveWatch(w http.ResponseWriter, r *http.Request) {
	lines := make(chan []byte, 100)
	s.mu.Lock()
	s.watchers[lines] = r.URL.Path
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush()
	for {
		select {
		case line := <-lines:
			_, _ = w.Write(append(line, '\n'))
			_ = http.NewResponseController(w).Flush()
		case <-r.Context().Done():
			s.mu.Lock()
			delete(s.watchers, lines)
			s.mu.Unlock()
			return
		}
	}
}

// log returns the log of a container.
func (s *fakeServer) log(pod, container string) chan string {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := pod + "/" + container
	if s.logs[key] == nil {
		s.logs[key] = make(chan string, 100)
	}
	return s.logs[key]
}

func (s *fakeServer) serveLog(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(r.URL.Path, "/")
	lines := s.log(parts[len(parts)-2], r.URL.Query().Get("container"))
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush()
	for {
		select {
		case line, ok := <-lines:
			if !ok {
				return
			}
			_, _ = io.WriteString(w, line+"\n")
			_ = http.NewResponseController(w).Flush()
		case <-r.Context().Done():
			return
		}
	}
}

// update changes a stored pod and tells the watchers.
func (s *fakeServer) update(pod map[string]any, change func(*v1.Pod)) {
	meta := pod["metadata"].(map[string]any)
	data, _ := json.Marshal(pod)
	var typed v1.Pod
	_ = json.Unmarshal(data, &typed)
	change(&typed)
	data, _ = json.Marshal(typed)
	next := map[string]any{}
	_ = json.Unmarshal(data, &next)
	maps.Copy(pod, next)
	s.mu.Lock()
	s.uid++
	pod["metadata"].(map[string]any)["resourceVersion"] = fmt.Sprint(s.uid)
	s.mu.Unlock()
	s.store("MODIFIED", "/api/v1/namespaces/"+s.namespace()+"/pods/"+meta["name"].(string), next)
}

// namespace returns the namespace of the play.
func (s *fakeServer) namespace() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for path := range s.objects {
		if name, is := strings.CutPrefix(path, "/api/v1/namespaces/"); is && !strings.Contains(name, "/") {
			return name
		}
	}
	return "given"
}

// event adds an event of the kubelet about a container of a pod.
func (s *fakeServer) event(pod map[string]any, container, kind, reason, message string) {
	name := pod["metadata"].(map[string]any)["name"].(string)
	s.mu.Lock()
	s.uid++
	id := s.uid
	s.mu.Unlock()
	e := v1.Event{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Event"},
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("e", id), UID: types.UID(fmt.Sprint(id)),
			ResourceVersion: fmt.Sprint(id)},
		InvolvedObject: v1.ObjectReference{Kind: "Pod", Name: name, FieldPath: "spec.containers{" + container + "}"},
		Source:         v1.EventSource{Component: "kubelet"}, Type: kind, Reason: reason, Message: message, Count: 1}
	data, _ := json.Marshal(e)
	o := map[string]any{}
	_ = json.Unmarshal(data, &o)
	s.store("ADDED", fmt.Sprintf("/api/v1/namespaces/%s/events/%s", s.namespace(), e.Name), o)
}

// line writes a line of a player.
func (s *fakeServer) line(pod map[string]any, container string, r trace.Record) {
	r.Container = container
	s.log(pod["metadata"].(map[string]any)["name"].(string), container) <- string(trace.AppendJSON(nil, &r))
}

// web is a pod with one probe.
const web = `
apiVersion: v1
kind: Pod
metadata: {name: web, labels: {app: web}}
spec:
  containers: [{name: app, image: "web:1", readinessProbe: {httpGet: {path: /, port: 80}}}]
---
apiVersion: probesim.dev/v1alpha1
kind: Scenario
metadata: {name: s}
spec:
  duration: 30s
  pods: [{name: web, containers: [{name: app}]}]
  steps: [{at: 20s, delete: {pod: web}}]
  expect:
  - {at: 4s, status: {ready: true}}
`

// planOf returns the plan of a scenario in a file.
func planOf(t *testing.T, file string) *plan.Plan {
	t.Helper()
	all, err := scenarios.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	return all[0].Plans()[0]
}
