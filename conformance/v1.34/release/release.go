// Package release has the code that depends on the Go API of the kubelet of one release. The module of each release has this package,
// with the same exported names. A file that is as in the release before is a link to it.
package release

// Version is the Kubernetes version of the kubelet.
const Version = "v1.34.4"
