// Package realcontrollers runs the real Deployment, ReplicaSet and EndpointSlice controllers and
// kube-proxy's limiter of a release under virtual time, over the same store of objects as the
// simulator's. A stand-in for the kubelet starts and stops pods, so a difference between the two
// traces is one between the controllers.
package realcontrollers
