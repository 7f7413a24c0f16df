package realkubelet

import (
	"os"
	"path/filepath"

	containertest "k8s.io/kubernetes/pkg/kubelet/container/testing"
)

// logFiles ignores the kubelet's file operations, except that it finds and removes log files: the
// kubelet derives the restart count of a lost container from its logs
// (pkg/kubelet/kuberuntime/kuberuntime_container.go, calcRestartCountByLogDir).
type logFiles struct{ containertest.FakeOS }

func (*logFiles) Glob(pattern string) ([]string, error) { return filepath.Glob(pattern) }

func (*logFiles) Remove(path string) error { return os.Remove(path) }
