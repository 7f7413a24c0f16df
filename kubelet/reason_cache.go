package kubelet

import (
	"k8s.io/apimachinery/pkg/types"
)

// containerKey identifies a container of a pod.
type containerKey struct {
	uid  types.UID
	name string
}

// startReason says why a container could not be started (reasonItem in pkg/kubelet/reason_cache.go
// at v1.37.0).
type startReason struct {
	reason, message string
	step            int64
}
