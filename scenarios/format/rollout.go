package format

import (
	"encoding/json"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
	"probesim.dev/trace/traffic"
)

// ControlPlane turns on the controllers, the scheduler and kube-proxy. Deployments of spec.pods
// then create their pods through ReplicaSets.
type ControlPlane struct {
	Set       string      `json:"set,omitempty"`       // a name in fakeruntime.DelaySets; empty: fixed delays
	Watch     *value.Draw `json:"watch,omitempty"`     // from a change in the API server to the cache of a controller
	APIWrite  *value.Draw `json:"apiWrite,omitempty"`  // of a call of a controller
	Schedule  *value.Draw `json:"schedule,omitempty"`  // until the scheduler has bound a pod
	ProxySync *value.Draw `json:"proxySync,omitempty"` // until kube-proxy has written its rules
}

// Service is an entry of spec.services.
type Service struct {
	strict.Pos `json:"-"`
	Name       string   `json:"name"`
	File       string   `json:"file,omitempty"`    // a path relative to the directory of the scenario file
	Routers    []Router `json:"routers,omitempty"` // empty: kube-proxy
}

// Router sends requests to the pods of a Service: kube-proxy, or a load balancer, which is a range
// of delays.
type Router struct {
	strict.Pos `json:"-"`
	Name       string      `json:"name,omitempty"` // empty: the kind
	Kind       string      `json:"kind,omitempty"`
	Add        *value.Draw `json:"add,omitempty"`    // until a new ready pod gets requests
	Remove     *value.Draw `json:"remove,omitempty"` // until a pod that is no longer ready gets none
}

// NameOr returns the name of a router, which is its kind if it has none.
func (r *Router) NameOr() string {
	if r.Name == "" {
		return r.Kind
	}
	return r.Name
}

// KubeProxy is the kind and the name of the router that each node has.
const KubeProxy = "kube-proxy"

// Traffic is a stream of requests to a Service.
type Traffic struct {
	strict.Pos `json:"-"`
	Service    string      `json:"service"`
	Router     string      `json:"router,omitempty"` // empty: the first router of the Service
	RPS        int         `json:"rps"`
	Latency    *value.Draw `json:"latency,omitempty"`   // nil: 0s
	Container  string      `json:"container,omitempty"` // empty: a pod serves while any of its containers runs
	// Connections are those that clients keep open. Nil: each request opens its own.
	Connections *traffic.Connections `json:"connections,omitempty"`
}

// Rollout changes a Deployment through the API. Exactly one of the fields other than Workload and
// Containers is set.
type Rollout struct {
	Workload   string                       `json:"workload,omitempty"` // empty if the scenario has only one Deployment
	Template   *part[v1.PodTemplateSpec]    `json:"template,omitempty"`
	Restart    bool                         `json:"restart,omitempty"`
	Undo       *int64                       `json:"undo,omitempty"` // 0: the revision before
	Pause      bool                         `json:"pause,omitempty"`
	Resume     bool                         `json:"resume,omitempty"`
	Spec       *part[appsv1.DeploymentSpec] `json:"spec,omitempty"`
	Containers []Container                  `json:"containers,omitempty"` // only with Template: how the new pods behave
}

// RestartedAt is the annotation that kubectl rollout restart sets.
const RestartedAt = "kubectl.kubernetes.io/restartedAt"

// JSON returns the patch of the Deployment, for all changes but undo. now is the time of a restart.
func (r *Rollout) JSON(now string) []byte {
	var spec any
	switch {
	case r.Template != nil:
		spec = map[string]any{"template": r.Template}
	case r.Restart:
		annotations := map[string]string{RestartedAt: now}
		spec = map[string]any{"template": map[string]any{"metadata": map[string]any{"annotations": annotations}}}
	case r.Pause, r.Resume:
		spec = map[string]any{"paused": r.Pause}
	default:
		spec = r.Spec
	}
	return patchOf(spec)
}

// Scale sets the number of replicas of a Deployment.
type Scale struct {
	Workload string `json:"workload,omitempty"` // as in Rollout
	Replicas *int   `json:"replicas"`
}

// JSON returns the patch of the Deployment.
func (s *Scale) JSON() []byte { return patchOf(map[string]any{"replicas": s.Replicas}) }

func patchOf(spec any) []byte {
	data, err := json.Marshal(map[string]any{"spec": spec})
	if err != nil {
		panic(err) // the parts are valid JSON
	}
	return data
}

// Lease is a lock that the programs of several pods want, as in leader election. A program takes it
// when it is free, from its start on, and renews it while it runs.
type Lease struct {
	Name string `json:"name"`
	// that it stays taken after the end of the program; 15s if not given
	Duration value.Duration `json:"duration,omitempty"`
	Release  bool           `json:"release,omitempty"` // the program gives it up when it ends
}

// DefaultLeaseDuration is that of client-go's leader election.
const DefaultLeaseDuration = 15 * time.Second

// Free returns how long the lease stays taken after the end of a program.
func (l *Lease) Free() time.Duration {
	switch {
	case l.Release:
		return 0
	case l.Duration == 0:
		return DefaultLeaseDuration
	}
	return l.Duration.Time()
}
