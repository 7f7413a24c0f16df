package manifest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/podutil"
	"probesim.dev/internal/strict"
	"probesim.dev/scenarios/format"
	"probesim.dev/scenarios/plan"
)

// takes are the steps that the API of a cluster takes. For all others, why says what they need.
var (
	takes = map[string]bool{"delete": true, "patch": true, "resize": true, "evict": true, "rollout": true,
		"scale": true}
	why = map[string]string{
		"kill":           "no call of the API kills a process",
		"setDelays":      "a cluster has its own delays",
		"failCall":       "a cluster has its own runtime",
		"debug":          "an ephemeral container cannot be played",
		"setManifest":    "the manifests of static pods are files of the node",
		"removeManifest": "the manifests of static pods are files of the node",
		"restartKubelet": "no call of the API restarts a kubelet",
		"rebootNode":     "no call of the API restarts a node",
		"shutdownNode":   "no call of the API shuts a node down",
		"apiDown":        "a play needs the API server",
		"runtimeDown":    "the runtime of a cluster cannot be made to fail",
		"registryDown":   "the registry of a cluster cannot be made to fail",
		"stepClock":      "the clock of a cluster cannot be set",
	}
)

// Refuse returns why a run cannot be played on any cluster, with the places in the file. A play
// that left such a part out would be another scenario.
func Refuse(p *plan.Plan) strict.Errors {
	r := refusal{}
	s := p.Scenario
	for i, step := range s.Spec.Steps {
		action := step.Actions()[0]
		path := fmt.Sprintf("spec.steps[%d].%s", i, action.Name)
		switch patch, isPatch := action.Value.(*format.PatchPod); {
		case !takes[action.Name]:
			r.add(step.Pos, path, "cannot be played: %s", why[action.Name])
		case isPatch && !playablePatch(patch):
			r.add(step.Pos, path, "cannot be played: only times and thresholds of probes, and the status, are not the "+
				"player's")
		}
	}
	if s.Spec.Kubelet.Config != nil {
		r.add(s.Pos, "spec.kubelet.config", "cannot be played: the kubelet of a cluster has its own configuration")
	}
	if s.Spec.Kubelet.Allocatable != nil {
		r.add(s.Pos, "spec.kubelet.allocatable", "cannot be played: the nodes of a cluster have their own size")
	}
	for i := range s.Spec.Traffic {
		r.traffic(&s.Spec.Traffic[i], s.Workloads)
	}
	for _, w := range s.Workloads {
		r.workload(w)
	}
	return r.list
}

// playablePatch reports whether a patch changes only what a played pod has from the scenario.
func playablePatch(p *format.PatchPod) bool {
	if p.Status != nil {
		return true
	}
	text := string(p.JSON())
	return p.ChangesProbes() && p.Metadata == nil && !slices.ContainsFunc([]string{"exec", "httpGet", "tcpSocket",
		"grpc", "image", "lifecycle", "null"}, func(field string) bool { return strings.Contains(text, field) })
}

// refusal collects the reasons.
type refusal struct{ list strict.Errors }

func (r *refusal) add(at strict.Pos, path, text string, args ...any) {
	r.list = append(r.list, strict.Error{Pos: at, Path: path, Message: fmt.Sprintf(text, args...)})
}

// mostRequests is how many requests a second a client can send with the resources that it has.
const mostRequests = 500

func (r *refusal) traffic(t *format.Traffic, workloads []*plan.Workload) {
	switch {
	case t.Router != format.KubeProxy:
		r.add(t.Pos, "spec.traffic", "cannot be played: a cluster has kube-proxy, and no router %s", t.Router)
	case t.RPS > mostRequests:
		r.add(t.Pos, "spec.traffic.rps", "cannot be played: a client can send %d requests a second", mostRequests)
	case t.Container == "" && slices.ContainsFunc(workloads, func(w *plan.Workload) bool {
		return len(w.Pod.Spec.Containers) > 1
	}):
		r.add(t.Pos, "spec.traffic", "cannot be played: a pod has several containers; say which one serves, with "+
			"container")
	}
}

func (r *refusal) workload(w *plan.Workload) {
	path := fmt.Sprintf("spec.pods[%d]", w.Index)
	if w.Spec.Static {
		r.add(w.Spec.Pos, path+".static", "cannot be played: the manifests of static pods are files of the node")
	}
	for c := range podutil.Containers(&w.Pod.Spec) {
		for _, asks := range podutil.Requests(c) {
			if of := podutil.HandlerOf(asks.ProbeHandler); of.Host != "" {
				r.add(w.Spec.Pos, path, "the %s of container %s asks the host %s, outside the pod, and a play must "+
					"reach no such host", asks.Field, c.Name, of.Host)
			}
		}
	}
	for i := range w.Spec.Containers {
		of := &w.Spec.Containers[i]
		at := fmt.Sprintf("%s.containers[%d]", path, i)
		if of.Lease != nil {
			r.add(of.Pos, at+".lease", "cannot be played: players do not know of each other")
		}
		r.program(of, at, w.Containers[of.Name], podutil.Find(w.Pod, of.Name))
	}
}

// program refuses rules that a player cannot follow.
func (r *refusal) program(of *format.Container, at string, config fakeruntime.ContainerConfig, c *v1.Container) {
	for i := range min(len(config.Program.Rules), len(of.Behavior)) {
		rule, from := &config.Program.Rules[i], &of.Behavior[i]
		path := fmt.Sprintf("%s.behavior[%d]", at, i)
		if rule.Clock == fakeruntime.AtMoment || rule.Until != nil {
			r.add(from.Pos, path, "cannot be played: nothing tells a player of a moment of the run")
			continue
		}
		series := seriesOf(rule)
		for _, key := range slices.Sorted(maps.Keys(series)) {
			exec := c != nil && slices.ContainsFunc(podutil.Requests(c), func(asks podutil.Request) bool {
				return asks.Exec != nil && (asks.Key == key || key == "probes" && !asks.IsHook)
			})
			for _, item := range series[key].Items {
				sometimes := len(series[key].Items) > 1 || rule.Chance != nil
				if reason := unplayable(&item.Answer, exec, sometimes); reason != "" {
					r.add(from.Pos, path, "cannot be played: %s", reason)
					break
				}
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(config.Program.AnsweredBy)) {
		r.add(of.Pos, at+".behavior", "cannot be played: another container answers the %s", key)
	}
}

// seriesOf returns the answers of a rule by the names of probes and hooks.
func seriesOf(r *fakeruntime.Rule) map[string]*fakeruntime.Series {
	all := map[string]*fakeruntime.Series{"liveness": r.Liveness, "readiness": r.Readiness, "startup": r.Startup,
		"probes": r.Probes, "postStart": r.PostStart, "preStop": r.PreStop}
	maps.DeleteFunc(all, func(_ string, s *fakeruntime.Series) bool { return s == nil })
	return all
}

// unplayable returns why a player cannot give an answer, or nothing.
func unplayable(a *fakeruntime.Answer, exec, sometimes bool) string {
	switch {
	case a.Word == fakeruntime.Refuses && sometimes:
		return "a program does not see the connections that are refused, so it cannot count them"
	case a.Word == fakeruntime.Breaks && exec:
		return "a player cannot make the runtime fail"
	case a.IgnoreTimeout:
		return "the runtime of a cluster decides what becomes of a command that times out"
	case a.TransportError != "":
		return "a player cannot make a connection fail with an error of its own"
	case a.Handler != nil:
		return "the answer comes from a Go program"
	}
	return ""
}
