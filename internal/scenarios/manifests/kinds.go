package manifests

import (
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"probesim.dev/internal/strict"
)

// Others returns the objects of the file that are no workloads and no scenarios.
func (f *Objects) Others() []*strict.Node { return f.others }

// OfKind returns the objects of a kind that is no workload, such as Service, in the order of the
// file.
func (f *Objects) OfKind(apiVersion, kind string) []*strict.Node {
	return slices.DeleteFunc(slices.Clone(f.others), func(n *strict.Node) bool {
		return n.Field("apiVersion").Value != apiVersion || n.Field("kind").Value != kind
	})
}

// Unchecked is an object that is not checked.
type Unchecked struct {
	strict.Pos
	Kind, Name string
	Template   string // path of the first pod template in it; empty if it has none
}

func (f *Objects) unchecked() (list []Unchecked) {
	for _, n := range f.others {
		list = append(list,
			Unchecked{n.Pos, n.Field("kind").Value, valueOf(n.Find("metadata.name")), templateIn(n)})
	}
	return list
}

// KindsOf returns the kinds of objects, each with its number if that is not 1, in the order of the
// objects.
func KindsOf(list []Unchecked) (kinds []string) {
	count := map[string]int{}
	for _, o := range list {
		if count[o.Kind]++; count[o.Kind] == 1 {
			kinds = append(kinds, o.Kind)
		}
	}
	for i, kind := range kinds {
		if n := count[kind]; n > 1 {
			kinds[i] = fmt.Sprintf("%s (%d)", kind, n)
		}
	}
	return kinds
}

// scheme has the kinds of the apiVersions of workloads.
var scheme = runtime.NewScheme()

// removed has the releases since which the API server does not have the workloads of an apiVersion
// (APILifecycleRemoved in k8s.io/api).
var removed = []struct{ apiVersion, release, kinds string }{
	{"extensions/v1beta1", "v1.16", "DaemonSet Deployment ReplicaSet"},
	{"apps/v1beta1", "v1.16", "Deployment StatefulSet"},
	{"apps/v1beta2", "v1.16", "DaemonSet Deployment ReplicaSet StatefulSet"},
	{"batch/v1beta1", "v1.25", "CronJob"},
}

func init() {
	for _, add := range []func(*runtime.Scheme) error{v1.AddToScheme, appsv1.AddToScheme, batchv1.AddToScheme} {
		utilruntime.Must(add(scheme))
	}
}

// checkKind reports an object that must be a misspelt workload: its apiVersion does not have its
// kind, which is almost that of a workload, or the object has a pod template.
func checkKind(n, apiVersion, kind *strict.Node) bool {
	of, err := schema.ParseGroupVersion(apiVersion.Value)
	known := append(WorkloadKinds(), "List")
	written := strings.TrimSpace(kind.Value)
	if err == nil && scheme.Recognizes(of.WithKind(kind.Value)) ||
		strict.Nearest(written, known) == "" && templateIn(n) == "" {
		return true
	}
	switch kind.Value {
	case "Template":
		kind.Errorf("is a template of OpenShift: render it with oc process --local -o yaml -f FILE")
		return false
	case "DeploymentConfig":
		apiVersion.Errorf("a DeploymentConfig of OpenShift has apps.openshift.io/v1 today")
		return false
	}
	kind.Errorf("%s has no kind %s%s", strict.Quote(apiVersion.Value), strict.Quote(kind.Value),
		strict.OrList(written, known))
	return false
}

// templateIn returns the path of the first pod template in an object, such as
// spec.leaderWorkerTemplate.workerTemplate: what has a list of containers in its spec. It is empty
// if there is none.
func templateIn(n *strict.Node) string {
	if list := n.Field("spec").Field("containers"); list.Kind == strict.Sequence && len(list.Items) > 0 &&
		list.Items[0].Kind == strict.Mapping {
		return n.Path()
	}
	for _, item := range n.Items {
		if path := templateIn(item); path != "" {
			return path
		}
	}
	return ""
}
