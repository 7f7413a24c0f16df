// Package play plays scenarios on a cluster: it creates their pods with a player in each container,
// takes their steps, watches what happens, and compares it with simulated runs. It is the only
// package that reaches a cluster.
package play

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Target says which cluster to use, as the flags of kubectl do.
type Target struct {
	Kubeconfig, Context, Namespace string
}

// Cluster is a client of an API server. It has no typed clients: those of client-go bring the types
// of all groups along, which would double the time that a player takes to start.
type Cluster struct {
	Context, Server string
	// Default is the namespace of the kubeconfig.
	Default string
	clients map[schema.GroupVersion]*rest.RESTClient
}

// scheme has the types that play creates and watches.
var (
	scheme    = newScheme()
	codecs    = serializer.NewCodecFactory(scheme)
	parameter = runtime.NewParameterCodec(scheme)
)

func newScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1.AddToScheme, appsv1.AddToScheme, discoveryv1.AddToScheme,
		policyv1.AddToScheme} {
		if err := add(s); err != nil {
			panic(err)
		}
	}
	metav1.AddToGroupVersion(s, schema.GroupVersion{Version: "v1"})
	return s
}

// Connect reads the kubeconfig. It makes no request.
func Connect(t Target) (*Cluster, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = t.Kubeconfig
	from := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules,
		&clientcmd.ConfigOverrides{CurrentContext: t.Context, Context: clientcmdapi.Context{Namespace: t.Namespace}})
	raw, err := from.RawConfig()
	if err != nil {
		return nil, err
	}
	config, err := from.ClientConfig()
	if err != nil {
		return nil, err
	}
	c, err := newCluster(config)
	if err != nil {
		return nil, err
	}
	if c.Context = t.Context; c.Context == "" {
		c.Context = raw.CurrentContext
	}
	c.Default, _, err = from.Namespace()
	return c, err
}

func newCluster(config *rest.Config) (*Cluster, error) {
	c := &Cluster{Server: config.Host, clients: map[schema.GroupVersion]*rest.RESTClient{}}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	for _, group := range []schema.GroupVersion{v1.SchemeGroupVersion, appsv1.SchemeGroupVersion,
		discoveryv1.SchemeGroupVersion} {
		own := rest.CopyConfig(config)
		own.GroupVersion, own.APIPath, own.QPS, own.Burst = &group, "/apis", 200, 400
		if group.Group == "" {
			own.APIPath = "/api"
		}
		own.NegotiatedSerializer, own.UserAgent = codecs.WithoutConversion(), "probesim-play"
		if c.clients[group], err = rest.RESTClientForConfigAndClient(own, client); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// callTimeout limits a call that is no watch.
const callTimeout = 30 * time.Second

// resources are the names of the kinds in paths.
var resources = map[string]schema.GroupVersionResource{
	"Pod":           v1.SchemeGroupVersion.WithResource("pods"),
	"Event":         v1.SchemeGroupVersion.WithResource("events"),
	"Service":       v1.SchemeGroupVersion.WithResource("services"),
	"Namespace":     v1.SchemeGroupVersion.WithResource("namespaces"),
	"Node":          v1.SchemeGroupVersion.WithResource("nodes"),
	"Deployment":    appsv1.SchemeGroupVersion.WithResource("deployments"),
	"ReplicaSet":    appsv1.SchemeGroupVersion.WithResource("replicasets"),
	"EndpointSlice": discoveryv1.SchemeGroupVersion.WithResource("endpointslices"),
}

func (c *Cluster) call(verb, kind, namespace, name string) *rest.Request {
	of := resources[kind]
	r := c.clients[of.GroupVersion()].Verb(verb).Timeout(callTimeout).Resource(of.Resource)
	if namespace != "" {
		r = r.Namespace(namespace)
	}
	if name != "" {
		r = r.Name(name)
	}
	return r
}

// Version returns the version of the API server, such as v1.37.
func (c *Cluster) Version(ctx context.Context) (string, error) {
	data, err := c.clients[v1.SchemeGroupVersion].Get().Timeout(callTimeout).AbsPath("/version").Do(ctx).Raw()
	if err != nil {
		return "", err
	}
	var info version.Info
	if err := json.Unmarshal(data, &info); err != nil {
		return "", err
	}
	var major, minor int
	if _, err := fmt.Sscanf(info.GitVersion, "v%d.%d", &major, &minor); err != nil {
		return "", fmt.Errorf("the server has the version %q", info.GitVersion)
	}
	return fmt.Sprintf("v%d.%d", major, minor), nil
}

func (c *Cluster) create(ctx context.Context, namespace string, o object) error {
	kind := o.GetObjectKind().GroupVersionKind().Kind
	return c.call("POST", kind, namespace, "").Body(o).Do(ctx).Into(o)
}

// tryToCreate asks the server whether it would create an object.
func (c *Cluster) tryToCreate(ctx context.Context, namespace string, o object) error {
	return c.call("POST", o.GetObjectKind().GroupVersionKind().Kind, namespace, "").
		VersionedParams(&metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}, parameter).Body(o).Do(ctx).Error()
}

// kubeletAge returns how long the kubelet of the youngest node has been Ready, or 0 if the cluster
// does not tell: whoever plays needs no right to read nodes.
func (c *Cluster) kubeletAge(ctx context.Context) time.Duration {
	nodes := &v1.NodeList{}
	if c.call("GET", "Node", "", "").Do(ctx).Into(nodes) != nil {
		return 0
	}
	age := time.Duration(0)
	for _, n := range nodes.Items {
		for _, condition := range n.Status.Conditions {
			if since := time.Since(condition.LastTransitionTime.Time); condition.Type == v1.NodeReady &&
				(age == 0 || since < age) {
				age = since
			}
		}
	}
	return age
}

// object is an object of the API.
type object interface {
	metav1.Object
	runtime.Object
}

func (c *Cluster) delete(ctx context.Context, kind, namespace, name string, o *metav1.DeleteOptions) error {
	return c.call("DELETE", kind, namespace, name).Body(o).Do(ctx).Error()
}

func (c *Cluster) patch(ctx context.Context, kind, namespace, name, subresource string, of types.PatchType,
	patch []byte) error {
	r := c.call("PATCH", kind, namespace, name).SetHeader("Content-Type", string(of)).Body(patch)
	if subresource != "" {
		r = r.SubResource(subresource)
	}
	return r.Do(ctx).Error()
}

// evict evicts a pod through the API, as kubectl drain does.
func (c *Cluster) evict(ctx context.Context, namespace, name string) error {
	eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace}}
	return c.call("POST", "Pod", namespace, name).SubResource("eviction").Body(eviction).Do(ctx).Error()
}

// logs opens the log of a container: of its present instance until it ends, or of the previous one.
func (c *Cluster) logs(ctx context.Context, namespace, pod, container string, previous bool) (io.ReadCloser, error) {
	return c.call("GET", "Pod", namespace, pod).Timeout(0).SubResource("log").
		VersionedParams(&v1.PodLogOptions{Container: container, Follow: !previous, Previous: previous}, parameter).
		Stream(ctx)
}

// watch calls f for each change of objects with labels, from those that exist on, until the context
// is done. It calls connected when the first watch begins. It watches again after an interruption,
// so that f can get the same state twice.
func (c *Cluster) watch(ctx context.Context, kind, namespace, labels string, connected func(),
	f func(watch.EventType, object)) error {
	from, connected := "", sync.OnceFunc(connected)
	defer connected()
	for {
		w, err := c.call("GET", kind, namespace, "").Timeout(0).
			VersionedParams(&metav1.ListOptions{Watch: true, LabelSelector: labels, ResourceVersion: from},
				parameter).Watch(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err):
			return err
		case err == nil:
			connected()
			from = follow(w, from, f)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

// pause is the time between two attempts of a watch.
const pause = 200 * time.Millisecond

// follow passes the events of one watch on, and returns the version from which the next one goes
// on.
func follow(w watch.Interface, from string, f func(watch.EventType, object)) string {
	defer w.Stop()
	for e := range w.ResultChan() {
		o, ok := e.Object.(object)
		if !ok { // an error, such as of a version that is too old
			return ""
		}
		from = o.GetResourceVersion()
		f(e.Type, o)
	}
	return from
}

// reason returns what the server says, on one line for people.
func reason(err error) string {
	if status, is := errors.AsType[*apierrors.StatusError](err); is {
		return status.ErrStatus.Message
	}
	return err.Error()
}
