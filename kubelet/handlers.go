package kubelet

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/fakeruntime"
	"probesim.dev/prober"
	"probesim.dev/sim"
	"probesim.dev/trace"
)

// hookRun is a run of a hook in a container.
type hookRun struct {
	pod         *v1.Pod
	container   *v1.Container
	containerID string
	hook        string
	handler     *v1.LifecycleHandler
}

// runHook runs a hook with runHandler, and records its beginning and its end.
func (k *Kubelet) runHook(p *sim.Proc, h hookRun) string {
	rec := trace.Record{
		T: p.Now(), Kind: trace.HookStarted, Cause: p.Cause(), Pod: podName(h.pod), Container: h.container.Name,
		Instance: k.runtime.Instance(h.containerID), Reason: h.hook,
	}
	rec.Cause = k.trace.Add(rec)
	message := k.runHandler(p, h)
	rec.Kind, rec.T, rec.Took = trace.HookEnded, p.Now(), p.Now().Sub(rec.T)
	rec.Result, rec.Message = resultOf(message == ""), message
	k.trace.Add(rec)
	return message
}

// resultOf returns the result of an action.
func resultOf(ok bool) trace.Result {
	if ok {
		return trace.Success
	}
	return trace.Failure
}

// runHandler runs a hook to its end and returns an error message, or an empty string. Hooks have no
// timeout. When the container exits, a command or a request ends, but a sleep continues. TCP
// sockets, which the API accepts, fail immediately (Run in pkg/kubelet/lifecycle/handlers.go at
// v1.37.0).
func (k *Kubelet) runHandler(p *sim.Proc, h hookRun) string {
	switch {
	case h.handler.Exec != nil:
		return k.runExecHandler(p, h)
	case h.handler.HTTPGet != nil:
		if err := k.runHTTPHandler(p, h); err != nil {
			return fmt.Sprintf("HTTP lifecycle hook (%s) for Container %q in Pod %q failed - error: %v",
				h.handler.HTTPGet.Path, h.container.Name, formatPod(h.pod), err)
		}
		return ""
	case h.handler.Sleep != nil:
		p.Sleep(afterSeconds(p.Now(), h.handler.Sleep.Seconds).Sub(p.Now()))
		return ""
	}
	return fmt.Sprintf("Cannot run handler: invalid handler: %v", h.handler)
}

// runExecHandler runs the command of a hook.
func (k *Kubelet) runExecHandler(p *sim.Proc, h hookRun) string {
	op := k.runtime.Call(p, fakeruntime.Call{
		Method: fakeruntime.ExecSync, ContainerID: h.containerID, Hook: h.hook, Command: h.handler.Exec.Command,
		Cause: p.Cause(),
	})
	err := op.Err
	if err == nil && op.ExitCode != 0 {
		err = fmt.Errorf("command '%s' exited with %d: ", strings.Join(h.handler.Exec.Command, " "), op.ExitCode)
	}
	output := op.Output
	k.runtime.Release(op)
	if err == nil {
		return ""
	}
	return fmt.Sprintf("Exec lifecycle hook (%v) for Container %q in Pod %q failed - error: %v, message: %q",
		h.handler.Exec.Command, h.container.Name, formatPod(h.pod), err, output)
}

// runHTTPHandler sends the request of a hook and reads the body. Any response is a success, even if
// its body breaks off. If a server answers HTTPS with plain HTTP, the request is repeated in plain
// HTTP (runHTTPHandler in pkg/kubelet/lifecycle/handlers.go at v1.37.0). The client has no timeout
// (NewMainKubelet in pkg/kubelet/kubelet.go). The event LifecycleHTTPFallback concerns the pod and
// never leaves the kubelet, because its recorder accepts only events of containers
// (FilterEventRecorder in pkg/kubelet/container/helpers.go).
func (k *Kubelet) runHTTPHandler(p *sim.Proc, h hookRun) error {
	req, err := k.newHookRequest(p, h)
	if err != nil {
		return err
	}
	client := prober.NewClient(&prober.Transport{
		Network: k, Proc: p, Requester: prober.Connection{PodUID: h.pod.UID, Container: h.container.Name, Hook: h.hook},
	})
	if err = sendHook(client, req); err == nil || !strings.Contains(err.Error(), fakeruntime.HTTPToHTTPS) {
		return err
	}
	if again := sendHook(client, inPlainHTTP(req)); again != nil {
		return err
	}
	return nil
}

// maxHookBody is the number of bytes of a body that a hook waits for (maxRespBodyLength in
// pkg/kubelet/lifecycle/handlers.go at v1.37.0).
const maxHookBody = 10 << 10

// sendHook sends the request of a hook, and waits for the body (discardHTTPRespBody).
func sendHook(client *http.Client, req *http.Request) error {
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, maxHookBody))
	return nil
}

// newHookRequest returns the request of a hook. Without a host it goes to the IP address that the
// runtime reports for the pod. Pods in the network of the host have none (runHTTPHandler in
// pkg/kubelet/lifecycle/handlers.go at v1.37.0). The message of the kubelet then has a status of
// the pod too, with addresses in memory.
func (k *Kubelet) newHookRequest(p *sim.Proc, h hookRun) (*http.Request, error) {
	podIP := ""
	if h.handler.HTTPGet.Host == "" {
		s, err := k.podStatusForHook(p, h.pod.UID)
		if err != nil {
			return nil, err
		}
		if len(s.ips) == 0 {
			return nil, errors.New("failed to find networking container")
		}
		podIP = s.ips[0]
	}
	return prober.NewRequest(h.handler.HTTPGet, h.container, podIP, "lifecycle", k.profile)
}

// podStatusForHook lists and inspects the pod of a hook. Older kubelets do not say which of the
// calls has failed.
func (k *Kubelet) podStatusForHook(p *sim.Proc, uid types.UID) (*podStatus, error) {
	if !k.profile.InspectUsesListing {
		s := k.listAndInspect(p, uid)
		return s, s.err
	}
	pod, err := k.getPod(p, uid)
	if err != nil {
		return nil, fmt.Errorf("unable to get pod, event handlers may be invalid: %w", err)
	}
	s := k.getPodStatus(p, pod)
	if s.err != nil {
		return nil, fmt.Errorf("unable to get pod status, event handlers may be invalid: %w", s.err)
	}
	return s, nil
}

// inPlainHTTP returns a copy of a request with the scheme http and without credentials.
func inPlainHTTP(req *http.Request) *http.Request {
	again := req.Clone(req.Context())
	again.URL.Scheme = "http"
	again.Header.Del("Authorization")
	return again
}
