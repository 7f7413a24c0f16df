package kubelet

import (
	"errors"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/flowcontrol"
	clocktesting "k8s.io/utils/clock/testing"

	"probesim.dev/fakeruntime"
	"probesim.dev/sim"
	"probesim.dev/trace"
)

// Limits of image pulls.
const (
	// maxImagePullRequests is the number of pulls that can wait for the current one
	// (pkg/kubelet/images/puller.go at v1.37.0).
	maxImagePullRequests = 10
	// imageBackOffPeriod is the delay of the next pull after a pull that failed. Each failure
	// doubles it, up to maxImageBackOff (pkg/kubelet/kubelet.go at v1.37.0).
	imageBackOffPeriod = 10 * time.Second
	maxImageBackOff    = 300 * time.Second
	// pullRate is the number of pulls that can begin in a second, after a first burst of pullBurst
	// (pkg/kubelet/apis/config/v1beta1/defaults.go at v1.37.0). A pull beyond that fails with the
	// error pullsExceeded (pkg/kubelet/images/helpers.go at v1.37.0).
	pullRate      = 5
	pullBurst     = 10
	pullsExceeded = "pull QPS exceeded"
)

// Reasons why an image is missing (pkg/kubelet/images/types.go at v1.37.0).
const (
	imageInspectError = "ImageInspectError"
	errImagePull      = "ErrImagePull"
	imagePullBackOff  = "ImagePullBackOff"
	errImageNeverPull = "ErrImageNeverPull"
)

// imageBackOff is the back-off of pulls, by pod and image, with the last error of each. It follows
// the monotonic clock (pkg/kubelet/images/image_manager.go at v1.37.0).
type imageBackOff struct {
	*flowcontrol.Backoff
	clock  *clocktesting.FakeClock
	failed map[string]string
	rate   flowcontrol.PassiveRateLimiter
}

func newImageBackOff() *imageBackOff {
	c := clocktesting.NewFakeClock(time.Time{})
	return &imageBackOff{flowcontrol.NewFakeBackOff(imageBackOffPeriod, maxImageBackOff, c), c, map[string]string{},
		flowcontrol.NewTokenBucketPassiveRateLimiterWithClock(pullRate, pullBurst, c)}
}

// pullRequest asks the image puller for an image.
type pullRequest struct {
	pulling trace.Record // the record of the beginning, without its time
	podUID  string
	image   string
	proc    *sim.Proc
	took    time.Duration
	size    uint64 // 0 if the runtime does not say
	err     error
}

// ensureImageExists pulls the image if the pull policy is Always or the node does not have the
// image. It returns nil, or the reason why the image is missing (EnsureImageExists in
// pkg/kubelet/images/image_manager.go at v1.37.0).
func (k *Kubelet) ensureImageExists(p *sim.Proc, u podUpdate, c *v1.Container) *startReason {
	if c.ImagePullPolicy == v1.PullAlways {
		return k.pullImage(p, u, c)
	}
	op := k.runtime.Call(p, fakeruntime.Call{Method: fakeruntime.ImageStatus, PodUID: string(u.pod.UID),
		Image: c.Image})
	switch {
	case op.Err != nil:
		message := fmt.Sprintf("Failed to inspect image %q: %v", "", op.Err) // the image has no reference yet
		step := k.event(u.pod, c.Name, v1.EventTypeWarning, "InspectFailed", message)
		return &startReason{imageInspectError, message, step}
	case op.ID == "":
		return k.pullImage(p, u, c)
	case k.mustAttemptPull(c.Image) && c.ImagePullPolicy == v1.PullNever:
		message := fmt.Sprintf("Container image %q is not present with pull policy of Never", c.Image)
		return &startReason{errImageNeverPull, message,
			k.event(u.pod, c.Name, v1.EventTypeWarning, errImageNeverPull, message)}
	case k.mustAttemptPull(c.Image):
		return k.pullImage(p, u, c)
	}
	present := fmt.Sprintf("Container image %q already present on machine", c.Image)
	if k.profile.KubeletEnsureSecretPulledImages {
		present += " and can be accessed by the pod"
	}
	k.ContainerEvent(u.pod, c.Name, v1.EventTypeNormal, "Pulled", present)
	return nil
}

// pullImage pulls an image, unless the image is in its back-off.
func (k *Kubelet) pullImage(p *sim.Proc, u podUpdate, c *v1.Container) *startReason {
	event := func(eventType, reason, message string) int64 {
		return k.event(u.pod, c.Name, eventType, reason, message)
	}
	b, key := k.imageBackOff, string(u.pod.UID)+"_"+c.Image
	b.clock.SetTime(k.monotonic())
	if b.IsInBackOffSinceUpdate(key, k.monotonic()) {
		message := fmt.Sprintf("Back-off pulling image %q", c.Image)
		step := event(v1.EventTypeNormal, "BackOff", message)
		return &startReason{imagePullBackOff, message + ": " + b.failed[key], step}
	}
	delete(b.failed, key)
	step := event(v1.EventTypeNormal, "Pulling", fmt.Sprintf("Pulling image %q", c.Image))
	start := p.Now()
	pulling := trace.Record{
		Kind: trace.ImagePullStarted, Cause: step, Pod: podName(u.pod), Container: c.Name,
		Instance: k.runtime.EventInstance(string(u.pod.UID), c.Name, "Pulling"), Message: applyDefaultImageTag(c.Image),
	}
	r := &pullRequest{pulling: pulling, podUID: string(u.pod.UID), image: c.Image, proc: p}
	k.recordPullIntent(c.Image)
	if k.settings.ParallelImagePulls {
		k.pullInParallel(p, r)
	} else {
		k.puller.Send(p, r)
		p.Park()
	}
	k.recordPullEnd(c.Image, r.err == nil)
	b.clock.SetTime(k.monotonic())
	if r.err != nil {
		step := event(v1.EventTypeWarning, "Failed", fmt.Sprintf("Failed to pull image %q: %v", c.Image, r.err))
		b.Next(key, k.monotonic())
		b.failed[key] = fmt.Sprintf("%s: %v", errImagePull, r.err)
		return &startReason{errImagePull, r.err.Error(), step}
	}
	waited := p.Now().Sub(start).Truncate(time.Millisecond)
	event(v1.EventTypeNormal, "Pulled",
		fmt.Sprintf("Successfully pulled image %q in %v (%v including waiting). Image size: %d bytes.",
			c.Image, r.took.Truncate(time.Millisecond), waited, r.size))
	b.GC()
	return nil
}

// applyDefaultImageTag returns the name of an image with the tag latest if it has neither a tag nor
// a digest (function of that name in pkg/kubelet/images/image_manager.go at v1.37.0).
func applyDefaultImageTag(image string) string {
	if name := image[strings.LastIndexByte(image, '/')+1:]; strings.ContainsAny(name, ":@") {
		return image
	}
	return image + ":latest"
}

// pullImages is the process that pulls images for all pods of the node, one at a time, and asks for
// the size of each (pkg/kubelet/images/puller.go at v1.37.0).
func (k *Kubelet) pullImages(p *sim.Proc) {
	p.Serve(sim.On(k.puller, func(p *sim.Proc, r *pullRequest) {
		k.pull(p, r)
		r.proc.Wake()
	}))
}

// pullInParallel pulls an image beside those of other containers. It waits while there are as many
// pulls as the configuration allows (parallelImagePuller in pkg/kubelet/images/puller.go at
// v1.37.0).
func (k *Kubelet) pullInParallel(p *sim.Proc, r *pullRequest) {
	if k.pullTokens == nil {
		k.pull(p, r)
		return
	}
	k.pullTokens.Send(p, struct{}{})
	k.pull(p, r)
	k.pullTokens.TryRecv()
}

// pull pulls an image and asks for its size, unless too many pulls have begun in a short time.
func (k *Kubelet) pull(p *sim.Proc, r *pullRequest) {
	start := p.Now()
	k.imageBackOff.clock.SetTime(k.monotonic())
	if !k.imageBackOff.rate.TryAccept() {
		r.err = errors.New(pullsExceeded)
		return
	}
	r.pulling.T = start
	r.pulling.Cause = k.trace.Add(r.pulling)
	r.err = k.call(p, fakeruntime.Call{Method: fakeruntime.PullImage, PodUID: r.podUID,
		Image: applyDefaultImageTag(r.image)})
	k.recordPulled(p, r)
	if r.err == nil && k.call(p, fakeruntime.Call{Method: fakeruntime.ImageStatus, Image: r.image}) == nil {
		r.size = fakeruntime.ImageSize
	}
	r.took = p.Now().Sub(start)
}

// recordPulled records the end of a pull.
func (k *Kubelet) recordPulled(p *sim.Proc, r *pullRequest) {
	rec := r.pulling
	rec.Kind, rec.T, rec.Took = trace.ImagePullEnded, p.Now(), p.Now().Sub(rec.T)
	rec.Result, rec.Message = resultOf(r.err == nil), ""
	if r.err != nil {
		rec.Message = r.err.Error()
	}
	k.trace.Add(rec)
}

// imageListPeriod is the time between two refreshes of the list of images
// (pkg/kubelet/images/image_gc_manager.go at v1.37.0).
const imageListPeriod = 30 * time.Second

// listImages is the process that refreshes the image manager's list of images. Nothing depends on
// the result.
func (k *Kubelet) listImages(p *sim.Proc) {
	k.fastForwardLists(p, imageListPeriod, func() bool { return true }, fakeruntime.ListImages)
	for {
		k.call(p, fakeruntime.Call{Method: fakeruntime.ListImages})
		p.Sleep(imageListPeriod)
	}
}
