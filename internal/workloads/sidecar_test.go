package workloads

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
)

// TestSidecars checks which containers of a pod are sidecars, and why.
func TestSidecars(t *testing.T) {
	always := v1.ContainerRestartPolicyAlways
	for _, test := range []struct {
		init, containers string // name=image
		want             string
	}{
		{"", "app=shop:1", ""},
		{"", "app=shop:1 istio-proxy=registry:5000/x:1", "istio-proxy: proxy by its name"},
		{"", "app=shop:1 side=registry.example.com:5000/mirror/istio/proxyv2:1.24@sha256:00",
			"side: proxy by its image"},
		{"", "app=shop:1 side=envoy", "side: proxy by its image"},
		{"", "app=shop/my-envoy:1 proxy=nginx:1", ""},
		{"", "istio-proxy=auto", ""}, // a gateway
		{"", "envoy=envoyproxy/envoy:v1.31.2 oauth2-proxy=x", ""},
		{"log=fluent-bit", "istio-proxy=auto", "log: restartable init container"},
		{"log=fluent-bit", "app=shop:1 helper=helper:1", "log: restartable init container"},
	} {
		var spec v1.PodSpec
		for _, text := range strings.Fields(test.init) {
			name, image, _ := strings.Cut(text, "=")
			spec.InitContainers = append(spec.InitContainers,
				v1.Container{Name: name, Image: image, RestartPolicy: &always})
		}
		for _, text := range strings.Fields(test.containers) {
			name, image, _ := strings.Cut(text, "=")
			spec.Containers = append(spec.Containers, v1.Container{Name: name, Image: image})
		}
		found := Sidecars(&spec)
		var list []string
		for _, name := range slices.Sorted(maps.Keys(found)) {
			list = append(list, name+": "+found[name])
		}
		if got := strings.Join(list, ", "); got != test.want {
			t.Errorf("%s %s: the sidecars are %q, want %q", test.init, test.containers, got, test.want)
		}
	}
}

// TestSidecarPage checks that docs/sidecars.md lists exactly the names and images.
func TestSidecarPage(t *testing.T) {
	data, err := os.ReadFile("../../docs/sidecars.md")
	if err != nil {
		t.Fatal(err)
	}
	var names, images []string
	for _, row := range regexp.MustCompile(`(?m)^\|([^|]+)\|([^|]*)\|([^|]*)\|$`).FindAllStringSubmatch(string(data),
		-1) {
		for i, list := range []*[]string{&names, &images} {
			for _, code := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[i+2], -1) {
				*list = append(*list, code[1])
			}
		}
	}
	slices.Sort(names)
	slices.Sort(images)
	if !slices.Equal(names, proxyNames) {
		t.Errorf("the page has the names %q, and the program %q", names, proxyNames)
	}
	if !slices.Equal(images, proxyImages) {
		t.Errorf("the page has the images %q, and the program %q", images, proxyImages)
	}
}
