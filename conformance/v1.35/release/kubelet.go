package release

import (
	"context"
	"net"
	"path/filepath"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/kubernetes/pkg/kubelet"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
)

// NewKubelet creates a kubelet for a node, with the garbage collection defaults of cmd/kubelet/app/options/options.go.
func NewKubelet(ctx context.Context, c *kubeletconfig.KubeletConfiguration, deps *kubelet.Dependencies, node string, ip net.IP, root string) (*kubelet.Kubelet, error) {
	return kubelet.NewMainKubelet(ctx, c, deps, nil, node, types.NodeName(node), []net.IP{ip}, "", "external", "", root, filepath.Join(root, "logs"),
		"", "", false, nil, nil, "", false, false, metav1.Duration{}, 1, -1, nil, 50, false)
}

// ImageOfSize sets the size of an image in bytes, and returns the image.
func ImageOfSize(bytes uint64, image *runtimeapi.Image) *runtimeapi.Image {
	image.Size = bytes
	return image
}
