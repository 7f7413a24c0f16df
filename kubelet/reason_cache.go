package kubelet

import (
	"k8s.io/apimachinery/pkg/types"
)

// startKey is a container of a pod.
type startKey struct {
	uid  types.UID
	name string
}

// startReason is why a container could not be started, with the step of the record that says so.
type startReason struct {
	reason, message string
	step            int64
}
