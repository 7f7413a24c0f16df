package main

import (
	"math/rand/v2"
	"strings"
	"testing"

	"k8s.io/kubernetes/pkg/util/parsers"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/world/apiserver/admission"
)

// TestImage checks that package admission accepts the same image names as the kubelet, and sets the
// same pull policy as the API server.
func TestImage(t *testing.T) {
	const images = 60_000
	hash := strings.Repeat("0a", 32)
	pieces := []string{"a", "b1", "A", "/", "/", ":", ".", "-", "--", "__", "_", "localhost", "docker.io",
		"index.docker.io", "[::1]", ":5000",
		":latest", ":1.2-x", "@", "@sha256:" + hash, "@sha512:" + hash + hash, "@sha256:0",
		"@sha256:" + strings.ToUpper(hash), hash, "é", " ", strings.Repeat("x", 128)}
	random := rand.New(rand.NewPCG(3, 4))
	valid := 0
	for range images {
		var b strings.Builder
		for range 1 + random.IntN(6) {
			b.WriteString(pieces[random.IntN(len(pieces))])
		}
		image := b.String()
		_, tag, _, err := parsers.ParseImageName(image)
		if got := admission.IsImage(image); got != (err == nil) {
			t.Fatalf("%q: the kubelet says %v and admission %t", image, err, got)
		}
		pod := &v1.Pod{Spec: v1.PodSpec{Containers: []v1.Container{{Image: image}}}}
		admission.Default(pod)
		if got := pod.Spec.Containers[0].ImagePullPolicy == v1.PullAlways; got != (tag == "latest") {
			t.Fatalf("%q has the tag %q for the API server; admission sets the pull policy Always: %t", image, tag, got)
		}
		if err == nil {
			valid++
		}
	}
	if valid < images/20 {
		t.Errorf("only %d names are references", valid)
	}
	t.Logf("%d of %d names are references", valid, images)
}
