package realkubelet

import (
	"context"
	"errors"

	cri "k8s.io/cri-api/pkg/apis"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	kubetypes "k8s.io/kubelet/pkg/types"

	"probesim.dev/fakeruntime"
)

// runtimeService is the container runtime that the kubelet sees. A method that the kubelet does not
// call here panics, because the embedded interface is nil.
type runtimeService struct {
	cri.RuntimeService
	driver     *connection
	configs    *configs
	workers    *workers
	probes     *probeRuns
	stopReason func(containerKey) string
}

var errNoStats = errors.New("the runtime keeps no statistics")

// configs has the configurations that any kubelet of the run passed to the runtime: of existing
// sandboxes, and of all containers, even removed ones, because the kubelet may probe a container
// that is gone.
type configs struct {
	sandboxes  shared[string, *runtimeapi.PodSandboxConfig] // by sandbox ID
	containers shared[string, *runtimeapi.ContainerConfig]  // by container ID
	instances  shared[string, int]                          // by container ID
}

// Version takes no time, because the kubelet holds a lock during the call.
func (r *runtimeService) Version(context.Context, string) (*runtimeapi.VersionResponse, error) {
	return &runtimeapi.VersionResponse{
		Version: "0.1.0", RuntimeName: "fakeruntime", RuntimeVersion: "1.0.0", RuntimeApiVersion: "v1",
	}, nil
}

// Status takes no time, for the same reason as Version.
func (r *runtimeService) Status(context.Context, bool) (*runtimeapi.StatusResponse, error) {
	op := r.driver.call(fakeruntime.Call{Method: fakeruntime.Status})
	if op.Err != nil {
		return nil, op.Err
	}
	status := &runtimeapi.RuntimeStatus{}
	for _, c := range op.Conditions {
		status.Conditions = append(status.Conditions,
			&runtimeapi.RuntimeCondition{Type: c.Type, Status: c.Status, Reason: c.Reason, Message: c.Message})
	}
	return &runtimeapi.StatusResponse{Status: status}, nil
}

func (r *runtimeService) RuntimeConfig(context.Context) (*runtimeapi.RuntimeConfigResponse, error) {
	return &runtimeapi.RuntimeConfigResponse{
		Linux: &runtimeapi.LinuxRuntimeConfiguration{CgroupDriver: runtimeapi.CgroupDriver_CGROUPFS},
	}, nil
}

func (r *runtimeService) UpdateRuntimeConfig(context.Context, *runtimeapi.RuntimeConfig) error {
	return nil
}

// UpdateContainerResources stores nothing: the status of a container has no resources, so the
// kubelet shows those that it has set (pkg/kubelet/kuberuntime/kuberuntime_container.go,
// toKubeContainerStatus).
func (r *runtimeService) UpdateContainerResources(_ context.Context, id string,
	_ *runtimeapi.ContainerResources) error {
	return r.driver.call(fakeruntime.Call{Method: fakeruntime.UpdateContainerResources, ContainerID: id}).Err
}

func (r *runtimeService) UpdatePodSandboxResources(context.Context,
	*runtimeapi.UpdatePodSandboxResourcesRequest) (*runtimeapi.UpdatePodSandboxResourcesResponse, error) {
	return &runtimeapi.UpdatePodSandboxResourcesResponse{}, nil
}

func (r *runtimeService) ReopenContainerLog(context.Context, string) error { return nil }

func (r *runtimeService) ContainerStats(context.Context, string) (*runtimeapi.ContainerStats, error) {
	return nil, errNoStats
}

// ListContainerStats returns no statistics. The kubelet asks for those of a pod before it decreases
// a memory limit, and finds no container that uses more memory
// (pkg/kubelet/kuberuntime/kuberuntime_manager.go, validateMemoryResizeAction).
func (r *runtimeService) ListContainerStats(_ context.Context,
	filter *runtimeapi.ContainerStatsFilter) ([]*runtimeapi.ContainerStats, error) {
	if filter.GetPodSandboxId() == "" {
		return nil, errNoStats
	}
	return nil, nil
}

func (r *runtimeService) PodSandboxStats(context.Context, string) (*runtimeapi.PodSandboxStats, error) {
	return nil, errNoStats
}

func (r *runtimeService) ListPodSandboxStats(context.Context,
	*runtimeapi.PodSandboxStatsFilter) ([]*runtimeapi.PodSandboxStats, error) {
	return nil, errNoStats
}

// podOfFilter returns the pod UID that a list call selects, or an empty string.
func podOfFilter(selector map[string]string) string {
	return selector[kubetypes.KubernetesPodUIDLabel]
}
