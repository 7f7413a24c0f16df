package manifests

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1beta1 "k8s.io/api/apps/v1beta1"
	appsv1beta2 "k8s.io/api/apps/v1beta2"
	batchv1beta1 "k8s.io/api/batch/v1beta1"
	extensionsv1beta1 "k8s.io/api/extensions/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// TestRemovedKinds compares the releases of removed workloads with those of k8s.io/api.
func TestRemovedKinds(t *testing.T) {
	upstream := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{appsv1beta1.AddToScheme, appsv1beta2.AddToScheme,
		batchv1beta1.AddToScheme, extensionsv1beta1.AddToScheme} {
		utilruntime.Must(add(upstream))
	}
	for _, old := range removed {
		of, err := schema.ParseGroupVersion(old.apiVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range WorkloadKinds() {
			release, want := "", ""
			if slices.Contains(strings.Fields(old.kinds), kind) {
				release = old.release
			}
			if upstream.Recognizes(of.WithKind(kind)) {
				object, err := upstream.New(of.WithKind(kind))
				if err != nil {
					t.Fatal(err)
				}
				major, minor := object.(interface{ APILifecycleRemoved() (major, minor int) }).APILifecycleRemoved()
				want = fmt.Sprintf("v%d.%d", major, minor)
			}
			if release != want {
				t.Errorf("%s %s: it is removed in %q, and in %q upstream", old.apiVersion, kind, release, want)
			}
		}
	}
}
