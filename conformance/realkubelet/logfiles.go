package realkubelet

import (
	"os"
	"path/filepath"

	containertest "k8s.io/kubernetes/pkg/kubelet/container/testing"
)

// logFiles does nothing to the files of the node but to find and remove logs: from the logs that are left of a lost
// container the kubelet counts on (pkg/kubelet/kuberuntime/kuberuntime_container.go, calcRestartCountByLogDir).
type logFiles struct{ containertest.FakeOS }

func (*logFiles) Glob(pattern string) ([]string, error) { return filepath.Glob(pattern) }

func (*logFiles) Remove(path string) error { return os.Remove(path) }
