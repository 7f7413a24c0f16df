package traffic_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
	"probesim.dev/trace/traffic"
)

// world writes a trace step by step.
type world struct {
	fold *traffic.Fold
	step int64
	got  []string
	lost *float64 // unless nil, the sum
}

func newWorld(entry traffic.Entry) *world {
	entry.Service, entry.Router = "ns/web", "kube-proxy"
	return &world{fold: traffic.New(entry)}
}

// add adds a record at a time in seconds, and notes the losses.
func (w *world) add(at float64, r trace.Record) {
	w.step++
	r.Step, r.T = w.step, virtual.At(time.Duration(at*float64(time.Second)))
	for _, l := range w.fold.Observe(&r) {
		text := fmt.Sprintf("%v %s %s %s cause %d", l.T, strings.TrimPrefix(string(l.Kind), "Loss"), l.Pod, l.Reason,
			l.Cause)
		if l.Kind == trace.LossEnded && w.lost != nil {
			*w.lost += l.Object.Loss.Lost
		}
		if l.Kind == trace.LossEnded {
			text += fmt.Sprintf(" lost %.1f", l.Object.Loss.Lost)
		}
		w.got = append(w.got, text)
	}
}

func (w *world) route(at float64, pods ...string) {
	o := &trace.Object{Name: "Service ns/web"}
	for _, pod := range pods {
		o.Endpoints = append(o.Endpoints, trace.Endpoint{Pod: pod, Ready: true})
	}
	w.add(at, trace.Record{Kind: trace.RoutesChanged, Reason: "kube-proxy", Object: o})
}

func (w *world) start(at float64, pod string) {
	w.add(at, trace.Record{Kind: trace.ContainerStarted, Pod: pod, Container: "app"})
}

func (w *world) exit(at float64, pod string) {
	w.add(at, trace.Record{Kind: trace.ContainerExited, Pod: pod, Container: "app"})
}

// close closes the listener of a program that has got SIGTERM.
func (w *world) close(at float64, pod string) {
	w.fold.Observe(&trace.Record{Kind: trace.ContainerStopping, Pod: pod, Container: "app"})
	w.listener(at, pod, "closed")
}

func (w *world) listener(at float64, pod, state string) {
	w.add(at, trace.Record{Kind: trace.ListenerChanged, Pod: pod, Container: "app", Reason: state})
}

func (w *world) check(t *testing.T, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, w.got); diff != "" {
		t.Errorf("losses (-want +got):\n%s", diff)
	}
}

// A pod that closes its listener loses its part until the router drops it. A change of the number
// of targets changes the part.
func TestRefused(t *testing.T) {
	w := newWorld(traffic.Entry{Rate: 100})
	w.start(0, "a")
	w.start(0, "b")
	w.start(0, "c")
	w.route(1, "a", "b")
	w.close(2, "a")
	w.route(3, "a", "b", "c")
	w.route(4.5, "b", "c")
	w.check(t, "2s Started a refused cause 5", "3s Ended a refused cause 6 lost 50.0", "3s Started a refused cause 5",
		"4.5s Ended a refused cause 7 lost 50.0")
	if sent := w.fold.Sent(virtual.At(11 * time.Second)); sent != 1000 {
		t.Errorf("sent %v", sent)
	}
}

// A pod whose program does not listen for a time loses its part meanwhile. A program that starts
// again listens.
func TestNotListening(t *testing.T) {
	w := newWorld(traffic.Entry{Rate: 100})
	w.start(0, "a")
	w.listener(0, "a", "closed")
	w.route(1, "a", "b")
	w.start(1, "b")
	w.listener(2, "a", "opened")
	w.listener(5, "a", "closed")
	w.exit(6, "a")
	w.start(7, "a")
	w.check(t, "1s Started a notListening cause 3", "1s Started b notListening cause 3",
		"1s Ended b notListening cause 4 lost 0.0", "2s Ended a notListening cause 5 lost 50.0",
		"5s Started a notListening cause 6", "6s Ended a notListening cause 7 lost 50.0", "6s Started a exited cause 7",
		"7s Ended a exited cause 8 lost 50.0")
}

// The cause of a loss is the later one of what made the pod a target and what made it refuse.
func TestCauseIsTheLaterOne(t *testing.T) {
	w := newWorld(traffic.Entry{Rate: 100})
	w.start(0, "a")
	w.route(1, "a", "b")
	w.start(2, "b")
	w.check(t, "1s Started b notListening cause 2", "2s Ended b notListening cause 3 lost 50.0")
}

// Requests in flight are lost when the program ends: rate times the mean duration of a request in a
// steady state.
func TestInFlight(t *testing.T) {
	w := newWorld(traffic.Entry{Rate: 100, Least: 200 * time.Millisecond, Most: 600 * time.Millisecond})
	w.start(0, "a")
	w.start(0, "b")
	w.route(1, "a", "b")
	w.exit(5, "a")
	w.route(5.5, "b")
	w.check(t, "5s Ended a inFlight cause 4 lost 20.0", "5s Started a exited cause 4",
		"5.5s Ended a exited cause 5 lost 25.0")
}

// A program that refuses new connections first has nothing in flight when it ends after its longest
// request. Until then a part is lost.
func TestInFlightAfterClose(t *testing.T) {
	w := newWorld(traffic.Entry{Rate: 100, Least: 200 * time.Millisecond, Most: 600 * time.Millisecond})
	w.start(0, "a")
	w.route(1, "a")
	w.close(5, "a")
	w.exit(5.4, "a")
	// 100/s, and the longest 0.2 s of the durations are over 0.4 s: the integral of (0.6-u)/0.4
	// from 0.4 to 0.6.
	w.check(t, "5s Started a refused cause 3", "5.4s Ended a inFlight cause 4 lost 5.0",
		"5.4s Ended a refused cause 4 lost 40.0", "5.4s Started a exited cause 4")
	w = newWorld(traffic.Entry{Rate: 100, Least: 200 * time.Millisecond, Most: 600 * time.Millisecond})
	w.start(0, "a")
	w.route(1, "a")
	w.close(5, "a")
	w.exit(5.6, "a")
	w.check(t, "5s Started a refused cause 3", "5.6s Ended a refused cause 4 lost 60.0",
		"5.6s Started a exited cause 4")
}

// A program still has requests when its router has dropped it.
func TestInFlightAfterDrop(t *testing.T) {
	w := newWorld(traffic.Entry{Rate: 100, Least: 200 * time.Millisecond, Most: 600 * time.Millisecond})
	w.start(0, "a")
	w.start(0, "b")
	w.route(1, "a", "b")
	w.route(5, "b")
	w.exit(5.4, "a")
	// Half of 100/s, as in TestInFlightAfterClose.
	w.check(t, "5.4s Ended a inFlight cause 5 lost 2.5")
	w = newWorld(traffic.Entry{Rate: 100, Least: 200 * time.Millisecond, Most: 600 * time.Millisecond})
	w.start(0, "a")
	w.start(0, "b")
	w.route(1, "a", "b")
	w.route(5, "b")
	w.route(5.2, "a", "b")
	w.close(5.2, "a")
	w.exit(5.4, "a")
	w.check(t, "5.2s Started a refused cause 6", "5.4s Ended a inFlight cause 7 lost 2.5",
		"5.4s Ended a refused cause 7 lost 10.0", "5.4s Started a exited cause 7")
}

// Without a target all requests are lost, from the first target on.
func TestNoEndpoints(t *testing.T) {
	w := newWorld(traffic.Entry{Rate: 100})
	w.route(1)
	w.start(1, "a")
	w.route(2, "a")
	w.route(3)
	w.route(5, "a")
	w.check(t, "3s Started  noEndpoints cause 4", "5s Ended  noEndpoints cause 5 lost 200.0")
}

// What is not up when a Deployment is first changed is missed, and without a change and a target
// everything is: only then do the requests begin with the Service.
func TestNothingServes(t *testing.T) {
	created := trace.Record{Kind: trace.EndpointsWritten, Object: &trace.Object{Name: "Service ns/web"}}
	w := newWorld(traffic.Entry{Rate: 100})
	w.add(1, created)
	w.route(2)
	w.add(5, trace.Record{Kind: trace.Step, Reason: trace.RolloutStep})
	w.start(7, "a")
	w.route(8, "a")
	w.add(9, trace.Record{Kind: trace.Step, Reason: trace.RolloutStep})
	w.check(t, "5s Started  noEndpoints cause 3", "8s Ended  noEndpoints cause 5 lost 300.0")
	if lost := w.fold.Unserved(virtual.At(time.Minute)); lost != nil {
		t.Errorf("a Service with a target loses %v", lost)
	}
	w = newWorld(traffic.Entry{Rate: 100})
	w.add(1, created)
	w.route(2)
	end := virtual.At(11 * time.Second)
	lost := w.fold.Unserved(end)
	if spans := trace.Losses(lost, end); len(spans) != 1 || spans[0].From != virtual.At(time.Second) ||
		spans[0].Lost != 1000 || spans[0].In(virtual.At(2*time.Second), virtual.At(4*time.Second)) != 200 {
		t.Errorf("a Service without a target loses %+v", spans)
	}
	if sent := w.fold.Sent(end); sent != 1000 {
		t.Errorf("sent %v", sent)
	}
	if lost := newWorld(traffic.Entry{Rate: 100}).fold.Unserved(end); lost != nil {
		t.Errorf("a Service that does not exist loses %v", lost)
	}
}

// Clients that keep their connections lose one request for each one that they open to a pod that
// refuses it: half of those to two targets. They find the other pod with the next requests.
func TestKeptConnectionsAreOpenedAgain(t *testing.T) {
	w := newWorld(traffic.Entry{Rate: 100, Connections: traffic.Connections{Count: 10}})
	w.start(0, "a")
	w.start(0, "b")
	w.route(1, "a", "b")
	w.close(2, "a")
	w.exit(2.5, "a")
	w.route(3, "b")
	w.check(t, "2s Started a refused cause 4", "2.5s Ended a refused cause 5 lost 4.6", "2.5s Started a exited cause 5",
		"3s Ended a exited cause 6 lost 0.4")
}

// A program that keeps idle connections until it exits gets requests although no router knows it
// any more, and loses those that it has at its exit.
func TestKeptConnectionsUntilExit(t *testing.T) {
	w := newWorld(traffic.Entry{Rate: 100, Most: time.Second,
		Connections: traffic.Connections{Count: 10, UntilExit: true}})
	w.start(0, "a")
	w.start(0, "b")
	w.route(1, "a", "b")
	w.close(2, "a")
	w.route(3, "b")
	w.exit(5, "a")
	w.check(t, "5s Ended a inFlight cause 6 lost 25.0")
}

// Without another target, each request is lost. A pod that comes later gets all connections.
func TestKeptConnectionsInAnOutage(t *testing.T) {
	w := newWorld(traffic.Entry{Rate: 100, Connections: traffic.Connections{Count: 10}})
	w.start(0, "a")
	w.route(1, "a")
	w.exit(2, "a")
	w.route(3)
	w.start(4, "b")
	w.route(5, "b")
	w.check(t, "2s Started a exited cause 3", "3s Ended a exited cause 4 lost 100.0",
		"3s Started  noEndpoints cause 4", "5s Ended  noEndpoints cause 6 lost 200.0")
}

// Neither more is lost than is sent, nor less than nothing, whatever happens to the pods.
func TestKeptConnectionsLoseAtMostAll(t *testing.T) {
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 0))
		w := newWorld(traffic.Entry{Rate: 100, Most: time.Second, Connections: traffic.Connections{
			Count: 1 + random.IntN(50), UntilExit: random.IntN(2) == 0}})
		lost := 0.0
		w.lost = &lost
		for at := range 40 {
			pod := string(rune('a' + random.IntN(4)))
			do := []func(float64, string){w.start, w.exit, w.close, func(at float64, pod string) { w.route(at, pod) },
				func(at float64, pod string) { w.route(at, pod, pod+"2") }, func(at float64, _ string) { w.route(at) }}
			do[random.IntN(len(do))](float64(at), pod)
		}
		end := virtual.At(40 * time.Second)
		for _, l := range w.fold.End(end) {
			lost += l.Object.Loss.Lost
		}
		if sent := w.fold.Sent(end); lost < 0 || lost > sent*1.0001 {
			t.Errorf("seed %d: %v of %v are lost", seed, lost, sent)
		}
	}
}
