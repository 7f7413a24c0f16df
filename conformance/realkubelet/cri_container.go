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

func (r *runtimeService) CreateContainer(_ context.Context, sandboxID string, config *runtimeapi.ContainerConfig,
	sandbox *runtimeapi.PodSandboxConfig) (string, error) {
	op := r.driver.call(fakeruntime.Call{
		Method: fakeruntime.CreateContainer, SandboxID: sandboxID, PodUID: sandbox.Metadata.Uid,
		Name: config.Metadata.Name, Attempt: int(config.Metadata.Attempt), Image: config.Image.GetImage(),
		StopSignal: stopSignal(config.GetStopSignal()),
	})
	if op.Err != nil {
		return "", op.Err
	}
	r.configs.instances.set(op.ID, r.driver.instance(op.ID))
	r.configs.containers.set(op.ID, config)
	return op.ID, writeLog(filepath.Join(sandbox.LogDirectory, config.LogPath))
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

func (r *runtimeService) StartContainer(_ context.Context, id string) error {
	return r.driver.call(fakeruntime.Call{Method: fakeruntime.StartContainer, ContainerID: id}).Err
}

// StopContainer returns when the process has ended.
func (r *runtimeService) StopContainer(_ context.Context, id string, grace int64) error {
	labels := r.configs.containers.get(id).GetLabels()
	return r.driver.call(fakeruntime.Call{
		Method: fakeruntime.StopContainer, ContainerID: id, GraceSeconds: grace,
		StopReason: r.stopReason(containerKey{labels[kubetypes.KubernetesPodUIDLabel],
			labels[kubetypes.KubernetesContainerNameLabel]}),
	}).Err
}

func (r *runtimeService) RemoveContainer(_ context.Context, id string) error {
	return r.driver.call(fakeruntime.Call{Method: fakeruntime.RemoveContainer, ContainerID: id}).Err
}

func (r *runtimeService) ListContainers(_ context.Context, filter *runtimeapi.ContainerFilter) ([]*runtimeapi.Container,
	error) {
	op := r.driver.call(fakeruntime.Call{
		Method:  fakeruntime.ListContainers,
		PodUID:  podOfFilter(filter.GetLabelSelector()),
		Running: filter.GetState() != nil && filter.GetState().State == runtimeapi.ContainerState_CONTAINER_RUNNING,
	})
	if op.Err != nil {
		return nil, op.Err
	}
	list := make([]*runtimeapi.Container, 0, len(op.Containers))
	for _, c := range op.Containers {
		if filter.GetId() != "" && filter.GetId() != c.ID ||
			filter.GetPodSandboxId() != "" && filter.GetPodSandboxId() != c.SandboxID {
			continue
		}
		config := r.configs.containers.get(c.ID)
		list = append(list, &runtimeapi.Container{
			Id: c.ID, PodSandboxId: c.SandboxID, Metadata: config.GetMetadata(), Image: config.GetImage(),
			ImageRef: c.Image, ImageId: c.Image, State: containerState(c), CreatedAt: r.driver.wallNanos(c.CreatedAt),
			Labels: config.GetLabels(), Annotations: config.GetAnnotations(),
		})
	}
	return list, nil
}

func (r *runtimeService) ContainerStatus(_ context.Context, id string, _ bool) (*runtimeapi.ContainerStatusResponse,
	error) {
	config := r.configs.containers.get(id)
	if calledBy("containerGC).evictContainers") {
		r.driver.turn("container GC", config.GetLabels()[kubetypes.KubernetesPodUIDLabel]+"/"+
			config.GetMetadata().GetName())
	}
	op := r.driver.call(fakeruntime.Call{Method: fakeruntime.ContainerStatus, ContainerID: id})
	if op.Err != nil {
		return nil, op.Err
	}
	c := op.Containers[0]
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
