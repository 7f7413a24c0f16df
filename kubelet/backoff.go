package kubelet

import (
	"cmp"
	"time"

	"k8s.io/client-go/util/flowcontrol"
	clocktesting "k8s.io/utils/clock/testing"

	"probesim.dev/kube/kubeletconfig"
	"probesim.dev/kube/profile"
	"probesim.dev/sim/virtual"
)

// The bounds of the crash-loop back-off (pkg/kubelet/kubelet.go and apis/config/v1beta1/defaults.go
// at v1.37.0).
const (
	initialBackOff            = 10 * time.Second
	maxBackOff                = 5 * time.Minute
	reducedInitialBackOff     = time.Second
	reducedMaxBackOff         = time.Minute
	maxContainerRestartPeriod = 5 * time.Minute  // the default of the configuration
	backOffReset              = 10 * time.Minute // an item expires after this time without a restart
)

// backOff is the crash-loop back-off. Delays count from the exits of containers, in wall-clock
// time. The expiry of an item follows the monotonic clock, because it compares two readings of the
// kubelet's own clock (GC in util/flowcontrol/backoff.go of client-go v0.37.0).
type backOff struct {
	of      *flowcontrol.Backoff
	clock   *clocktesting.FakeClock // the wall clock, which is set before each use
	updated map[string]virtual.Time
}

// newBackOff returns the crash-loop back-off. With KubeletCrashLoopBackOffMax, the configured
// maximum or its default replaces the maximum of the release and also bounds the first delay
// (newCrashLoopBackOff in pkg/kubelet/kubelet.go and SetDefaults_KubeletConfiguration in
// pkg/kubelet/apis/config/v1beta1/defaults.go at v1.37.0).
func newBackOff(p profile.Profile, config kubeletconfig.Config) *backOff {
	initial, longest := initialBackOff, maxBackOff
	if p.ReduceDefaultCrashLoopBackOffDecay {
		initial, longest = reducedInitialBackOff, reducedMaxBackOff
	}
	if p.KubeletCrashLoopBackOffMax {
		longest = cmp.Or(config.MaxContainerRestartPeriod, maxContainerRestartPeriod)
	}
	clock := clocktesting.NewFakeClock(time.Time{})
	b := flowcontrol.NewFakeBackOff(min(initial, longest), longest, clock)
	b.HasExpiredFunc = func(event, lastUpdate time.Time, _ time.Duration) bool {
		return event.Sub(lastUpdate) > backOffReset
	}
	return &backOff{of: b, clock: clock, updated: map[string]virtual.Time{}}
}

// get returns the delay of an item.
func (b *backOff) get(item string) time.Duration { return b.of.Get(item) }

// isInBackOffSince reports whether an item must wait after an event. Both times are wall-clock
// times.
func (b *backOff) isInBackOffSince(item string, event, now time.Time) bool {
	b.clock.SetTime(now)
	return b.of.IsInBackOffSince(item, event)
}

// next sets or doubles the delay of an item after an event. event and now are wall-clock times, t
// is the virtual time.
func (b *backOff) next(item string, event, now time.Time, t virtual.Time) {
	b.clock.SetTime(now)
	b.of.Next(item, event)
	b.updated[item] = t
}

// forget drops the items that have not changed for backOffReset.
func (b *backOff) forget(now virtual.Time) {
	for item, t := range b.updated {
		if now.Sub(t) > backOffReset {
			b.of.DeleteEntry(item)
			delete(b.updated, item)
		}
	}
}
