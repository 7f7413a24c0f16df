package kubelet

import (
	"iter"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"probesim.dev/fakeruntime"
	"probesim.dev/sim"
	"probesim.dev/sim/choose"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// Constants of the PLEG (pkg/kubelet/kubelet.go and pkg/kubelet/pleg/generic.go at v1.37.0).
const (
	relistPeriod    = time.Second     // from the end of a relist to the start of the next
	relistThreshold = 3 * time.Minute // age of the last relist at which the sync loop pauses
	plegCapacity    = 1000            // events that can wait for the sync loop; others are dropped
	relistRequests  = 200             // requests that can wait for the PLEG; others are dropped
)

// relistBegins is the point at which the relist of all pods begins. The others are the pods that it
// inspects, in its order.
const relistBegins = "begin"

// plegEventType says what happened to a container or sandbox (PodLifeCycleEventType in
// pkg/kubelet/pleg/pleg.go at v1.37.0).
type plegEventType string

const (
	containerStarted plegEventType = "ContainerStarted"
	containerDied    plegEventType = "ContainerDied"
	containerRemoved plegEventType = "ContainerRemoved"
	containerChanged plegEventType = "ContainerChanged" // updates the cache only; the sync loop does not get it
	plegPodSync      plegEventType = "PodSync"          // an inspection succeeded after a failed one, or after a resize
)

// plegEvent is a change that the PLEG reports to the sync loop.
type plegEvent struct {
	uid types.UID
	typ plegEventType
	id  string // container or sandbox ID
}

// plegState is the state of a container or sandbox from the point of view of the PLEG.
type plegState string

const (
	plegNonExistent plegState = ""
	plegRunning     plegState = "running"
	plegExited      plegState = "exited"
	plegUnknown     plegState = "unknown"
)

// relistRequest asks for a relist of one pod.
type relistRequest struct {
	uid  types.UID
	time virtual.Time
}

// podRecord holds the last two lists of a pod.
type podRecord struct {
	old, current *runtimePod
	reinspect    bool // the last inspection failed, or a resize asked for an inspection
	resized      bool // a resize asked for an inspection
}

// name returns the namespace/name of the pod, as its sandboxes and containers have it.
func (r *podRecord) name() string {
	for _, pod := range []*runtimePod{r.current, r.old} {
		switch {
		case pod == nil:
		case len(pod.sandboxes) > 0:
			return pod.sandboxes[0].Namespace + "/" + pod.sandboxes[0].PodName
		case len(pod.containers) > 0:
			return pod.containers[0].Namespace + "/" + pod.containers[0].PodName
		}
	}
	return ""
}

// pleg is the pod lifecycle event generator. It lists the containers of all pods every second, and
// the containers of a single pod on request. It inspects the pods that changed, updates the pod
// cache, and sends events to the sync loop (pkg/kubelet/pleg/generic.go at v1.37.0).
type pleg struct {
	k          *Kubelet
	proc       *sim.Proc
	events     *sim.Chan[plegEvent]
	requests   *sim.Chan[relistRequest]
	tick       *sim.Chan[struct{}]
	timer      *sim.Timer
	records    map[types.UID]*podRecord
	relistTime virtual.Time
	generation uint64      // of the runtime, before the last relist that inspected all changed pods
	asked      []types.UID // pods to inspect in the next relist, even if they have not changed
}

func newPLEG(k *Kubelet) *pleg {
	g := &pleg{
		k:          k,
		events:     sim.NewChan[plegEvent](k.sim, "PLEG events", plegCapacity),
		requests:   sim.NewChan[relistRequest](k.sim, "relist requests", relistRequests),
		tick:       sim.NewChan[struct{}](k.sim, "relist timer", 1),
		records:    map[types.UID]*podRecord{},
		relistTime: never,
	}
	g.timer = k.sim.NewTimer("relist timer", func() { g.tick.TrySend(struct{}{}) })
	if !k.fullLists {
		k.sim.SkipIf(g.timer, g.relistAtOnce)
		k.sim.FastForward(g.timer, sim.Idle{Until: g.idleUntil, Ends: k.listsEnds, Period: relistPeriod, AfterEnd: true,
			Fire: g.relistIdle})
	}
	return g
}

// healthy reports whether the last relist is at most three minutes old at the time at.
func (g *pleg) healthy(at virtual.Time) bool {
	return g.relistTime != never && at.Sub(g.relistTime) <= relistThreshold
}

// requestRelist asks for a relist of one pod. The request is dropped if the queue is full.
func (g *pleg) requestRelist(uid types.UID) {
	if !g.k.profile.PLEGOnDemandRelist {
		return
	}
	g.requests.TrySend(relistRequest{uid, g.k.sim.Now()})
}

// requestReinspect makes the next relist inspect a pod even if it has not changed (RequestReinspect
// in pkg/kubelet/pleg/generic.go at v1.37.0).
func (g *pleg) requestReinspect(uid types.UID) {
	r := g.record(uid)
	r.reinspect, r.resized = true, true
	g.asked = append(g.asked, uid)
}

// withAsked puts the pods that have not changed and must be inspected after the changed ones, in
// the order of the requests, and returns the number of both. They are as they were listed before.
func (g *pleg) withAsked(pods []*runtimePod, changed int, timestamp virtual.Time) ([]*runtimePod, int) {
	for _, uid := range g.asked {
		if r, ok := g.records[uid]; !ok || r.old == nil || !r.reinspect || indexOf(pods[:changed], uid) >= 0 {
			continue
		}
		pods = slices.Insert(without(pods, uid), changed, g.listedAgain(uid, timestamp))
		changed++
	}
	g.asked = nil
	return pods, changed
}

// withAskedMeanwhile gives a pod that a resize asked to inspect during a relist its place in the
// walk over the records, which has no defined order: if the walk has not yet visited the pod, this
// relist inspects the pod, otherwise the next one. pods are those that the walk has still to visit,
// and the first left of these have changed.
func (g *pleg) withAskedMeanwhile(pods []*runtimePod, visited, left int, uid types.UID,
	timestamp virtual.Time) ([]*runtimePod, int) {
	if r := g.records[uid]; r.old == nil || indexOf(pods[:left], uid) >= 0 {
		return pods, left
	}
	pods = without(pods, uid)
	place := g.placeInWalk(pods[:left], visited, uid)
	if place < visited {
		return pods, left
	}
	again := g.listedAgain(uid, timestamp)
	g.setCurrent(again)
	return slices.Insert(pods, place-visited, again), left + 1
}

// placeInWalk returns how many of the visited pods and of the pods that are left a walk visits
// before the pod with the given UID.
func (g *pleg) placeInWalk(left []*runtimePod, visited int, uid types.UID) int {
	points := make([]string, 0, len(left)+2)
	for _, pod := range left {
		points = append(points, string(pod.uid))
	}
	points = append(points, relistBegins, string(uid))
	choose.Guided(&g.k.sim.Asker, "relist", points, func(point string) string { return point })
	canonical := 0
	if at := slices.Index(points, string(uid)); at < slices.Index(points, relistBegins) {
		canonical = visited + at
	}
	places := visited + len(left) + 1
	return (canonical + g.k.sim.Choose(choose.Order, "reinspect", places)) % places
}

// listedAgain returns a pod that has not changed as the last relist listed it.
func (g *pleg) listedAgain(uid types.UID, timestamp virtual.Time) *runtimePod {
	again := *g.records[uid].old
	again.timestamp, again.later = timestamp, false
	return &again
}

func indexOf(pods []*runtimePod, uid types.UID) int {
	return slices.IndexFunc(pods, func(p *runtimePod) bool { return p.uid == uid })
}

func without(pods []*runtimePod, uid types.UID) []*runtimePod {
	return slices.DeleteFunc(pods, func(p *runtimePod) bool { return p.uid == uid })
}

// run is the process of the PLEG. The timer of the global relist has priority over requests
// (workerLoopIteration in pkg/kubelet/pleg/generic.go at v1.37.0).
func (g *pleg) run(p *sim.Proc) {
	g.k.sim.Set(g.timer, p.Now())
	p.Serve(
		sim.On(g.tick, func(p *sim.Proc, _ struct{}) { g.handleTicks(p, true) }),
		sim.On(g.requests, func(p *sim.Proc, r relistRequest) {
			g.handleRequest(p, r)
			_, due := g.tick.TryRecv()
			g.handleTicks(p, due)
		}),
	)
}

// handleTicks makes a global relist if one is due. The timer of the next one starts when the relist
// has ended.
func (g *pleg) handleTicks(p *sim.Proc, due bool) {
	for due {
		g.relist(p)
		g.k.sim.Set(g.timer, p.Now().Add(relistPeriod))
		_, due = g.tick.TryRecv()
	}
}

// relistAtOnce makes the global relist that is due now, without the process of the PLEG, if nothing
// has changed and nothing else happens until the end of the relist. Otherwise it returns false.
func (g *pleg) relistAtOnce() bool {
	now := g.k.sim.Now()
	if g.idleUntil() < now {
		return false
	}
	end := g.k.listsEnd(now)
	if !g.k.sim.IdleUntil(end, nil) {
		return false
	}
	g.relistIdle(1, now, end)
	return true
}

// idleUntil returns the last time of a relist that finds no changes if nothing changes until then.
func (g *pleg) idleUntil() virtual.Time {
	if g.relistTime == never || g.generation != g.k.runtime.Generation() || len(g.asked) > 0 ||
		len(g.k.cache.subscribers) > 0 || !g.tick.Awaited() {
		return virtual.Min
	}
	return virtual.Max
}

// relistIdle makes relists that find no changes: they only store the time of the last one.
func (g *pleg) relistIdle(times int64, at, end virtual.Time) {
	g.proc.SkipTurns(times)
	g.k.runtime.SkipLists(g.proc, times, len(listsOfPods))
	g.relistTime = at
	g.k.cache.updateTime(at)
	g.k.sim.Set(g.timer, end.Add(relistPeriod))
}

// handleRequest relists one pod, unless a relist after the request has covered it.
func (g *pleg) handleRequest(p *sim.Proc, r relistRequest) {
	if r.time > g.relistTime {
		g.relistPod(p, r.uid)
	}
}

// relist lists all pods and updates their records. If a list call fails, nothing changes (Relist in
// pkg/kubelet/pleg/generic.go at v1.37.0).
func (g *pleg) relist(p *sim.Proc) {
	g.k.sim.Turn("relist", relistBegins)
	before := g.k.runtime.Generation()
	if l, err := g.k.getPods(p, g.scope()); err == nil {
		g.updateRecords(p, l, before)
	}
}

// scope limits a relist to the pods that changed since the last one. The other pods have no events.
func (g *pleg) scope() fakeruntime.Call {
	if g.relistTime == never {
		return fakeruntime.Call{}
	}
	return fakeruntime.Call{OnlyChanged: true, Since: g.generation, AndOthers: g.k.fullLists}
}

// updateRecords stores the list of a global relist that began at a generation of the runtime. It
// inspects the changed pods one after the other, in any order, and publishes each as soon as it is
// inspected. It publishes the unchanged pods last.
func (g *pleg) updateRecords(p *sim.Proc, l listing, generation uint64) {
	pods := l.pods()
	inspect := len(pods)
	if g.k.fullLists && g.relistTime != never {
		inspect = len(l.changed)
	}
	pods, inspect = g.withAsked(pods, inspect, l.timestamp)
	for _, pod := range pods {
		g.setCurrent(pod)
	}
	changed := pods[:inspect]
	if g.k.fullLists && g.relistTime != never {
		pods = g.withRemoved(pods)
	}
	g.relistTime = l.timestamp
	choose.Guided(&g.k.sim.Asker, "relist", changed, func(r *runtimePod) string { return string(r.uid) })
	choose.Shuffle(g.k.sim, "relist", changed)
	inspected := true
	for visited := 1; len(pods) > 0; visited++ {
		asked := len(g.asked)
		inspected = g.reconcilePodRecord(p, pods[0].uid, "global") && inspected
		pods, inspect = pods[1:], max(0, inspect-1)
		for _, uid := range g.asked[asked:] {
			pods, inspect = g.withAskedMeanwhile(pods, visited, inspect, uid, l.timestamp)
		}
	}
	if inspected { // otherwise the next relist must see these changes again
		g.generation = generation
	}
	g.k.cache.updateTime(l.timestamp)
}

// setCurrent stores the new list of a pod. If the pod changed between the two list calls, only the
// second call contains it, so its sandboxes are the previous ones.
func (g *pleg) setCurrent(pod *runtimePod) {
	r := g.record(pod.uid)
	if r.old != nil && pod.later && !g.k.fullLists {
		pod.sandboxes = r.old.sandboxes
	}
	r.current = pod
	if len(pod.sandboxes)+len(pod.containers) == 0 {
		r.current = nil
	}
}

// withRemoved adds the pods that an earlier relist listed and this one did not. Only runs with
// Options.FullLists need it.
func (g *pleg) withRemoved(pods []*runtimePod) []*runtimePod {
	for _, uid := range slices.Sorted(maps.Keys(g.records)) {
		if !slices.ContainsFunc(pods, func(p *runtimePod) bool { return p.uid == uid }) {
			g.records[uid].current = nil
			pods = append(pods, &runtimePod{uid: uid})
		}
	}
	return pods
}

// relistPod lists and updates one pod (function of that name in pkg/kubelet/pleg/generic.go at
// v1.37.0).
func (g *pleg) relistPod(p *sim.Proc, uid types.UID) {
	l, err := g.k.getPods(p, fakeruntime.Call{PodUID: string(uid)})
	pods := l.pods()
	if err != nil || len(pods) == 0 {
		return
	}
	g.record(uid).current = pods[0]
	g.reconcilePodRecord(p, uid, "pod")
	g.k.cache.setObservedTime(uid, pods[0].timestamp)
}

// record returns the record of a pod, a new one for an unknown pod.
func (g *pleg) record(uid types.UID) *podRecord {
	r, ok := g.records[uid]
	if !ok {
		r = &podRecord{}
		g.records[uid] = r
	}
	return r
}

// reconcilePodRecord inspects a pod if it has changed, updates the cache, and then sends the
// events. The cache update wakes a pod worker that waits for it; the events make the sync loop call
// the worker. If the inspection fails, the worker gets the error, reconcilePodRecord returns false,
// and the next relist tries again (function of that name in pkg/kubelet/pleg/generic.go at
// v1.37.0).
func (g *pleg) reconcilePodRecord(p *sim.Proc, uid types.UID, scope string) bool {
	r := g.records[uid]
	events, again := computeEvents(uid, r.old, r.current), r.reinspect
	r.reinspect = false
	if len(events) == 0 && !again {
		return true
	}
	name := r.name()
	if r.current == nil {
		g.k.cache.delete(uid)
		delete(g.records, uid)
	} else {
		status := g.updateCache(p, uid, r.current)
		g.keepPodIPs(uid, status)
		g.k.cache.set(uid, status, status.timestamp)
		if status.err != nil {
			r.reinspect = true
			return false
		}
		r.old, r.current = r.current, nil
	}
	if len(events) == 0 || r.resized && !g.k.profile.ReinspectionEventAlone {
		events = append(events, plegEvent{uid: uid, typ: plegPodSync})
	}
	r.resized = false
	g.k.note(trace.Record{Kind: trace.Relist, Pod: name, Reason: scope, Message: string(uid)})
	for _, e := range events {
		if e.typ != containerChanged {
			p.Preempt("pod cache refreshed, event not sent")
			g.events.TrySend(e)
		}
	}
	return true
}

// updateCache inspects a pod for the cache. Up to 1.35, an inspection lists the pod again
// (updateCache in pkg/kubelet/pleg/generic.go at v1.37.0 and v1.34.4).
func (g *pleg) updateCache(p *sim.Proc, uid types.UID, listed *runtimePod) *podStatus {
	if g.k.profile.InspectUsesListing {
		return g.k.getPodStatus(p, listed)
	}
	return g.k.listAndInspect(p, uid)
}

// keepPodIPs keeps the IP addresses of a pod whose sandboxes have stopped (getPodIPs in
// pkg/kubelet/pleg/generic.go at v1.37.0).
func (g *pleg) keepPodIPs(uid types.UID, s *podStatus) {
	for i := range s.sandboxes {
		if s.sandboxes[i].Ready {
			return
		}
	}
	if len(s.ips) == 0 && s.err == nil {
		s.ips = g.k.cache.get(uid).ips
	}
}

// computeEvents returns the events between two lists of a pod. The containers and sandboxes of the
// old list come first, then the new ones (Relist and computeEvents in pkg/kubelet/pleg/generic.go
// at v1.37.0).
func computeEvents(uid types.UID, old, current *runtimePod) []plegEvent {
	var events []plegEvent
	for id := range old.ids() {
		events = generateEvents(events, uid, id, old.state(id), current.state(id))
	}
	for id := range current.ids() {
		if old.state(id) == plegNonExistent {
			events = generateEvents(events, uid, id, plegNonExistent, current.state(id))
		}
	}
	return events
}

// generateEvents appends the events of a container or sandbox whose state changed (function of that
// name in pkg/kubelet/pleg/generic.go at v1.37.0).
func generateEvents(events []plegEvent, uid types.UID, id string, from, to plegState) []plegEvent {
	switch {
	case from == to:
	case to == plegRunning:
		events = append(events, plegEvent{uid, containerStarted, id})
	case to == plegExited:
		events = append(events, plegEvent{uid, containerDied, id})
	case to == plegUnknown:
		events = append(events, plegEvent{uid, containerChanged, id})
	default:
		if from != plegExited {
			events = append(events, plegEvent{uid, containerDied, id})
		}
		events = append(events, plegEvent{uid, containerRemoved, id})
	}
	return events
}

// ids yields the IDs of the containers and sandboxes. A nil pod has none.
func (r *runtimePod) ids() iter.Seq[string] {
	return func(yield func(string) bool) {
		if r == nil {
			return
		}
		for i := range r.containers {
			if !yield(r.containers[i].ID) {
				return
			}
		}
		for i := range r.sandboxes {
			if !yield(r.sandboxes[i].ID) {
				return
			}
		}
	}
}

func (r *runtimePod) state(id string) plegState {
	if r == nil {
		return plegNonExistent
	}
	for i := range r.containers {
		if r.containers[i].ID == id {
			return plegStateOf[r.containers[i].State]
		}
	}
	for i := range r.sandboxes {
		if r.sandboxes[i].ID == id {
			if r.sandboxes[i].Ready {
				return plegRunning
			}
			return plegExited
		}
	}
	return plegNonExistent
}

var plegStateOf = map[fakeruntime.ContainerState]plegState{
	fakeruntime.Created: plegUnknown, fakeruntime.Running: plegRunning, fakeruntime.Exited: plegExited,
}
