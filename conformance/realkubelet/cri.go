package realkubelet

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	kubetypes "k8s.io/kubelet/pkg/types"

	"probesim.dev/conformance/kubeletapi"
	"probesim.dev/fakeruntime"
	"probesim.dev/internal/podutil"
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

func (r *runtimeServer) RunPodSandbox(ctx context.Context,
	q *runtimeapi.RunPodSandboxRequest) (*runtimeapi.RunPodSandboxResponse, error) {
	p := r.driver.submit(callUntil(ctx, fakeruntime.Call{
		Method: fakeruntime.RunPodSandbox, PodUID: q.Config.Metadata.Uid, Attempt: int(q.Config.Metadata.Attempt),
	}))
	r.configs.sandboxes.set(p.id, q.Config)
	op := p.wait()
	return &runtimeapi.RunPodSandboxResponse{PodSandboxId: op.ID}, op.Err
}

func (r *runtimeServer) StopPodSandbox(ctx context.Context,
	q *runtimeapi.StopPodSandboxRequest) (*runtimeapi.StopPodSandboxResponse, error) {
	op := r.driver.call(ctx, fakeruntime.Call{Method: fakeruntime.StopPodSandbox, SandboxID: q.PodSandboxId})
	return &runtimeapi.StopPodSandboxResponse{}, op.Err
}

func (r *runtimeServer) RemovePodSandbox(ctx context.Context,
	q *runtimeapi.RemovePodSandboxRequest) (*runtimeapi.RemovePodSandboxResponse, error) {
	op := r.driver.call(ctx, fakeruntime.Call{Method: fakeruntime.RemovePodSandbox, SandboxID: q.PodSandboxId})
	if op.Err == nil {
		r.configs.sandboxes.remove(q.PodSandboxId)
	}
	return &runtimeapi.RemovePodSandboxResponse{}, op.Err
}

func (r *runtimeServer) PodSandboxStatus(ctx context.Context,
	q *runtimeapi.PodSandboxStatusRequest) (*runtimeapi.PodSandboxStatusResponse, error) {
	id := q.PodSandboxId
	op := r.driver.call(ctx, fakeruntime.Call{Method: fakeruntime.PodSandboxStatus, SandboxID: id})
	if op.Err != nil {
		return nil, op.Err
	}
	s, config := op.Sandboxes[0], r.configs.sandboxes.get(id)
	return &runtimeapi.PodSandboxStatusResponse{Status: &runtimeapi.PodSandboxStatus{
		Id: s.ID, Metadata: config.GetMetadata(), State: sandboxState(s), CreatedAt: r.driver.wallNanos(s.CreatedAt),
		Network: &runtimeapi.PodSandboxNetworkStatus{Ip: s.IP}, Linux: linuxStatus(config),
		Labels: config.GetLabels(), Annotations: config.GetAnnotations(),
	}}, nil
}

func (r *runtimeServer) ListPodSandbox(ctx context.Context,
	q *runtimeapi.ListPodSandboxRequest) (*runtimeapi.ListPodSandboxResponse, error) {
	filter := q.Filter
	op := r.driver.call(ctx, fakeruntime.Call{
		Method: fakeruntime.ListPodSandbox,
		PodUID: podOfFilter(filter.GetLabelSelector()),
		Ready:  filter.GetState() != nil && filter.GetState().State == runtimeapi.PodSandboxState_SANDBOX_READY,
	})
	if op.Err != nil {
		return nil, op.Err
	}
	list := &runtimeapi.ListPodSandboxResponse{}
	for _, s := range op.Sandboxes {
		if filter.GetId() != "" && filter.GetId() != s.ID {
			continue
		}
		config := r.configs.sandboxes.get(s.ID)
		list.Items = append(list.Items, &runtimeapi.PodSandbox{
			Id: s.ID, Metadata: config.GetMetadata(), State: sandboxState(s), Labels: config.GetLabels(),
			CreatedAt: r.driver.wallNanos(s.CreatedAt), Annotations: config.GetAnnotations(),
		})
	}
	return list, nil
}

func sandboxState(s fakeruntime.Sandbox) runtimeapi.PodSandboxState {
	if s.Ready {
		return runtimeapi.PodSandboxState_SANDBOX_READY
	}
	return runtimeapi.PodSandboxState_SANDBOX_NOTREADY
}

// linuxStatus returns the requested namespaces. If they differ, the kubelet creates a new sandbox.
func linuxStatus(config *runtimeapi.PodSandboxConfig) *runtimeapi.LinuxPodSandboxStatus {
	return &runtimeapi.LinuxPodSandboxStatus{Namespaces: &runtimeapi.Namespace{
		Options: config.GetLinux().GetSecurityContext().GetNamespaceOptions(),
	}}
}

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

// execution says who runs a command. It is in the context of the call, under its type.
type execution struct {
	key   string // of the probe or hook
	retry bool
}

// ExecSync runs a command. If its context is canceled, the runtime ends the commands of the pod's
// probes: the context is that of the pod's syncs, which all probes of the pod share.
func (r *runtimeServer) ExecSync(ctx context.Context,
	q *runtimeapi.ExecSyncRequest) (*runtimeapi.ExecSyncResponse, error) {
	who := ctx.Value(execution{}).(execution)
	uid := r.configs.containers.get(q.ContainerId).GetLabels()[kubetypes.KubernetesPodUIDLabel]
	stop := context.AfterFunc(ctx, func() {
		if ctx.Err() == context.Canceled {
			r.driver.cancelProbes(uid)
		}
	})
	defer stop()
	call := fakeruntime.Call{Method: fakeruntime.ExecSync, ContainerID: q.ContainerId, Command: q.Cmd,
		Timeout: time.Duration(q.Timeout) * time.Second, Retry: who.retry}
	call.Probe, call.Hook = whoseKey(who.key)
	op := r.driver.call(ctx, call)
	return &runtimeapi.ExecSyncResponse{Stdout: []byte(op.Output), ExitCode: op.ExitCode}, op.Err
}

// imageServer has every image. The name of an image is also its ID.
type imageServer struct {
	runtimeapi.UnimplementedImageServiceServer
	driver  *connection
	workers *workers
}

const (
	imageBytes = fakeruntime.ImageSize
	imageUser  = 1000 // of every image; not root, so runAsNonRoot works
)

func (i *imageServer) ImageStatus(ctx context.Context,
	q *runtimeapi.ImageStatusRequest) (*runtimeapi.ImageStatusResponse, error) {
	op := i.driver.call(ctx, fakeruntime.Call{
		Method: fakeruntime.ImageStatus, Image: q.Image.GetImage(), PodUID: i.workers.pod(),
	})
	if op.Err != nil || op.ID == "" {
		return &runtimeapi.ImageStatusResponse{}, op.Err
	}
	return &runtimeapi.ImageStatusResponse{Image: kubeletapi.ImageOfSize(imageBytes, &runtimeapi.Image{
		Id: op.ID, RepoTags: []string{q.Image.Image}, Spec: q.Image, Uid: &runtimeapi.Int64Value{Value: imageUser},
	})}, nil
}

func (i *imageServer) PullImage(ctx context.Context,
	q *runtimeapi.PullImageRequest) (*runtimeapi.PullImageResponse, error) {
	op := i.driver.call(ctx, fakeruntime.Call{
		Method: fakeruntime.PullImage, Image: q.Image.GetImage(), PodUID: q.SandboxConfig.GetMetadata().GetUid(),
	})
	return &runtimeapi.PullImageResponse{ImageRef: op.ID}, op.Err
}

func (i *imageServer) ListImages(ctx context.Context,
	_ *runtimeapi.ListImagesRequest) (*runtimeapi.ListImagesResponse, error) {
	return &runtimeapi.ListImagesResponse{}, i.driver.call(ctx, fakeruntime.Call{Method: fakeruntime.ListImages}).Err
}

func (i *imageServer) ImageFsInfo(context.Context,
	*runtimeapi.ImageFsInfoRequest) (*runtimeapi.ImageFsInfoResponse, error) {
	usage := []*runtimeapi.FilesystemUsage{{
		Timestamp:  time.Now().UnixNano(),
		FsId:       &runtimeapi.FilesystemIdentifier{Mountpoint: "/"},
		UsedBytes:  &runtimeapi.UInt64Value{Value: imageBytes},
		InodesUsed: &runtimeapi.UInt64Value{Value: 1},
	}}
	return &runtimeapi.ImageFsInfoResponse{ImageFilesystems: usage, ContainerFilesystems: usage}, nil
}
