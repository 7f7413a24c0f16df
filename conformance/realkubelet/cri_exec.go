package realkubelet

import (
	"context"
	"fmt"
	"strings"
	"time"

	remote "k8s.io/cri-client/pkg"
	kubetypes "k8s.io/kubelet/pkg/types"
	utilexec "k8s.io/utils/exec"

	"probesim.dev/fakeruntime"
	"probesim.dev/trace"
)

// maxOutput is the part of a command's output that the prober reads, in bytes
// (pkg/probe/exec/exec.go, maxReadLength).
const maxOutput = 10 << 10

// ExecSync returns the same results as the kubelet's gRPC client (k8s.io/cri-client
// pkg/remote_runtime.go, execSyncV1).
func (r *runtimeService) ExecSync(ctx context.Context, id string, command []string, timeout time.Duration) ([]byte,
	[]byte, error) {
	whose, command := splitTag(command)
	call := fakeruntime.Call{Method: fakeruntime.ExecSync, ContainerID: id, Command: command, Timeout: timeout}
	if whose == postStart || whose == preStop {
		call.Hook = whose
	} else {
		call.Probe = trace.Probe(whose)
		call.Retry = r.probes.begin(probeKey{id, call.Probe}, r.containerRecord(id))
	}
	op := r.exec(ctx, call)
	err := execError(&op)
	if call.Probe != "" {
		result, message := execResult(&op, err)
		r.probes.end(probeKey{id, call.Probe}, result, message)
	}
	return []byte(op.Output), nil, err
}

// execResult returns the prober's result for a command (pkg/probe/exec/exec.go).
func execResult(op *fakeruntime.Op, err error) (trace.Result, string) {
	switch {
	case op.TimedOut:
		return trace.Failure, err.Error()
	case op.Err != nil:
		return trace.Error, err.Error()
	case op.ExitCode != 0:
		return trace.Failure, capped(op.Output)
	}
	return trace.Success, capped(op.Output)
}

func capped(output string) string { return output[:min(len(output), maxOutput)] }

// exec makes the call unless its context is canceled, and ends a probe's call when its context is
// canceled. The context is either the context of the pod's syncs, which all probes of the pod
// share, or none. In a stopped kubelet a canceled call never returns, because that kubelet would
// keep probing.
func (r *runtimeService) exec(ctx context.Context, call fakeruntime.Call) fakeruntime.Op {
	if ctx.Err() != nil {
		r.driver.blockIfCut()
		return fakeruntime.Op{Call: call, Err: asStatus(fakeruntime.ErrCanceled)}
	}
	uid := r.configs.containers.get(call.ContainerID).GetLabels()[kubetypes.KubernetesPodUIDLabel]
	stop := context.AfterFunc(ctx, func() { r.driver.cancelProbes(uid) })
	defer stop()
	return r.driver.call(call)
}

func execError(op *fakeruntime.Op) error {
	command := strings.Join(op.Call.Command, " ")
	switch {
	case op.TimedOut:
		return fmt.Errorf("%w: %q timed out after %s", remote.ErrCommandTimedOut, command, op.Call.Timeout)
	case op.Err != nil:
		return op.Err
	case op.ExitCode != 0:
		return utilexec.CodeExitError{
			Err:  fmt.Errorf("command '%s' exited with %d: ", command, op.ExitCode),
			Code: int(op.ExitCode),
		}
	}
	return nil
}

// containerRecord returns a record with the names and the instance of the container.
func (r *runtimeService) containerRecord(id string) trace.Record {
	config := r.configs.containers.get(id)
	labels := config.GetLabels()
	return trace.Record{
		Pod:       labels[kubetypes.KubernetesPodNamespaceLabel] + "/" + labels[kubetypes.KubernetesPodNameLabel],
		Container: config.GetMetadata().GetName(),
		Instance:  r.configs.instances.get(id),
	}
}
