package realkubelet

import (
	"context"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"probesim.dev/fakeruntime"
)

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
