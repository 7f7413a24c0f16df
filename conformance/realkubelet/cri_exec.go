package realkubelet

import (
	"context"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	kubetypes "k8s.io/kubelet/pkg/types"

	"probesim.dev/fakeruntime"
	"probesim.dev/trace"
)

// execution says who runs a command. It is in the context of the call, under its type.
type execution struct {
	probe trace.Probe
	hook  string
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
	op := r.driver.call(ctx, fakeruntime.Call{
		Method: fakeruntime.ExecSync, ContainerID: q.ContainerId, Command: q.Cmd,
		Timeout: time.Duration(q.Timeout) * time.Second,
		Probe:   who.probe, Hook: who.hook, Retry: who.retry,
	})
	return &runtimeapi.ExecSyncResponse{Stdout: []byte(op.Output), ExitCode: op.ExitCode}, op.Err
}
