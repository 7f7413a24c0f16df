package realkubelet

import (
	"context"
	"errors"
	"time"

	cri "k8s.io/cri-api/pkg/apis"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	remote "k8s.io/cri-client/pkg"
	kubetypes "k8s.io/kubelet/pkg/types"
	utilexec "k8s.io/utils/exec"

	"probesim.dev/trace"
)

// recordingRuntime wraps the kubelet's client of the runtime. It writes records of the commands of
// probes, and the turns of processes that some calls show.
type recordingRuntime struct {
	cri.RuntimeService
	driver  *connection
	configs *configs
	probes  *probeRuns
}

func (r *recordingRuntime) ListPodSandbox(ctx context.Context,
	filter *runtimeapi.PodSandboxFilter) ([]*runtimeapi.PodSandbox, error) {
	if calledBy("GenericPLEG).Relist") {
		r.driver.turn("relist", "begin")
	}
	return r.RuntimeService.ListPodSandbox(ctx, filter)
}

func (r *recordingRuntime) PodSandboxStatus(ctx context.Context, id string,
	verbose bool) (*runtimeapi.PodSandboxStatusResponse, error) {
	if calledBy("GenericPLEG).Relist") {
		r.driver.turn("relist", r.configs.sandboxes.get(id).GetMetadata().GetUid())
	}
	return r.RuntimeService.PodSandboxStatus(ctx, id, verbose)
}

func (r *recordingRuntime) StopPodSandbox(ctx context.Context, id string) error {
	if calledBy("containerGC).evictSandboxes") {
		r.driver.turn("sandbox GC", r.configs.sandboxes.get(id).GetMetadata().GetUid())
	}
	return r.RuntimeService.StopPodSandbox(ctx, id)
}

func (r *recordingRuntime) ContainerStatus(ctx context.Context, id string,
	verbose bool) (*runtimeapi.ContainerStatusResponse, error) {
	if calledBy("containerGC).evictContainers") {
		config := r.configs.containers.get(id)
		r.driver.turn("container GC", config.GetLabels()[kubetypes.KubernetesPodUIDLabel]+"/"+
			config.GetMetadata().GetName())
	}
	return r.RuntimeService.ContainerStatus(ctx, id, verbose)
}

// ExecSync removes the tag from the command.
func (r *recordingRuntime) ExecSync(ctx context.Context, id string, command []string,
	timeout time.Duration) ([]byte, []byte, error) {
	whose, command := splitTag(command)
	if whose == postStart || whose == preStop {
		who := execution{hook: whose}
		return r.RuntimeService.ExecSync(context.WithValue(ctx, execution{}, who), id, command, timeout)
	}
	key := probeKey{id, trace.Probe(whose)}
	who := execution{probe: key.probe, retry: r.probes.begin(key, r.about(id))}
	stdout, stderr, err := r.RuntimeService.ExecSync(context.WithValue(ctx, execution{}, who), id, command, timeout)
	result, message := execResult(stdout, err)
	r.probes.end(key, result, message)
	return stdout, stderr, err
}

// about returns a record with the names and the instance of the container.
func (r *recordingRuntime) about(id string) trace.Record {
	config := r.configs.containers.get(id)
	labels := config.GetLabels()
	return trace.Record{
		Pod:       labels[kubetypes.KubernetesPodNamespaceLabel] + "/" + labels[kubetypes.KubernetesPodNameLabel],
		Container: config.GetMetadata().GetName(),
		Instance:  r.driver.instance(id),
	}
}

// maxOutput is the part of a command's output that the prober reads, in bytes
// (pkg/probe/exec/exec.go, maxReadLength).
const maxOutput = 10 << 10

// execResult returns the prober's result for a command (pkg/probe/exec/exec.go).
func execResult(stdout []byte, err error) (trace.Result, string) {
	output := string(stdout[:min(len(stdout), maxOutput)])
	switch {
	case err == nil:
		return trace.Success, output
	case errors.Is(err, remote.ErrCommandTimedOut):
		return trace.Failure, err.Error()
	case errors.As(err, &utilexec.CodeExitError{}):
		return trace.Failure, output
	}
	return trace.Error, err.Error()
}

// recordingImages wraps the kubelet's client of the image service, and writes records of the pulls.
type recordingImages struct {
	cri.ImageManagerService
	events *eventRecorder
}

func (i *recordingImages) PullImage(ctx context.Context, image *runtimeapi.ImageSpec, auth *runtimeapi.AuthConfig,
	sandbox *runtimeapi.PodSandboxConfig) (string, error) {
	rec := i.events.pulls.get(sandbox.GetMetadata().GetUid())
	rec.Kind, rec.Message = trace.ImagePullStarted, image.Image
	i.events.driver.blockIfCut()
	i.events.recorder.add(rec)
	start := i.events.recorder.now()
	ref, err := i.ImageManagerService.PullImage(ctx, image, auth, sandbox)
	rec.Kind, rec.Message, rec.Result = trace.ImagePullEnded, "", resultOf(err)
	rec.Took = i.events.recorder.now().Sub(start)
	if err != nil {
		rec.Message = err.Error()
	}
	i.events.recorder.add(rec)
	return ref, err
}
