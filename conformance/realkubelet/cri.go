package realkubelet

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	kubetypes "k8s.io/kubelet/pkg/types"

	"probesim.dev/conformance/kubeletapi"
	"probesim.dev/fakeruntime"
	"probesim.dev/internal/podutil"
)

// criServer is the container runtime at the other end of the CRI clients of one kubelet. It has
// every image. The name of an image is also its ID.
type criServer struct {
	driver     *connection
	configs    *configs
	workers    *workers
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

// answer returns the response to a call.
func (s *criServer) answer(ctx context.Context, req any) (any, error) {
	for _, group := range []func(context.Context, any) (any, error){s.ofNode, s.ofSandbox, s.ofContainer, s.ofImages} {
		if response, err := group(ctx, req); response != nil || err != nil {
			return response, err
		}
	}
	return nil, status.Errorf(codes.Unimplemented, "the runtime does not know %T", req)
}

// ofNode answers calls that ask for no sandbox, container or image. Version and Status take no time,
// because the kubelet holds a lock during these calls.
func (s *criServer) ofNode(ctx context.Context, req any) (any, error) {
	switch q := req.(type) {
	case *runtimeapi.VersionRequest:
		return &runtimeapi.VersionResponse{
			Version: "0.1.0", RuntimeName: "fakeruntime", RuntimeVersion: "1.0.0", RuntimeApiVersion: "v1",
		}, nil
	case *runtimeapi.StatusRequest:
		op, health := s.driver.call(ctx, fakeruntime.Call{Method: fakeruntime.Status}), &runtimeapi.RuntimeStatus{}
		for _, c := range op.Conditions {
			health.Conditions = append(health.Conditions,
				&runtimeapi.RuntimeCondition{Type: c.Type, Status: c.Status, Reason: c.Reason, Message: c.Message})
		}
		return &runtimeapi.StatusResponse{Status: health}, op.Err
	case *runtimeapi.RuntimeConfigRequest:
		return &runtimeapi.RuntimeConfigResponse{
			Linux: &runtimeapi.LinuxRuntimeConfiguration{CgroupDriver: runtimeapi.CgroupDriver_CGROUPFS},
		}, nil
	case *runtimeapi.UpdateRuntimeConfigRequest:
		return &runtimeapi.UpdateRuntimeConfigResponse{}, nil
	case *runtimeapi.ListContainerStatsRequest:
		// The kubelet asks for the statistics of a pod before it decreases a memory limit, and finds no
		// container that uses more memory (pkg/kubelet/kuberuntime/kuberuntime_manager.go,
		// validateMemoryResizeAction).
		if q.Filter.GetPodSandboxId() == "" {
			return nil, errNoStats
		}
		return &runtimeapi.ListContainerStatsResponse{}, nil
	}
	return nil, nil
}

// podOfFilter returns the pod UID that a list call selects, or an empty string.
func podOfFilter(selector map[string]string) string {
	return selector[kubetypes.KubernetesPodUIDLabel]
}

// ofSandbox answers calls about sandboxes.
func (s *criServer) ofSandbox(ctx context.Context, req any) (any, error) {
	switch q := req.(type) {
	case *runtimeapi.RunPodSandboxRequest:
		p := s.driver.submit(callUntil(ctx, fakeruntime.Call{
			Method: fakeruntime.RunPodSandbox, PodUID: q.Config.Metadata.Uid, Attempt: int(q.Config.Metadata.Attempt),
		}))
		s.configs.sandboxes.set(p.id, q.Config)
		op := p.wait()
		return &runtimeapi.RunPodSandboxResponse{PodSandboxId: op.ID}, op.Err
	case *runtimeapi.StopPodSandboxRequest:
		op := s.driver.call(ctx, fakeruntime.Call{Method: fakeruntime.StopPodSandbox, SandboxID: q.PodSandboxId})
		return &runtimeapi.StopPodSandboxResponse{}, op.Err
	case *runtimeapi.RemovePodSandboxRequest:
		op := s.driver.call(ctx, fakeruntime.Call{Method: fakeruntime.RemovePodSandbox, SandboxID: q.PodSandboxId})
		if op.Err == nil {
			s.configs.sandboxes.remove(q.PodSandboxId)
		}
		return &runtimeapi.RemovePodSandboxResponse{}, op.Err
	case *runtimeapi.UpdatePodSandboxResourcesRequest:
		return &runtimeapi.UpdatePodSandboxResourcesResponse{}, nil
	case *runtimeapi.PodSandboxStatusRequest:
		return s.sandboxStatus(ctx, q)
	case *runtimeapi.ListPodSandboxRequest:
		return s.listSandboxes(ctx, q.Filter)
	}
	return nil, nil
}

func (s *criServer) sandboxStatus(ctx context.Context, q *runtimeapi.PodSandboxStatusRequest) (any, error) {
	op := s.driver.call(ctx, fakeruntime.Call{Method: fakeruntime.PodSandboxStatus, SandboxID: q.PodSandboxId})
	if op.Err != nil {
		return nil, op.Err
	}
	of, config := op.Sandboxes[0], s.configs.sandboxes.get(q.PodSandboxId)
	// If the namespaces are not those that it has asked for, the kubelet creates a new sandbox.
	linux := &runtimeapi.LinuxPodSandboxStatus{Namespaces: &runtimeapi.Namespace{
		Options: config.GetLinux().GetSecurityContext().GetNamespaceOptions(),
	}}
	return &runtimeapi.PodSandboxStatusResponse{Status: &runtimeapi.PodSandboxStatus{
		Id: of.ID, Metadata: config.GetMetadata(), State: sandboxState(of), CreatedAt: s.driver.wallNanos(of.CreatedAt),
		Network: &runtimeapi.PodSandboxNetworkStatus{Ip: of.IP}, Linux: linux,
		Labels: config.GetLabels(), Annotations: config.GetAnnotations(),
	}}, nil
}

func (s *criServer) listSandboxes(ctx context.Context, filter *runtimeapi.PodSandboxFilter) (any, error) {
	op := s.driver.call(ctx, fakeruntime.Call{
		Method: fakeruntime.ListPodSandbox,
		PodUID: podOfFilter(filter.GetLabelSelector()),
		Ready:  filter.GetState() != nil && filter.GetState().State == runtimeapi.PodSandboxState_SANDBOX_READY,
	})
	list := &runtimeapi.ListPodSandboxResponse{}
	for _, of := range op.Sandboxes {
		if filter.GetId() != "" && filter.GetId() != of.ID {
			continue
		}
		config := s.configs.sandboxes.get(of.ID)
		list.Items = append(list.Items, &runtimeapi.PodSandbox{
			Id: of.ID, Metadata: config.GetMetadata(), State: sandboxState(of), Labels: config.GetLabels(),
			CreatedAt: s.driver.wallNanos(of.CreatedAt), Annotations: config.GetAnnotations(),
		})
	}
	return list, op.Err
}

func sandboxState(s fakeruntime.Sandbox) runtimeapi.PodSandboxState {
	if s.Ready {
		return runtimeapi.PodSandboxState_SANDBOX_READY
	}
	return runtimeapi.PodSandboxState_SANDBOX_NOTREADY
}

// ofContainer answers calls about containers.
func (s *criServer) ofContainer(ctx context.Context, req any) (any, error) {
	switch q := req.(type) {
	case *runtimeapi.CreateContainerRequest:
		config, sandbox := q.Config, q.SandboxConfig
		p := s.driver.submit(callUntil(ctx, fakeruntime.Call{
			Method: fakeruntime.CreateContainer, SandboxID: q.PodSandboxId, PodUID: sandbox.Metadata.Uid,
			Name: config.Metadata.Name, Attempt: int(config.Metadata.Attempt), Image: config.Image.GetImage(),
			StopSignal: stopSignal(config.GetStopSignal()),
		}))
		s.configs.containers.set(p.id, config)
		s.configs.logs.set(p.id, filepath.Join(sandbox.LogDirectory, config.LogPath))
		op := p.wait()
		return &runtimeapi.CreateContainerResponse{ContainerId: op.ID}, op.Err
	case *runtimeapi.StartContainerRequest:
		call := fakeruntime.Call{Method: fakeruntime.StartContainer, ContainerID: q.ContainerId}
		p := s.driver.submit(callUntil(ctx, call))
		if err := writeLog(s.configs.logs.get(q.ContainerId)); err != nil {
			return nil, err
		}
		op := p.wait()
		return &runtimeapi.StartContainerResponse{}, op.Err
	case *runtimeapi.StopContainerRequest: // returns when the process has ended
		labels := s.configs.containers.get(q.ContainerId).GetLabels()
		op := s.driver.call(ctx, fakeruntime.Call{
			Method: fakeruntime.StopContainer, ContainerID: q.ContainerId, GraceSeconds: q.Timeout,
			StopReason: s.stopReason(containerKey{labels[kubetypes.KubernetesPodUIDLabel],
				labels[kubetypes.KubernetesContainerNameLabel]}),
		})
		return &runtimeapi.StopContainerResponse{}, op.Err
	case *runtimeapi.RemoveContainerRequest:
		op := s.driver.call(ctx, fakeruntime.Call{Method: fakeruntime.RemoveContainer, ContainerID: q.ContainerId})
		return &runtimeapi.RemoveContainerResponse{}, op.Err
	case *runtimeapi.UpdateContainerResourcesRequest:
		// It stores nothing: the status of a container has no resources, so the kubelet shows those that it
		// has set (pkg/kubelet/kuberuntime/kuberuntime_container.go, toKubeContainerStatus).
		call := fakeruntime.Call{Method: fakeruntime.UpdateContainerResources, ContainerID: q.ContainerId}
		return &runtimeapi.UpdateContainerResourcesResponse{}, s.driver.call(ctx, call).Err
	case *runtimeapi.ContainerStatusRequest:
		return s.containerStatus(ctx, q)
	case *runtimeapi.ListContainersRequest:
		return s.listContainers(ctx, q.Filter)
	case *runtimeapi.ExecSyncRequest:
		return s.exec(ctx, q)
	}
	return nil, nil
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

func (s *criServer) listContainers(ctx context.Context, filter *runtimeapi.ContainerFilter) (any, error) {
	op := s.driver.call(ctx, fakeruntime.Call{
		Method:  fakeruntime.ListContainers,
		PodUID:  podOfFilter(filter.GetLabelSelector()),
		Running: filter.GetState() != nil && filter.GetState().State == runtimeapi.ContainerState_CONTAINER_RUNNING,
	})
	list := &runtimeapi.ListContainersResponse{}
	for _, c := range op.Containers {
		if filter.GetId() != "" && filter.GetId() != c.ID ||
			filter.GetPodSandboxId() != "" && filter.GetPodSandboxId() != c.SandboxID {
			continue
		}
		config := s.configs.containers.get(c.ID)
		list.Containers = append(list.Containers, &runtimeapi.Container{
			Id: c.ID, PodSandboxId: c.SandboxID, Metadata: config.GetMetadata(), Image: config.GetImage(),
			ImageRef: c.Image, ImageId: c.Image, State: containerState(c), CreatedAt: s.driver.wallNanos(c.CreatedAt),
			Labels: config.GetLabels(), Annotations: config.GetAnnotations(),
		})
	}
	return list, op.Err
}

func (s *criServer) containerStatus(ctx context.Context, q *runtimeapi.ContainerStatusRequest) (any, error) {
	op := s.driver.call(ctx, fakeruntime.Call{Method: fakeruntime.ContainerStatus, ContainerID: q.ContainerId})
	if op.Err != nil {
		return nil, op.Err
	}
	c, config := op.Containers[0], s.configs.containers.get(q.ContainerId)
	status := &runtimeapi.ContainerStatus{
		Id: c.ID, Metadata: config.GetMetadata(), State: containerState(c), CreatedAt: s.driver.wallNanos(c.CreatedAt),
		Image: config.GetImage(), ImageRef: c.Image, ImageId: c.Image, Labels: config.GetLabels(),
		Annotations: config.GetAnnotations(), StopSignal: cmp.Or(config.GetStopSignal(), defaultStopSignal),
		LogPath: filepath.Join(s.configs.sandboxes.get(c.SandboxID).GetLogDirectory(), config.GetLogPath()),
	}
	if c.State != fakeruntime.Created {
		status.StartedAt = s.driver.wallNanos(c.StartedAt)
	}
	if c.State == fakeruntime.Exited {
		status.FinishedAt, status.ExitCode, status.Reason = s.driver.wallNanos(c.FinishedAt), c.ExitCode, c.Reason
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

// exec runs a command. If its context is canceled, the runtime ends the commands of the pod's
// probes: the context is that of the pod's syncs, which all probes of the pod share.
func (s *criServer) exec(ctx context.Context, q *runtimeapi.ExecSyncRequest) (any, error) {
	who := ctx.Value(execution{}).(execution)
	uid := s.configs.containers.get(q.ContainerId).GetLabels()[kubetypes.KubernetesPodUIDLabel]
	stop := context.AfterFunc(ctx, func() {
		if ctx.Err() == context.Canceled {
			s.driver.cancelProbes(uid)
		}
	})
	defer stop()
	call := fakeruntime.Call{Method: fakeruntime.ExecSync, ContainerID: q.ContainerId, Command: q.Cmd,
		Timeout: time.Duration(q.Timeout) * time.Second, Retry: who.retry}
	call.Probe, call.Hook = whoseKey(who.key)
	op := s.driver.call(ctx, call)
	return &runtimeapi.ExecSyncResponse{Stdout: []byte(op.Output), ExitCode: op.ExitCode}, op.Err
}

const (
	imageBytes = fakeruntime.ImageSize
	imageUser  = 1000 // of every image; not root, so runAsNonRoot works
)

// ofImages answers calls about images.
func (s *criServer) ofImages(ctx context.Context, req any) (any, error) {
	switch q := req.(type) {
	case *runtimeapi.ImageStatusRequest:
		op := s.driver.call(ctx, fakeruntime.Call{
			Method: fakeruntime.ImageStatus, Image: q.Image.GetImage(), PodUID: s.workers.pod(),
		})
		if op.Err != nil || op.ID == "" {
			return &runtimeapi.ImageStatusResponse{}, op.Err
		}
		return &runtimeapi.ImageStatusResponse{Image: kubeletapi.ImageOfSize(imageBytes, &runtimeapi.Image{
			Id: op.ID, RepoTags: []string{q.Image.Image}, Spec: q.Image, Uid: &runtimeapi.Int64Value{Value: imageUser},
		})}, nil
	case *runtimeapi.PullImageRequest:
		op := s.driver.call(ctx, fakeruntime.Call{
			Method: fakeruntime.PullImage, Image: q.Image.GetImage(), PodUID: q.SandboxConfig.GetMetadata().GetUid(),
		})
		return &runtimeapi.PullImageResponse{ImageRef: op.ID}, op.Err
	case *runtimeapi.ListImagesRequest:
		op := s.driver.call(ctx, fakeruntime.Call{Method: fakeruntime.ListImages})
		return &runtimeapi.ListImagesResponse{}, op.Err
	case *runtimeapi.ImageFsInfoRequest:
		usage := []*runtimeapi.FilesystemUsage{{
			Timestamp:  time.Now().UnixNano(),
			FsId:       &runtimeapi.FilesystemIdentifier{Mountpoint: "/"},
			UsedBytes:  &runtimeapi.UInt64Value{Value: imageBytes},
			InodesUsed: &runtimeapi.UInt64Value{Value: 1},
		}}
		return &runtimeapi.ImageFsInfoResponse{ImageFilesystems: usage, ContainerFilesystems: usage}, nil
	}
	return nil, nil
}
