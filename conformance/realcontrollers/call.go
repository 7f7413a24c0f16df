package realcontrollers

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"probesim.dev/internal/world/apiserver/store"
	"probesim.dev/internal/world/controller/deployment"
	"probesim.dev/internal/world/controller/endpointslice"
	"probesim.dev/internal/world/controller/replicaset"
	"probesim.dev/trace"
)

// call is a call of a controller in progress.
type call struct {
	// of the simulator, as package search has it, which makes the same call; empty if the request
	// does not say which it is
	process string
	method  string // as in controller.Delays
	of      string // the key of the ReplicaSet whose pod it creates; otherwise empty
	walk    string // the walk of which the call is a part, if its order is that of a Go map; otherwise empty
	latency time.Duration
}

// putStatus is the method of a call that writes a status.
const putStatus = http.MethodPut + " status"

// podHandler is the handler of the Deployment controller before v1.37 that lists ReplicaSets when a
// pod is gone.
const podHandler = "deployment pods"

// begin notes a call, and draws its latency.
func (s *Server) begin(method string, p path, body []byte) (c call) {
	c.method = method
	if p.subresource == "status" {
		c.method += " status"
	}
	key, caller := p.namespace+"/"+p.name, ""
	s.locked(func() {
		var o store.Object
		switch {
		case p.kind == events:
			e := eventOf(body)
			caller, key = e.ReportingController, e.InvolvedObject.Kind+" "+e.InvolvedObject.Namespace+"/"+
				e.InvolvedObject.Name
			return
		case p.name == "" && method == http.MethodGet:
			if p.kind == store.ReplicaSets && p.namespace != "" {
				c.process, caller = podHandler, podHandler
			}
			return
		case method == http.MethodPost:
			o, _ = decode(p, body) // serve returns the error
			key = keyOfNew(o)
		default:
			o = s.lastState(p.kind, key)
		}
		caller = s.processOf(&c, p, o)
	})
	c.latency = s.Delays.Call(caller, c.method, p.kind, key)
	return c
}

// lastState returns an object, or the last one that a call found if it is deleted.
func (s *Server) lastState(kind store.Kind, key string) store.Object {
	name := string(kind) + " " + key
	if o := s.Store.Get(kind, key); o != nil {
		s.found[name] = o
	}
	return s.found[name]
}

// keyOfNew returns the key of an object that has no name yet, as the simulator's controllers have
// it: the real hash of a template changes with the release.
func keyOfNew(o store.Object) string {
	switch o := o.(type) {
	case *v1.Pod:
		return o.Namespace + "/" + o.GenerateName
	case *appsv1.ReplicaSet:
		template := o.Spec.Template.DeepCopy()
		delete(template.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
		return o.Namespace + "/" + ownerOf(o) + "-" + deployment.TemplateHash(template)
	}
	return store.Key(o)
}

// processOf notes and returns the process of the simulator that makes a call about an object. Of
// the processes that create the pods of a ReplicaSet, the request does not say which it is: they
// count in the order in which they begin.
func (s *Server) processOf(c *call, p path, o store.Object) string {
	if o == nil {
		return ""
	}
	owner := p.namespace + "/" + ownerOf(o)
	switch {
	case p.kind == store.Pods && c.method == http.MethodPost:
		c.process, c.of = "create "+owner, owner
		s.creating[owner]++
		return fmt.Sprintf("%s %d", c.process, s.creating[owner]-1)
	case p.kind == store.Pods:
		c.process, c.walk = strings.ToLower(c.method)+" "+store.Key(o), replicaset.VictimsOf+owner
	case p.kind == store.EndpointSlices:
		service := p.namespace + "/" + o.GetLabels()[discoveryv1.LabelServiceName]
		c.process, c.walk = "endpointslice "+service, endpointslice.SlicesOf+service
	case p.kind == store.ReplicaSets && c.method != putStatus && c.method != http.MethodGet:
		c.process = "deployment " + owner
	default:
		c.process = strings.TrimSuffix(string(p.kind), "s") + " " + store.Key(o)
	}
	return c.process
}

// ownerOf returns the name of the controller of an object.
func ownerOf(o store.Object) string {
	if owner := metav1.GetControllerOfNoCopy(o); owner != nil {
		return owner.Name
	}
	return ""
}

// eventOf returns the event in the body of a request.
func eventOf(body []byte) (e v1.Event) {
	_ = json.Unmarshal(body, &e) // an event without a reason has no record
	return e
}

// event records an event of a controller. An event that repeats an earlier one comes as a patch of
// that, and has no record.
func (s *Server) event(body []byte) error {
	if e := eventOf(body); e.Reason != "" {
		s.Record(trace.Record{
			Kind: trace.Event, Type: e.Type, Reason: e.Reason, Message: e.Message,
			Object: &trace.Object{Name: e.InvolvedObject.Kind + " " + e.InvolvedObject.Namespace + "/" +
				e.InvolvedObject.Name},
		})
	}
	return nil
}
