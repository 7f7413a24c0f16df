package validation

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
	"probesim.dev/scenarios/format"
)

// checkSteps checks the steps.
func (c *checker) checkSteps() {
	n := c.spec.Field("steps")
	if !format.Fits(n) {
		return
	}
	for i, s := range c.scenario.Spec.Steps {
		item := n.Index(i)
		if s == nil {
			continue
		}
		s.Path, s.Text = item.Path(), item.Text()
		c.checkStepTime(s, item)
		c.checkAction(s, item)
	}
}

// checkAction checks that a step has exactly one action, and checks the action.
func (c *checker) checkAction(s *format.Step, n *strict.Node) {
	switch actions := s.Actions(); len(actions) {
	case 0:
		n.ErrorIf(!n.WrittenBeside("at", "since", "after"), "does nothing: write an action, such as delete: {}")
	case 1:
		field := n.Field(actions[0].Name)
		s.ActionText = field.Text()
		c.checkActionOf(s, actions[0], field)
	default:
		names := printable.Words(actions, func(a format.Action) string { return a.Name })
		n.Errorf("has several actions, %s: write a step for each", strings.Join(names, " and "))
	}
}

// checkActionOf checks an action: the pods that it applies to, its times, and what it has beside
// them.
func (c *checker) checkActionOf(s *format.Step, action format.Action, n *strict.Node) {
	for field, v := range reflect.ValueOf(action.Value).Elem().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if d, is := v.Interface().(*value.Draw); is {
			checkFor(d, n.Field(name))
		}
		if _, any := action.Value.(*format.FailCall); name == "pod" && !any {
			c.checkTarget(v.String(), n)
		}
	}
	switch a := action.Value.(type) {
	case *format.Delete:
		if a.GracePeriodSeconds != nil {
			checkRange(n.Field("gracePeriodSeconds"), *a.GracePeriodSeconds, 0, longestSeconds)
		}
	case *format.Kill:
		c.checkKill(a, n)
	case *format.SetDelays:
		checkSetDelays(a, n)
	case *format.PatchPod:
		c.checkPatchPod(a, n)
	case *format.Debug:
		c.checkDebug(a, n)
	case *format.Resize:
		c.checkResize(a, n)
	case *format.SetManifest:
		c.checkSetManifest(a, n)
	case *format.RemoveManifest:
		c.checkManifests(a.Pod, n)
	case *format.ShutdownNode:
		c.checkShutdownNode(n)
	case *format.RuntimeDown:
		checkWord(n.Field("condition"), a.Condition, fakeruntime.RuntimeReady, fakeruntime.NetworkReady)
	case *format.StepClock:
		c.checkStepClock(a, n)
	case *format.FailCall:
		c.checkFailCall(a, n)
	case *format.Scale:
		c.checkScale(a, n)
	case *format.Rollout:
		c.checkRollout(s, n)
	}
}

func (c *checker) checkStepTime(s *format.Step, n *strict.Node) {
	at, since, after := n.Field("at"), n.Field("since"), n.Field("after")
	switch {
	case s.At == nil && s.Since == nil:
		n.Errorf("has no time: write at, or since and after")
	case s.At != nil && (s.Since != nil || s.After != nil):
		n.Errorf("has two clocks: write either at, or since and after")
	case s.At != nil:
		checkAt(at, s.At, c.scenario.Spec.Duration)
	default:
		markUnread(&s.Since.Pod, since.Field("pod"))
		c.checkPodName(s.Since.Pod, since.Field("pod"))
		c.checkMoment(s.Since, s.Since.Pod, since)
		if s.After != nil {
			checkAt(after, s.After, c.scenario.Spec.Duration)
		}
	}
}

// checkTarget checks the name of the pods that an action applies to.
func (c *checker) checkTarget(pod string, n *strict.Node) {
	c.checkPodName(pod, n.Field("pod"))
	count := c.scenario.PodCount("")
	n.ErrorIf(!n.Field("pod").Written() && count > 1, "there are %d pods: name the ones you mean with pod", count)
}

// isReason matches reasons that the API accepts for conditions. Reasons of containers have the same
// form.
var isReason = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]{0,255}[A-Za-z0-9_])?$`)

func (c *checker) checkKill(k *format.Kill, n *strict.Node) {
	if n.Bad() || n.Field("pod").Bad() {
		return
	}
	c.checkContainerName(k.Pod, k.Container, n.Field("container"))
	n.ErrorIf(k.Container == "" && slices.ContainsFunc(c.matching(k.Pod), (*workload).hasSeveralContainers),
		"there are several containers: name the one you mean with container")
	reason, signal := n.Field("reason"), n.Field("signal")
	reason.ErrorIf(reason.Written() && !isReason.MatchString(k.Reason), "%s is not a valid reason: write one such as "+
		"OOMKilled", strict.Quote(k.Reason))
	checkWord(signal, k.Signal, "SIGTERM", "SIGKILL")
	signal.ErrorIf(k.IsSigterm() && (reason.Written() || k.Remove),
		"SIGTERM has no reason and removes nothing: the program decides how the container ends")
}

// checkWord reports a word that is none of the possible ones.
func checkWord(n *strict.Node, word string, possible ...string) {
	n.ErrorIf(n.Written() && !slices.Contains(possible, word), "%s is neither %s%s", strict.Quote(word),
		strings.Join(possible, " nor "), strict.DidYouMean(word, possible))
}

func checkSetDelays(s *format.SetDelays, n *strict.Node) {
	delays := n.Field("delays")
	checkDelays(delays, s.Delays)
	delays.ErrorIf(s.Delays == nil, "is required: list the delays to change")
}

// Limits of failed calls.
const (
	maxFailures  = 1_000_000
	maxErrorText = 200
)

func (c *checker) checkFailCall(f *format.FailCall, n *strict.Node) {
	call, container, effect, text := n.Field("call"), n.Field("container"), n.Field("effect"), n.Field("error")
	method := fakeruntime.CallNamed(f.Call)
	call.ErrorIf(!call.Written() && !n.Bad(), "is required: which call fails, such as removeContainer")
	call.ErrorIf(call.Written() && method == "", "%s is no call of the kubelet%s", strict.Quote(f.Call),
		strict.OrList(f.Call, fakeruntime.Calls()))
	c.checkPodName(f.Pod, n.Field("pod"))
	switch {
	case container.Written() && method != "" && !method.OfContainer():
		container.Errorf("does not apply: %s is not about a container", f.Call)
	case container.Written() && !n.Field("pod").Bad():
		c.checkContainerName(f.Pod, f.Container, container)
	}
	n.Field("pod").ErrorIf(n.Field("pod").Written() && method == fakeruntime.Status,
		"does not apply: status is not about a pod")
	if f.Count != nil {
		checkRange(n.Field("count"), *f.Count, 1, maxFailures)
	}
	checkWord(effect, f.Effect, format.EffectNone, format.EffectDone)
	text.ErrorIf(text.Written() && (f.Error == "" || len(f.Error) > maxErrorText), "must have 1 to %d bytes",
		maxErrorText)
}

// checkShutdownNode reports a shutdown that the kubelet would ignore.
func (c *checker) checkShutdownNode(n *strict.Node) {
	config := c.scenario.Spec.Kubelet.Config.Compile()
	n.ErrorIf(!c.spec.Find("kubelet.config").Bad() && len(config.ShutdownPeriods()) == 0,
		"needs shutdownGracePeriod in kubelet.config: without it the kubelet ignores the shutdown (see rebootNode)")
}

// maxClockSteps limits the sum of all clock steps, regardless of their signs. It keeps the wall
// clock near the year 2000, in which runs begin.
const maxClockSteps = 365 * 24 * time.Hour

func (c *checker) checkStepClock(s *format.StepClock, n *strict.Node) {
	by := n.Field("by")
	if s.By == 0 && !n.Bad() && !by.Bad() {
		by.Errorf("is required: how far the wall clock jumps, as in by: -1m")
		return
	}
	before := c.clockSteps
	c.clockSteps += s.By.Time().Abs()
	by.ErrorIf(before <= maxClockSteps && c.clockSteps > maxClockSteps,
		"the wall clock jumps by more than 365 days in total")
}

// checkFor reports a length of time that can be 0s.
func checkFor(d *value.Draw, n *strict.Node) {
	n.ErrorIf(d != nil && d.Min <= 0, "must be longer than 0s, not %s", d)
}

// checkAt reports a time after the end of the run.
func checkAt(n *strict.Node, at *value.Draw, duration value.Duration) {
	n.ErrorIf(n.Written() && at.Min > duration.Time(), "%s is after the end of the run at %s", at, duration)
}

// maxDelay is the limit for one call.
const maxDelay = time.Hour

// podDelays are the delays of calls that apply to a pod. The image calls name the pod, not the
// container.
var podDelays = []string{"set", "runPodSandbox", "stopPodSandbox", "removePodSandbox", "listPodSandbox",
	"podSandboxStatus", "listContainers", "imageStatus", "imagePull", "volumeMount", "apiGet", "apiPatch", "apiDelete"}

// checkDelays reports delays above the limit, and an unknown set.
func checkDelays(n *strict.Node, delays *format.Delays) {
	if delays == nil {
		return
	}
	checkSet(n.Field("set"), delays.Set)
	for i := range n.Keys {
		var d value.Draw
		if err := d.UnmarshalText([]byte(n.Items[i].Value)); err == nil && d.Max > maxDelay {
			n.Items[i].Errorf("%s is longer than %s, the limit for one call", d, value.Format(maxDelay))
		}
	}
}

// checkSet reports an unknown set of delays.
func checkSet(n *strict.Node, name string) {
	if n.Written() {
		_, err := format.DelaySet(name)
		n.ErrorIf(err != nil, "%v", err)
	}
}

// checkContainerDelays also reports delays of calls that do not apply to a container.
func checkContainerDelays(n *strict.Node, delays *format.Delays) {
	checkDelays(n, delays)
	for i, key := range n.Keys {
		n.Items[i].ErrorIf(slices.Contains(podDelays, key.Name),
			"does not apply to a container: set it in the delays of the pod or of the scenario")
	}
}
