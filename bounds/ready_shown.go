package bounds

import "time"

// A relist finds a first start, and leads to the sync that shows it. The readiness probe can waste the trigger of this sync. It then waits for the next
// sync, and for its next tick if there is none:
//
//	relist R1     a second, or none     relist R2           a second     relist R3
//	├──── start ──┤                     ├──────────────┤                 ├────────┤
//	                                                   first sync                 next sync, if any
//
// A sync that waits when R2 inspects the pod comes at once, and the event of R2 leads to the next sync. This is so if a relist has listed the new sandbox
// before the start. Otherwise, the events of R2 lead to the first sync, and no event is left for another one.

// shownLast returns the greatest time from a first start until a sync shows it that no sync for a later event follows. It does not count that the
// sync loop takes the event later if it lists what runs for its housekeeping.
//
// The relist before has listed the pod without its sandbox, so it has had no event. A kubelet with PLEGOnDemandRelist can also find the start with this
// relist: the sync waits for the next one, which finds no change.
func (s *Subject) shownLast(n Nodes) time.Duration {
	if !s.startsAlone() {
		return s.shownLastBesideOthers(n)
	}
	ends := n.lists() + s.inspectsTwice(n)
	if !s.Profile.PLEGOnDemandRelist {
		return time.Second + ends
	}
	return max(ends, 2*n.lists()+s.inspects(n, true))
}

// shownLastBesideOthers is shownLast for a container with hooks, or with other containers in its pod. If the sync starts several containers, there is a last
// sync only if no relist comes while they start: an event of such a relist leads to the first sync, and the start of the last container to another one. A
// hook after that start gives a relist time to find it before. shownLastBesideOthers returns -Never if a relist always comes (podWorkerLoop in
// pkg/kubelet/pod_workers.go at v1.37.0).
func (s *Subject) shownLastBesideOthers(n Nodes) time.Duration {
	ends := n.lists() + 2*s.inspects(n, true)
	switch _, late := s.shown(n, true); {
	case s.endsWithHook(true):
		return late
	case s.rest(n, true).Min > time.Second+ends:
		return -Never
	default:
		return min(late, time.Second+ends+2*n.lists())
	}
}

// inspectsTwice returns the longest time after a first start for which two relists inspect the pod: one that has listed the sandboxes before the new
// one was ready, and the next one. The first one inspects the pod if it has listed the container. A longer look at the sandbox then makes the
// inspections longer, but the container is created only after such a look.
func (s *Subject) inspectsTwice(n Nodes) time.Duration {
	inspects, look := s.inspects(n, true), n.most(podSandboxStatus)
	if s.init() != "" { // the sandbox has been ready before, and the first relist inspects the pod
		return 2 * inspects
	}
	both := func(own, first time.Duration) time.Duration {
		first -= max(0, own+s.untilStart(n)-n.most(listContainers))
		if s.Profile.PLEGOnDemandRelist { // the start itself leads to the second one
			first = max(0, first)
		}
		return first + inspects - look + own
	}
	own, ok := s.lookBeforeRest(n)
	if !ok {
		return both(look, 0)
	}
	first := inspects - look + own
	if s.Profile.InspectUsesListing { // no sandbox is listed
		first -= own
	}
	return max(both(look, 0), both(own, first))
}

// lookBeforeRest returns the longest time of a look at a sandbox after which the container can be created before a relist lists it that has listed the
// sandboxes before this one was ready. It returns false if there is no such time.
func (s *Subject) lookBeforeRest(n Nodes) (time.Duration, bool) {
	look := n.draw(podSandboxStatus)
	longest := min(look.Max, n.most(listContainers)-s.untilStart(n)+n.draw(startContainer).Min)
	return longest, longest >= look.Min
}

// untilStart returns the least time from the look at a new sandbox until the start of the container.
func (s *Subject) untilStart(n Nodes) time.Duration {
	return n.sum(append([]delay{imageStatus, imageStatus}, s.starts()...)...).Min
}

// settles returns the greatest time from a first start until the last of the syncs that follow it, apart from those that come a period later. After the
// sync that shows the start, two more can come: for another event of its relist, and for the initial result of the readiness probe. Each of them waits
// for a relist that begins after the sync before (podWorkerLoop in pkg/kubelet/pod_workers.go at v1.37.0).
//
// Up to v1.35, the first sync comes the latest if R1 has listed the container just before the start: R1 inspects the pod, and so does R2 a second later.
// With PLEGOnDemandRelist, R2 comes at once, and the next global relist can begin before the first sync: the sync loop takes the first event later if it
// lists what runs for its housekeeping. The last result does not come during such lists too, or the times count them twice.
func (s *Subject) settles(n Nodes, r *readying) time.Duration {
	lists, inspects := n.lists(), s.inspects(n, true)
	switch slow := r.shown.Max >= time.Second || !s.startsAlone(); {
	case !s.Profile.PLEGOnDemandRelist && lists < time.Second && s.startsAlone():
		return 3*time.Second + 3*lists + 2*inspects
	case !s.Profile.PLEGOnDemandRelist || slow:
		return r.shown.Max + 2*r.wait
	case 4*lists+r.took.Max < time.Second:
		return 2*time.Second + 4*lists + inspects
	}
	return 2*time.Second + 5*lists + inspects
}

// atOnceAtMost returns the greatest time from a start at which the program is up until the last run that the probe needs, if initialDelaySeconds is
// over before the second sync. If the probe wastes the trigger of the first sync, its first look comes with the next sync or at the next tick, and its
// initial result leads to another run.
func (r *readying) atOnceAtMost() time.Duration {
	atTick := r.last + r.period + r.untilLastAfterLook(r.took.Max)
	if r.lists.Max+r.successes*r.took.Max >= time.Second { // the housekeeping can delay more than one of the event and the results
		atTick += 2 * r.lists.Max
	}
	return max(atTick, r.shown.Max+min(r.period, r.wait)+r.untilLastAfterLook(max(r.took.Max, r.wait)))
}

// untilLastAfterLook returns the longest time from the first look of the probe to the last run that it needs, if the sync for its initial result can
// lead to the second run after some time.
func (r *readying) untilLastAfterLook(triggered time.Duration) time.Duration {
	later := r.successes - 1
	if later == 0 || !r.initialTriggers {
		return later * r.step
	}
	return (later-1)*r.step + min(r.step, triggered)
}
