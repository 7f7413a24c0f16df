package realkubelet

import (
	"context"
	"errors"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	kubetypes "k8s.io/kubelet/pkg/types"

	"probesim.dev/fakeruntime"
)

// runtimeServer is the container runtime at the other end of the kubelet's CRI client.
type runtimeServer struct {
	runtimeapi.UnimplementedRuntimeServiceServer
	driver     *connection
	configs    *configs
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
	logs       shared[string, string]                       // files, by container ID
}

// Version takes no time, because the kubelet holds a lock during the call.
func (r *runtimeServer) Version(context.Context, *runtimeapi.VersionRequest) (*runtimeapi.VersionResponse, error) {
	return &runtimeapi.VersionResponse{
		Version: "0.1.0", RuntimeName: "fakeruntime", RuntimeVersion: "1.0.0", RuntimeApiVersion: "v1",
	}, nil
}

// Status takes no time, for the same reason as Version.
func (r *runtimeServer) Status(ctx context.Context, _ *runtimeapi.StatusRequest) (*runtimeapi.StatusResponse, error) {
	op := r.driver.call(ctx, fakeruntime.Call{Method: fakeruntime.Status})
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

func (r *runtimeServer) RuntimeConfig(context.Context,
	*runtimeapi.RuntimeConfigRequest) (*runtimeapi.RuntimeConfigResponse, error) {
	return &runtimeapi.RuntimeConfigResponse{
		Linux: &runtimeapi.LinuxRuntimeConfiguration{CgroupDriver: runtimeapi.CgroupDriver_CGROUPFS},
	}, nil
}

func (r *runtimeServer) UpdateRuntimeConfig(context.Context,
	*runtimeapi.UpdateRuntimeConfigRequest) (*runtimeapi.UpdateRuntimeConfigResponse, error) {
	return &runtimeapi.UpdateRuntimeConfigResponse{}, nil
}

// UpdateContainerResources stores nothing: the status of a container has no resources, so the
// kubelet shows those that it has set (pkg/kubelet/kuberuntime/kuberuntime_container.go,
// toKubeContainerStatus).
func (r *runtimeServer) UpdateContainerResources(ctx context.Context,
	q *runtimeapi.UpdateContainerResourcesRequest) (*runtimeapi.UpdateContainerResourcesResponse, error) {
	op := r.driver.call(ctx, fakeruntime.Call{Method: fakeruntime.UpdateContainerResources, ContainerID: q.ContainerId})
	return &runtimeapi.UpdateContainerResourcesResponse{}, op.Err
}

func (r *runtimeServer) UpdatePodSandboxResources(context.Context,
	*runtimeapi.UpdatePodSandboxResourcesRequest) (*runtimeapi.UpdatePodSandboxResourcesResponse, error) {
	return &runtimeapi.UpdatePodSandboxResourcesResponse{}, nil
}

// ListContainerStats returns no statistics. The kubelet asks for those of a pod before it decreases
// a memory limit, and finds no container that uses more memory
// (pkg/kubelet/kuberuntime/kuberuntime_manager.go, validateMemoryResizeAction).
func (r *runtimeServer) ListContainerStats(_ context.Context,
	q *runtimeapi.ListContainerStatsRequest) (*runtimeapi.ListContainerStatsResponse, error) {
	if q.Filter.GetPodSandboxId() == "" {
		return nil, errNoStats
	}
	return &runtimeapi.ListContainerStatsResponse{}, nil
}

// podOfFilter returns the pod UID that a list call selects, or an empty string.
func podOfFilter(selector map[string]string) string {
	return selector[kubetypes.KubernetesPodUIDLabel]
}
