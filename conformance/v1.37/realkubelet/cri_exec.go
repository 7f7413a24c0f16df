package realkubelet

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	remote "k8s.io/cri-client/pkg"
	kubetypes "k8s.io/kubelet/pkg/types"
	utilexec "k8s.io/utils/exec"

	"probesim.dev/fakeruntime"
	"probesim.dev/sim/trace"
)

// maxOutput is how much of a command's output the prober reads (pkg/probe/exec/exec.go, maxReadLength).
const maxOutput = 10 << 10

// maxTries is how often the prober runs a probe that breaks (pkg/kubelet/prober/prober.go, maxProbeRetries).
const maxTries = 3

// ExecSync answers as the kubelet's gRPC client does (k8s.io/cri-client pkg/remote_runtime.go, execSyncV1).
func (r *runtimeService) ExecSync(_ context.Context, id string, command []string, timeout time.Duration) ([]byte, []byte, error) {
	whose, command := splitTag(command)
	call := fakeruntime.Call{Method: fakeruntime.ExecSync, ContainerID: id, Command: command, Timeout: timeout}
	if whose == postStart || whose == preStop {
		call.Hook = whose
	} else {
		call.Probe = trace.Probe(whose)
		call.Retry = r.probes.begin(id, call.Probe)
	}
	op := r.driver.call(call)
	err := execError(&op)
	if call.Probe != "" {
		r.probes.end(id, &op, err, r.containerRecord(id))
	}
	return []byte(op.Output), nil, err
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

// containerRecord returns a record about the container.
func (r *runtimeService) containerRecord(id string) trace.Record {
	config := r.configs.container(id)
	labels := config.GetLabels()
	return trace.Record{
		Pod:       labels[kubetypes.KubernetesPodNamespaceLabel] + "/" + labels[kubetypes.KubernetesPodNameLabel],
		Container: config.GetMetadata().GetName(),
		Instance:  int(config.GetMetadata().GetAttempt()),
	}
}

// probeRuns makes ProbeExecuted records of commands. The prober tries a probe that breaks again at once;
// all tries are one run.
type probeRuns struct {
	recorder *recorder

	mu   sync.Mutex
	runs map[probeKey]*probeRun
}

// probeKey names the probe of a container instance. Its runs follow each other.
type probeKey struct {
	containerID string
	probe       trace.Probe
}

type probeRun struct {
	tries int
	began time.Duration
}

// begin notes the begin of a try and reports whether it is not the first of its run.
func (p *probeRuns) begin(id string, probe trace.Probe) (retry bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := probeKey{id, probe}
	run := p.runs[key]
	if run == nil {
		run = &probeRun{began: p.recorder.now()}
		p.runs[key] = run
	}
	run.tries++
	return run.tries > 1
}

// end notes the end of a try, and records the run unless it goes on.
func (p *probeRuns) end(id string, op *fakeruntime.Op, err error, rec trace.Record) {
	broken := op.Err != nil && !op.TimedOut
	began, over := p.ended(probeKey{id, op.Call.Probe}, broken)
	if !over {
		return
	}
	rec.Kind, rec.Probe, rec.Took = trace.ProbeExecuted, op.Call.Probe, p.recorder.now()-began
	switch {
	case broken:
		rec.Result, rec.Message = trace.Error, err.Error()
	case op.TimedOut:
		rec.Result, rec.Message = trace.Failure, err.Error()
	case op.ExitCode != 0:
		rec.Result, rec.Message = trace.Failure, capped(op.Output)
	default:
		rec.Result, rec.Message = trace.Success, capped(op.Output)
	}
	p.recorder.add(rec)
}

// ended reports whether the run is over with this try, and when it began.
func (p *probeRuns) ended(key probeKey, broken bool) (began time.Duration, over bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	run := p.runs[key]
	if broken && run.tries < maxTries {
		return 0, false
	}
	delete(p.runs, key)
	return run.began, true
}

func capped(output string) string { return output[:min(len(output), maxOutput)] }
