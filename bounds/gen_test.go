package bounds

import (
	"errors"
	"flag"
	"fmt"
	"reflect"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"probesim.dev/fakeruntime"
	"probesim.dev/kube/profile"
	"probesim.dev/sim/choose"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// The same examples are drawn each time; .ci/nightly draws new ones.
var _ = flag.Set("rapid.seed", "1")

// An example needs hundreds of runs, so there are fewer than usual. .ci/nightly passes -rapid.checks.
var _ = flag.Set("rapid.checks", "12")

var (
	only    = flag.String("only", "", "the question to prove")
	version = flag.String("version", "", "the only version of Kubernetes to draw; empty for all releases")
	grpc    = flag.Bool("grpc", false, "draw gRPC probes only")
	usual   = flag.Bool("usual", false, "draw only numbers that published manifests have")
)

// drawProbe draws a probe with any handler. Its numbers are small, and its timeout can exceed its period. With the flag -usual, they are those of
// published manifests.
func drawProbe(t *rapid.T, name string) *v1.Probe {
	number := func(field string, lo, hi int32, published ...int32) int32 {
		if *usual {
			return rapid.SampledFrom(published).Draw(t, name+" "+field)
		}
		return rapid.Int32Range(lo, hi).Draw(t, name+" "+field)
	}
	p := &v1.Probe{
		PeriodSeconds:    number("period", 1, 10, 5, 10, 10, 15, 20, 30),
		FailureThreshold: number("threshold", 1, 5, 1, 3, 3, 3, 5, 6),
		TimeoutSeconds:   number("timeout", 1, 4, 1, 1, 1, 3, 5),
	}
	if rapid.Bool().Draw(t, name+" has delay") {
		p.InitialDelaySeconds = number("delay", 1, 15, 5, 10, 15, 20, 30, 60)
	}
	if *grpc {
		p.GRPC = &v1.GRPCAction{Port: 80}
		return p
	}
	switch rapid.SampledFrom([]string{"http", "tcp", "exec"}).Draw(t, name) {
	case "http":
		p.HTTPGet = &v1.HTTPGetAction{Port: intstr.FromInt32(80)}
	case "tcp":
		p.TCPSocket = &v1.TCPSocketAction{Port: intstr.FromInt32(80)}
	case "exec":
		p.Exec = &v1.ExecAction{Command: []string{"check"}}
	}
	return p
}

// drawSubject draws a container with a probe of at least one type.
func drawSubject(t *rapid.T, needs ...trace.Probe) *Subject {
	c := v1.Container{Name: "app", Image: rapid.SampledFrom([]string{"app:1", "app"}).Draw(t, "image")} // pulled always if there is no tag
	for _, one := range []struct {
		probe trace.Probe
		field **v1.Probe
	}{{trace.Startup, &c.StartupProbe}, {trace.Liveness, &c.LivenessProbe}, {trace.Readiness, &c.ReadinessProbe}} {
		has := rapid.Bool().Draw(t, "has "+string(one.probe))
		for _, n := range needs {
			has = has || n == one.probe
		}
		if has {
			*one.field = drawProbe(t, string(one.probe))
		}
	}
	if c.ReadinessProbe != nil {
		c.ReadinessProbe.SuccessThreshold = rapid.SampledFrom([]int32{1, 1, 1, 2, 3}).Draw(t, "successes")
		if *usual {
			c.ReadinessProbe.SuccessThreshold = 1
		}
	}
	name := rapid.SampledFrom(versions()).Draw(t, "version")
	if *version != "" {
		name = *version
	}
	p, ok := profile.Named(name)
	if !ok {
		t.Fatalf("version %s is unknown", name)
	}
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web"}, Spec: v1.PodSpec{Containers: []v1.Container{c}}}
	if *varied {
		vary(t, pod)
	}
	s, err := NewSubject(pod, "app", p)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// versions returns the versions to draw.
func versions() []string {
	if *varied {
		return profile.NamesWithPreviews()
	}
	return profile.Names()
}

// dice draw evenly, other than package rapid, which prefers small numbers.
type dice struct {
	seed choose.Seeded
	n    int64
}

func drawDice(t *rapid.T) *dice { return &dice{seed: choose.Seeded(rapid.Uint64().Draw(t, "dice"))} }

func (d *dice) fraction() float64 {
	d.n++
	return d.seed.Fraction(choose.Choice{Ordinal: d.n})
}

func (d *dice) duration(lo, hi time.Duration) time.Duration {
	return lo + time.Duration(d.fraction()*float64(hi-lo+1))
}

// spans are the greatest delays that a drawn node has.
var spans = []struct {
	name string
	of   delay
	max  time.Duration
}{
	{"runPodSandbox", runPodSandbox, 6 * time.Second}, {"imagePull", imagePull, 20 * time.Second},
	{"createContainer", createContainer, time.Second}, {"startContainer", startContainer, time.Second},
	{"stopContainer", stopContainer, time.Second}, {"apiGet", apiGet, 200 * time.Millisecond}, {"apiPatch", apiPatch, 300 * time.Millisecond},
	{"listPodSandbox", looks[0], 50 * time.Millisecond}, {"listContainers", looks[1], 50 * time.Millisecond},
	{"podSandboxStatus", looks[2], 50 * time.Millisecond}, {"containerStatus", looks[3], 50 * time.Millisecond},
	{"exec", answerDelay(&v1.Probe{ProbeHandler: v1.ProbeHandler{Exec: &v1.ExecAction{}}}), 600 * time.Millisecond},
	{"httpGet", answerDelay(&v1.Probe{}), 600 * time.Millisecond},
	{"tcpSocket", answerDelay(&v1.Probe{ProbeHandler: v1.ProbeHandler{TCPSocket: &v1.TCPSocketAction{}}}), 600 * time.Millisecond},
}

// drawNodes draws nodes. About half of their delays have a range.
func drawNodes(t *rapid.T) Nodes {
	var n Nodes
	d := drawDice(t)
	for _, span := range spans {
		if rapid.Bool().Draw(t, "range of "+span.name) {
			lo := d.duration(0, span.max)
			*span.of(&n.Delays) = &fakeruntime.Draw{Min: lo, Max: d.duration(lo, span.max)}
		}
	}
	return n
}

// drawCase draws a node. A seed draws the jitters and the order of events at one instant.
func drawCase(d *dice, s *Subject, n Nodes) Case {
	c := Case{SyncJitter: d.fraction(), StartJitter: 0.5, Seed: new(int64(d.duration(0, 1<<32)))}
	own, all := reflect.ValueOf(&c.Delays).Elem(), reflect.ValueOf(n.Delays)
	for i := range own.NumField() {
		if r := all.Field(i).Interface().(*fakeruntime.Draw); r != nil {
			x := fakeruntime.Exactly(d.duration(r.Min, r.Max))
			own.Field(i).Set(reflect.ValueOf(&x))
		}
	}
	c.Uptime = d.duration(s.old(), s.old()+20*time.Second)
	return c
}

// theorem is a bound, and how to draw a time that it must contain.
type theorem struct {
	name  string
	needs []trace.Probe
	bound func(*Subject, Nodes) (Bound, error)
	draw  func(*dice, *Subject, Case) (sample, error)
	// tolerance is how far a drawn time may pass the bound.
	tolerance time.Duration
	// over reports the outcome of a limit in a case.
	over func(*Subject, *Case) func(*trace.Record) bool
}

// happens reports whether the outcome of a limit comes in a case.
func (th *theorem) happens(s *Subject, c Case, until time.Duration) bool {
	from := virtual.At(c.Event)
	over, found := th.over(s, &c), false
	_, _ = s.record(&c, &trace.Recorder{}, until, func(r *trace.Record) bool {
		found = found || r.T >= from && over(r)
		return found
	})
	return found
}

func theorems() []theorem {
	var list []theorem
	for _, which := range []StartCase{FirstInstance, YoungKubelet, AfterLivenessKill, AfterStartupKill, AfterCrash, AfterCrashWhileStarting} {
		th := theorem{
			name:  string(which),
			bound: func(s *Subject, n Nodes) (Bound, error) { return s.Start(n, which) },
			draw:  func(d *dice, s *Subject, c Case) (sample, error) { return drawStart(d, s, c, which) },
			needs: []trace.Probe{trace.Liveness}, tolerance: tolerance,
			over: func(s *Subject, c *Case) func(*trace.Record) bool { return s.stopped(c.Instance) },
		}
		if which == AfterStartupKill {
			th.needs = []trace.Probe{trace.Startup}
		}
		list = append(list, th)
	}
	for _, m := range []Misfortune{Hang, Stall, Refuse} {
		ask := func(name string, tolerance time.Duration, p trace.Probe, bound func(*Subject, Nodes, Misfortune) (Bound, error), q func(s *Subject) question) {
			list = append(list, theorem{
				name: name + " " + string(m), needs: []trace.Probe{p}, tolerance: tolerance,
				bound: func(s *Subject, n Nodes) (Bound, error) { return bound(s, n, m) },
				draw:  func(d *dice, s *Subject, c Case) (sample, error) { return drawEvent(d, s, c, q(s)) },
				over:  func(s *Subject, _ *Case) func(*trace.Record) bool { return q(s).outcome },
			})
		}
		ask("survives", tolerance, trace.Liveness, (*Subject).Survives, func(s *Subject) question { return s.survives(m) })
		ask("stays ready", tolerance, trace.Readiness, (*Subject).StaysReady, func(s *Subject) question { return s.staysReady(m) })
		ask("until stopped", afterVerdict, trace.Liveness, (*Subject).UntilStopped, func(s *Subject) question { return s.untilStopped(m) })
		ask("until unready", afterVerdict, trace.Readiness, (*Subject).UntilUnready, func(s *Subject) question { return s.untilUnready(m) })
	}
	for _, atOnce := range []bool{true, false} {
		list = append(list, theorem{
			name: fmt.Sprint("until ready, at once ", atOnce), needs: []trace.Probe{trace.Readiness}, tolerance: afterVerdict,
			bound: func(s *Subject, n Nodes) (Bound, error) { return s.UntilReady(n, atOnce) },
			draw:  func(d *dice, s *Subject, c Case) (sample, error) { return drawUp(d, s, c, atOnce) },
		}, theorem{
			name: fmt.Sprint("until ready without readiness probe, at once ", atOnce), needs: []trace.Probe{trace.Startup}, tolerance: afterVerdict,
			bound: func(s *Subject, n Nodes) (Bound, error) {
				if s.Probe(trace.Readiness) != nil || !s.derivesReady() {
					return Bound{}, errNothing
				}
				return s.UntilReady(n, atOnce)
			},
			draw: func(d *dice, s *Subject, c Case) (sample, error) { return drawUp(d, s, c, atOnce) },
		})
	}
	return append(list, readyWhenYoung()...)
}

// afterVerdict is the tolerance of times, which include what the kubelet does after a verdict.
const afterVerdict = 100 * time.Millisecond

var errSkip = errors.New("skip")

// drawStart draws a start.
func drawStart(d *dice, s *Subject, c Case, which StartCase) (sample, error) {
	down := Rule{Instance: AnyInstance, Misfortune: Refuse}
	_, longest := s.periods()
	if !slices.Contains(s.StartCases(), which) {
		return sample{}, errSkip
	}
	stopping := func(instance int) Rule {
		r := s.ends()
		r.Instance, r.From = instance, d.duration(0, 30*time.Second)
		return r
	}
	switch which {
	case FirstInstance:
		c.Rules = []Rule{down}
	case YoungKubelet:
		shortest, _ := s.periods()
		c.Uptime = d.duration(0, shortest-1)
		c.StartJitter = d.fraction()
		c.Rules = []Rule{down}
	case AfterLivenessKill, AfterCrash:
		up, err := s.up(c)
		if err != nil {
			return sample{}, errSkip
		}
		crash := func(instance int) Rule { return Rule{Instance: instance, Exit: 1, From: d.duration(up, up+3*longest)} }
		if which == AfterCrash && d.fraction() < 0.5 { // the next start waits for the back-off
			down.Instance, c.Instance = 2, 2
			if d.fraction() < 0.5 {
				down.Instance, c.Instance = 3, 3
			}
			for i := range c.Instance {
				c.Rules = append(c.Rules, crash(i))
			}
			c.Rules = append(c.Rules, down)
			break
		}
		down.Instance, c.Instance = 1, 1
		if which == AfterCrash {
			c.Rules = []Rule{crash(0), down}
			break
		}
		if d.fraction() < 0.5 { // a later restart can wait for the back-off
			c.Instance = 2 + int(d.fraction()*4)
			down.Instance = c.Instance
		}
		for i := range c.Instance {
			c.Rules = append(c.Rules,
				Rule{Instance: i, Misfortune: Hang, From: d.duration(up, up+3*longest)},
				stopping(i))
		}
		c.Rules = append(c.Rules, down)
		if h, err := s.run(&c, s.stopped(c.Instance-1)); err != nil {
			return sample{}, errSkip
		} else if verdict, err := h.verdict(); err != nil || verdict.Probe != trace.Liveness {
			return sample{}, errSkip
		}
	case AfterStartupKill:
		c.Instance = 1
		c.Rules = []Rule{stopping(0), down}
	case AfterCrashWhileStarting:
		c.Rules = []Rule{down}
		first, err := s.start(c)
		if err != nil || first.bound.Least == Never {
			return sample{}, errSkip
		}
		c.Instance = 1
		c.Rules = []Rule{{Exit: 1, From: d.duration(time.Millisecond, first.bound.Least)}, down}
	}
	return s.start(c)
}

// drawEvent draws a misfortune of a healthy container.
func drawEvent(d *dice, s *Subject, c Case, q question) (sample, error) {
	_, longest := s.periods()
	h, err := s.record(&c, &trace.Recorder{}, s.healthyWithin(), func(r *trace.Record) bool { return s.ready(r) })
	if err != nil {
		return sample{}, errSkip
	}
	from := h.outcome().T.Offset() + s.initialDelays() + 2*longest // each probe has succeeded
	c.Event = d.duration(from, from+10*longest)
	return s.answer(c, q)
}

// drawUp draws a moment at which a starting container is up.
func drawUp(d *dice, s *Subject, c Case, atOnce bool) (sample, error) {
	if atOnce {
		return s.upAt(c, 0)
	}
	down := c
	down.Rules = []Rule{{Instance: AnyInstance, Misfortune: Refuse}}
	_, longest := s.periods()
	decides := trace.Startup
	if s.Probe(decides) == nil {
		decides = trace.Readiness
	}
	var from, to time.Duration
	h, err := s.record(&down, &trace.Recorder{}, time.Minute+10*longest, func(r *trace.Record) bool {
		if r.Kind == trace.ProbeExecuted && r.Container == s.Container && r.Probe == decides {
			to = request(r).Offset()
			if from == 0 {
				from = to
			}
		}
		return s.stopped(0)(r)
	})
	if err == nil { // the program must be up before the run that stops the container
		verdict, err := h.verdict()
		if err != nil {
			return sample{}, err
		}
		to = min(to, request(verdict).Offset())
	}
	if err != nil && !errors.Is(err, errNothing) || to <= from {
		return sample{}, errSkip
	}
	return s.upAt(c, d.duration(from, to-1))
}

func showCase(c Case) string {
	out := fmt.Sprintf("uptime %v wall %v init %v sj %.3f %.3f event %v", c.Uptime, c.Wall, c.InitRuns, c.StartJitter, c.SyncJitter, c.Event)
	for _, span := range spans {
		if d := *span.of(&c.Delays); d != nil {
			out += fmt.Sprintf(" %s %v-%v", span.name, d.Min, d.Max)
		}
	}
	if c.Seed != nil {
		out += fmt.Sprintf(" seed %d", *c.Seed)
	}
	for _, r := range c.Rules {
		out += fmt.Sprintf(" %+v", r)
	}
	return out
}
