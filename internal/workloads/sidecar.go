// Package workloads has what reports about workloads share: how the API server stores their pods,
// which containers serve others, and how to describe them.
package workloads

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/podutil"
)

// proxyNames are the names of containers that proxy the requests of other containers of their pod.
// docs/sidecars.md lists them.
var proxyNames = []string{
	"alloydb-auth-proxy", "aws-appmesh-envoy", "cloud-sql-proxy", "cloudsql-proxy", "consul-connect-envoy-sidecar",
	"consul-dataplane", "daprd", "envoy", "envoy-sidecar",
	"istio-proxy", "kube-rbac-proxy", "kuma-sidecar", "linkerd-proxy", "oauth2-proxy", "vault-agent",
}

// proxyImages are the last parts of their images, without tag and digest. docs/sidecars.md lists
// them.
var proxyImages = []string{
	"alloydb-auth-proxy", "aws-appmesh-envoy", "cloud-sql-proxy", "consul-dataplane", "daprd", "envoy", "gce-proxy",
	"istio/proxyv2", "kube-rbac-proxy", "kuma-dp",
	"linkerd/proxy", "oauth2-proxy",
}

// Restartable is why an init container is a sidecar.
const Restartable = "restartable init container"

// Sidecars returns the containers of a pod that serve its ordinary containers, by name, with the
// reason: restartable init containers, and proxies beside another container. A pod of which a proxy
// is the only container is about the proxy.
func Sidecars(pod *v1.PodSpec) map[string]string {
	found := map[string]string{}
	for i := range pod.Containers {
		if reason := proxy(&pod.Containers[i]); reason != "" {
			found[pod.Containers[i].Name] = reason
		}
	}
	if len(found) == len(pod.Containers) {
		clear(found)
	}
	for i := range pod.InitContainers {
		if c := &pod.InitContainers[i]; podutil.IsRestartableInitContainer(c) {
			found[c.Name] = Restartable
		}
	}
	return found
}

// IsProxy reports whether a container proxies the requests of other containers of its pod, by its
// name or its image.
func IsProxy(c *v1.Container) bool { return proxy(c) != "" }

// proxy says by what a container is a proxy, or returns an empty string.
func proxy(c *v1.Container) string {
	if slices.Contains(proxyNames, c.Name) {
		return "proxy by its name"
	}
	repository := "/" + Repository(c.Image)
	if slices.ContainsFunc(proxyImages, func(image string) bool { return strings.HasSuffix(repository, "/"+image) }) {
		return "proxy by its image"
	}
	return ""
}

// Repository returns an image without its tag and its digest, which a new version changes.
func Repository(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if i := strings.LastIndex(image, ":"); i > strings.LastIndex(image, "/") {
		image = image[:i]
	}
	return image
}
