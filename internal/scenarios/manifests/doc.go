// Package manifests finds the workloads in manifests, the Kubernetes objects that create pods. It
// decodes them, sets defaults and reports errors as the API server does.
package manifests
