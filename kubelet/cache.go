package kubelet

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/sim"
	"probesim.dev/sim/virtual"
)

// never is the earliest instant. It stands for an instant that has not been set.
const never = virtual.Min

// podCache holds the newest status of each pod, and lets pod workers wait for a status that is
// newer than their last sync (pkg/kubelet/container/cache.go at v1.37.0).
type podCache struct {
	entries     map[types.UID]*cacheEntry
	timestamp   virtual.Time // all entries are at least as new
	subscribers []*subscriber
}

type cacheEntry struct {
	status   *podStatus
	modified virtual.Time
	observed virtual.Time // time of the last list that confirmed the status
}

type subscriber struct {
	uid    types.UID
	newer  virtual.Time
	proc   *sim.Proc
	status *podStatus
}

func newPodCache() *podCache {
	return &podCache{entries: map[types.UID]*cacheEntry{}, timestamp: never}
}

// get returns the status of a pod, an empty one for an unknown pod.
func (c *podCache) get(uid types.UID) *podStatus {
	if e, ok := c.entries[uid]; ok {
		return e.status
	}
	return &podStatus{}
}

// getNewerThan waits for a status of the pod that is newer than t.
func (c *podCache) getNewerThan(p *sim.Proc, uid types.UID, t virtual.Time) *podStatus {
	e, ok := c.entries[uid]
	if c.timestamp > t || ok && (e.modified > t || e.observed > t) {
		return c.get(uid)
	}
	s := &subscriber{uid: uid, newer: t, proc: p}
	c.subscribers = append(c.subscribers, s)
	p.Park()
	return s.status
}

func (c *podCache) set(uid types.UID, s *podStatus, t virtual.Time) {
	c.entries[uid] = &cacheEntry{status: s, modified: t, observed: t}
	c.notify(t, func(sub *subscriber) bool { return sub.uid == uid })
}

func (c *podCache) setObservedTime(uid types.UID, t virtual.Time) {
	if e, ok := c.entries[uid]; ok {
		e.observed = t
	}
	c.notify(t, func(sub *subscriber) bool { return sub.uid == uid })
}

func (c *podCache) delete(uid types.UID) { delete(c.entries, uid) }

// updateTime records that all entries are at least as new as t.
func (c *podCache) updateTime(t virtual.Time) {
	c.timestamp = t
	c.notify(t, func(*subscriber) bool { return true })
}

// notify wakes the subscribers that wait for a time up to t. Here, a status of exactly that time is
// enough; getNewerThan returns immediately only if the status is newer (notify and getIfNewerThan
// in pkg/kubelet/container/cache.go at v1.37.0).
func (c *podCache) notify(t virtual.Time, concerns func(*subscriber) bool) {
	if len(c.subscribers) == 0 {
		return
	}
	c.subscribers = slices.DeleteFunc(c.subscribers, func(s *subscriber) bool {
		if t < s.newer || !concerns(s) {
			return false
		}
		s.status = c.get(s.uid)
		s.proc.Wake()
		return true
	})
}
