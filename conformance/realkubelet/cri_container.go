package realkubelet

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"strings"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	kubetypes "k8s.io/kubelet/pkg/types"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/podutil"
)

func (r *runtimeServer) CreateContainer(ctx context.Context,
	q *runtimeapi.CreateContainerRequest) (*runtimeapi.CreateContainerResponse, error) {
	config, sandbox := q.Config, q.SandboxConfig
	p := r.driver.submit(callUntil(ctx, fakeruntime.Call{
		Method: fakeruntime.CreateContainer, SandboxID: q.PodSandboxId, PodUID: sandbox.Metadata.Uid,
		Name: config.Metadata.Name, Attempt: int(config.Metadata.Attempt), Image: config.Image.GetImage(),
		StopSignal: stopSignal(config.GetStopSignal()),
	}))
	r.configs.containers.set(p.id, config)
	r.configs.logs.set(p.id, filepath.Join(sandbox.LogDirectory, config.LogPath))
	op := p.wait()
	return &runtimeapi.CreateContainerResponse{ContainerId: op.ID}, op.Err
}

// defaultStopSignal is SIGTERM. Older releases name it without the prefix SIGNAL_.
var defaultStopSignal = runtimeapi.Signal(cmp.Or(runtimeapi.Signal_value["SIGNAL_SIGTERM"],
	runtimeapi.Signal_value["SIGTERM"]))

// stopSignal returns the number of a signal, or 0 if the kubelet leaves the choice to the runtime.
func stopSignal(s runtimeapi.Signal) int {
	name := strings.NewReplacer("SIGNAL_", "", "PLUS", "+", "MINUS", "-").Replace(s.String())
	_, number := podutil.StopSignal(&v1.Container{Lifecycle: &v1.Lifecycle{StopSignal: new(v1.Signal(name))}})
	return number
}

// writeLog creates a container's log file. If the runtime loses a container, the kubelet derives
// the restart count from the log files (pkg/kubelet/kuberuntime/kuberuntime_container.go,
// calcRestartCountByLogDir).
func writeLog(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, nil, 0o600)
}

func (r *runtimeServer) StartContainer(ctx context.Context,
	q *runtimeapi.StartContainerRequest) (*runtimeapi.StartContainerResponse, error) {
	call := fakeruntime.Call{Method: fakeruntime.StartContainer, ContainerID: q.ContainerId}
	p := r.driver.submit(callUntil(ctx, call))
	if err := writeLog(r.configs.logs.get(q.ContainerId)); err != nil {
		return nil, err
	}
	op := p.wait()
	return &runtimeapi.StartContainerResponse{}, op.Err
}

// StopContainer returns when the process has ended.
func (r *runtimeServer) StopContainer(ctx context.Context,
	q *runtimeapi.StopContainerRequest) (*runtimeapi.StopContainerResponse, error) {
	labels := r.configs.containers.get(q.ContainerId).GetLabels()
	op := r.driver.call(ctx, fakeruntime.Call{
		Method: fakeruntime.StopContainer, ContainerID: q.ContainerId, GraceSeconds: q.Timeout,
		StopReason: r.stopReason(containerKey{labels[kubetypes.KubernetesPodUIDLabel],
			labels[kubetypes.KubernetesContainerNameLabel]}),
	})
	return &runtimeapi.StopContainerResponse{}, op.Err
}

func (r *runtimeServer) RemoveContainer(ctx context.Context,
	q *runtimeapi.RemoveContainerRequest) (*runtimeapi.RemoveContainerResponse, error) {
	op := r.driver.call(ctx, fakeruntime.Call{Method: fakeruntime.RemoveContainer, ContainerID: q.ContainerId})
	return &runtimeapi.RemoveContainerResponse{}, op.Err
}

func (r *runtimeServer) ListContainers(ctx context.Context,
	q *runtimeapi.ListContainersRequest) (*runtimeapi.ListContainersResponse, error) {
	filter := q.Filter
	op := r.driver.call(ctx, fakeruntime.Call{
		Method:  fakeruntime.ListContainers,
		PodUID:  podOfFilter(filter.GetLabelSelector()),
		Running: filter.GetState() != nil && filter.GetState().State == runtimeapi.ContainerState_CONTAINER_RUNNING,
	})
	if op.Err != nil {
		return nil, op.Err
	}
	list := &runtimeapi.ListContainersResponse{}
	for _, c := range op.Containers {
		if filter.GetId() != "" && filter.GetId() != c.ID ||
			filter.GetPodSandboxId() != "" && filter.GetPodSandboxId() != c.SandboxID {
			continue
		}
		config := r.configs.containers.get(c.ID)
		list.Containers = append(list.Containers, &runtimeapi.Container{
			Id: c.ID, PodSandboxId: c.SandboxID, Metadata: config.GetMetadata(), Image: config.GetImage(),
			ImageRef: c.Image, ImageId: c.Image, State: containerState(c), CreatedAt: r.driver.wallNanos(c.CreatedAt),
			Labels: config.GetLabels(), Annotations: config.GetAnnotations(),
		})
	}
	return list, nil
}

func (r *runtimeServer) ContainerStatus(ctx context.Context,
	q *runtimeapi.ContainerStatusRequest) (*runtimeapi.ContainerStatusResponse, error) {
	op := r.driver.call(ctx, fakeruntime.Call{Method: fakeruntime.ContainerStatus, ContainerID: q.ContainerId})
	if op.Err != nil {
		return nil, op.Err
	}
	c, config := op.Containers[0], r.configs.containers.get(q.ContainerId)
	status := &runtimeapi.ContainerStatus{
		Id: c.ID, Metadata: config.GetMetadata(), State: containerState(c), CreatedAt: r.driver.wallNanos(c.CreatedAt),
		Image: config.GetImage(), ImageRef: c.Image, ImageId: c.Image, Labels: config.GetLabels(),
		Annotations: config.GetAnnotations(), StopSignal: cmp.Or(config.GetStopSignal(), defaultStopSignal),
		LogPath: filepath.Join(r.configs.sandboxes.get(c.SandboxID).GetLogDirectory(), config.GetLogPath()),
	}
	if c.State != fakeruntime.Created {
		status.StartedAt = r.driver.wallNanos(c.StartedAt)
	}
	if c.State == fakeruntime.Exited {
		status.FinishedAt, status.ExitCode, status.Reason = r.driver.wallNanos(c.FinishedAt), c.ExitCode, c.Reason
	}
	return &runtimeapi.ContainerStatusResponse{Status: status}, nil
}

func containerState(c fakeruntime.Container) runtimeapi.ContainerState {
	switch c.State {
	case fakeruntime.Running:
		return runtimeapi.ContainerState_CONTAINER_RUNNING
	case fakeruntime.Exited:
		return runtimeapi.ContainerState_CONTAINER_EXITED
	}
	return runtimeapi.ContainerState_CONTAINER_CREATED
}
