package realkubelet

import (
	"context"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"probesim.dev/fakeruntime"
)

func (r *runtimeService) RunPodSandbox(_ context.Context, config *runtimeapi.PodSandboxConfig, _ string) (string,
	error) {
	op := r.driver.call(fakeruntime.Call{
		Method: fakeruntime.RunPodSandbox, PodUID: config.Metadata.Uid, Attempt: int(config.Metadata.Attempt),
	})
	if op.Err != nil {
		return "", op.Err
	}
	r.configs.sandboxes.set(op.ID, config)
	return op.ID, nil
}

func (r *runtimeService) StopPodSandbox(_ context.Context, id string) error {
	if calledBy("containerGC).evictSandboxes") {
		r.driver.turn("sandbox GC", r.configs.sandboxes.get(id).GetMetadata().GetUid())
	}
	return r.driver.call(fakeruntime.Call{Method: fakeruntime.StopPodSandbox, SandboxID: id}).Err
}

func (r *runtimeService) RemovePodSandbox(_ context.Context, id string) error {
	op := r.driver.call(fakeruntime.Call{Method: fakeruntime.RemovePodSandbox, SandboxID: id})
	if op.Err == nil {
		r.configs.sandboxes.remove(id)
	}
	return op.Err
}

func (r *runtimeService) PodSandboxStatus(_ context.Context, id string, _ bool) (*runtimeapi.PodSandboxStatusResponse,
	error) {
	if calledBy("GenericPLEG).Relist") {
		r.driver.turn("relist", r.configs.sandboxes.get(id).GetMetadata().GetUid())
	}
	op := r.driver.call(fakeruntime.Call{Method: fakeruntime.PodSandboxStatus, SandboxID: id})
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

func (r *runtimeService) ListPodSandbox(_ context.Context,
	filter *runtimeapi.PodSandboxFilter) ([]*runtimeapi.PodSandbox, error) {
	if calledBy("GenericPLEG).Relist") {
		r.driver.turn("relist", "begin")
	}
	op := r.driver.call(fakeruntime.Call{
		Method: fakeruntime.ListPodSandbox,
		PodUID: podOfFilter(filter.GetLabelSelector()),
		Ready:  filter.GetState() != nil && filter.GetState().State == runtimeapi.PodSandboxState_SANDBOX_READY,
	})
	if op.Err != nil {
		return nil, op.Err
	}
	list := make([]*runtimeapi.PodSandbox, 0, len(op.Sandboxes))
	for _, s := range op.Sandboxes {
		if filter.GetId() != "" && filter.GetId() != s.ID {
			continue
		}
		config := r.configs.sandboxes.get(s.ID)
		list = append(list, &runtimeapi.PodSandbox{
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
