package admission

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/fnv"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"probesim.dev/internal/podutil"
)

// NodeName is the name of the node. The name of a static pod ends with it.
const NodeName = "node"

// StaticName returns the name of the pod that the kubelet makes from a manifest (generatePodName in
// pkg/kubelet/config/common.go at v1.37.0).
func StaticName(name string) string { return name + "-" + NodeName }

// Static returns the pod that the kubelet makes from a manifest in its directory of static pods.
// The UID is a hash of the manifest, so each change of the manifest makes another pod
// (applyDefaults in pkg/kubelet/config/common.go at v1.37.0). Times and UIDs that the manifest has
// are ignored.
func Static(manifest *v1.Pod) *v1.Pod {
	pod := manifest.DeepCopy()
	pod.UID, pod.Status = "", v1.PodStatus{}
	hash := fnv.New128a()
	if err := json.NewEncoder(hash).Encode(pod); err != nil {
		panic(err) // API types can always be marshaled
	}
	fmt.Fprintf(hash, "host:%sfile:%s", NodeName, pod.Name)
	pod.UID = types.UID(hex.EncodeToString(hash.Sum(nil)))
	pod.Name = StaticName(pod.Name)
	Default(pod)
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations[podutil.ConfigHash], pod.Annotations[podutil.ConfigSource] = string(pod.UID), podutil.FileSource
	pod.Spec.NodeName = NodeName
	pod.Spec.Tolerations = append(pod.Spec.Tolerations,
		v1.Toleration{Operator: v1.TolerationOpExists, Effect: v1.TaintEffectNoExecute})
	pod.Generation, pod.Status.Phase = 0, v1.PodPending
	return pod
}

// Mirror returns the mirror pod of a static pod, as the API server stores it. again is the number
// of earlier mirror pods of the same name, which had other UIDs (CreateMirrorPod in
// pkg/kubelet/pod/mirror_client.go at v1.37.0).
func Mirror(static *v1.Pod, again int) *v1.Pod {
	mirror := static.DeepCopy()
	mirror.UID = types.UID(fmt.Sprintf("mirror-%d-of-%s", again, UID(static.Namespace, static.Name)))
	mirror.Annotations[v1.MirrorPodAnnotationKey] = static.Annotations[podutil.ConfigHash]
	mirror.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: NodeName, UID: NodeName,
		Controller: ptr.To(true)}}
	mirror.Generation = 1
	return mirror
}

// ValidateStatic returns an error for each object of the API that the manifest of a static pod
// refers to. The kubelet rejects such manifests (HasAPIObjectReference in pkg/api/pod/util.go at
// v1.37.0).
func ValidateStatic(manifest *v1.Pod) field.ErrorList {
	const refers = "a static pod cannot refer to objects of the API"
	spec := &manifest.Spec
	return errorsIn(field.NewPath("spec"), func(s scope) {
		s.at("serviceAccountName").forbid(spec.ServiceAccountName != "" || spec.DeprecatedServiceAccount != "", refers)
		s.at("imagePullSecrets").forbid(len(spec.ImagePullSecrets) > 0, refers)
		s.at("resourceClaims").forbid(len(spec.ResourceClaims) > 0, refers)
		for i := range spec.Volumes {
			s.at("volumes").index(i).forbid(volumeRefers(&spec.Volumes[i].VolumeSource), refers)
		}
		eachContainer(s, spec, func(s scope, c *v1.Container, _ bool) {
			s.at("envFrom").forbid(len(c.EnvFrom) > 0, refers)
			for i := range c.Env {
				from := c.Env[i].ValueFrom
				s.at("env").index(i).forbid(from != nil && (from.ConfigMapKeyRef != nil || from.SecretKeyRef != nil),
					refers)
			}
		})
	})
}

func volumeRefers(v *v1.VolumeSource) bool {
	if v.Projected != nil {
		for _, s := range v.Projected.Sources {
			if s.DownwardAPI == nil {
				return true
			}
		}
	}
	return v.ConfigMap != nil || v.Secret != nil || v.CSI != nil || v.Glusterfs != nil ||
		v.PersistentVolumeClaim != nil ||
		v.Ephemeral != nil || v.AzureFile != nil
}
