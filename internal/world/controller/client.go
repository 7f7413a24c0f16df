package controller

import (
	"slices"
	"strconv"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/world/apiserver/store"
	"probesim.dev/sim"
)

// Client makes calls of controllers to the API server. A call takes its latency, and acts at its
// end.
type Client struct{ env *Env }

// NewClient returns a client.
func NewClient(env *Env) *Client { return &Client{env: env} }

// wait waits for the latency of a call.
func (c *Client) wait(p *sim.Proc, method string, kind store.Kind, key string) {
	p.Sleep(c.env.Delays.Call(p.Name(), method, kind, key))
	p.Turn(method + " " + string(kind))
}

// Read gets an object from the API server. It returns a NotFound error if there is none.
func Read[T store.Object](c *Client, p *sim.Proc, kind store.Kind, namespace, name string) (T, error) {
	c.wait(p, "GET", kind, namespace+"/"+name)
	o, err := c.env.API.FindObject(kind, namespace, name)
	return as[T](o, err)
}

// List lists the objects of a kind in a namespace, by key.
func (c *Client) List(p *sim.Proc, kind store.Kind, namespace string) []store.Object {
	c.wait(p, "GET", kind, namespace+"/")
	return slices.DeleteFunc(c.env.API.Objects(kind),
		func(o store.Object) bool { return o.GetNamespace() != namespace })
}

// Create creates an object other than a pod, and returns it as it is stored.
func Create[T store.Object](c *Client, p *sim.Proc, kind store.Kind, o T) (T, error) {
	c.wait(p, "POST", kind, store.Key(o))
	return as[T](c.env.API.CreateObject(kind, o))
}

// Update replaces an object except its status, and returns it as it is stored.
func Update[T store.Object](c *Client, p *sim.Proc, kind store.Kind, o T) (T, error) {
	c.wait(p, "PUT", kind, store.Key(o))
	return as[T](c.env.API.UpdateObject(kind, o))
}

// UpdateStatus replaces the status of an object, and returns the object as it is stored.
func UpdateStatus[T store.Object](c *Client, p *sim.Proc, kind store.Kind, o T) (T, error) {
	c.wait(p, "PUT status", kind, store.Key(o))
	return as[T](c.env.API.UpdateObjectStatus(kind, o))
}

// as returns a stored object with its type.
func as[T store.Object](o store.Object, err error) (T, error) {
	t, _ := o.(T)
	return t, err
}

// Delete deletes an object other than a pod.
func (c *Client) Delete(p *sim.Proc, kind store.Kind, namespace, name string) error {
	c.wait(p, "DELETE", kind, namespace+"/"+name)
	return c.env.API.DeleteObject(kind, namespace, name)
}

// CreatePod creates a pod, whose name is generated, and returns it as it is stored.
func (c *Client) CreatePod(p *sim.Proc, pod *v1.Pod) (*v1.Pod, error) {
	c.wait(p, "POST", store.Pods, pod.Namespace+"/"+pod.GenerateName)
	return c.env.API.CreateControlledPod(pod)
}

// DeletePod deletes a pod with its own grace period.
func (c *Client) DeletePod(p *sim.Proc, namespace, name string) error {
	c.wait(p, "DELETE", store.Pods, namespace+"/"+name)
	return c.env.API.DeleteControlledPod(namespace, name)
}

// VersionOf returns the resource version of a stored object.
func VersionOf(o store.Object) int64 {
	n, _ := strconv.ParseInt(o.GetResourceVersion(), 10, 64)
	return n
}
