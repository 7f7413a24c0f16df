package bounds

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// Nodes are the nodes over which a bound is taken.
type Nodes struct {
	// Delays are the ranges of the latencies of the nodes. A nil field is the default of its delay.
	Delays fakeruntime.Delays
	// Middle takes only one node, in the middle of the delays. A bound is then found with few runs, and lies within that over all
	// nodes.
	Middle bool
}

// Case is one node, and one program on it. The pod is added at t=0.
type Case struct {
	Uptime time.Duration      // age of the kubelet at t=0
	Wall   time.Duration      // how far the wall clock steps forward at t=0; below a second
	Delays fakeruntime.Delays // the latencies of the node; a range stands for its middle
	// InitRuns is how long the last init container before the container runs. It is 0 for the default of a second.
	InitRuns time.Duration
	// StartJitter is the delay of the first probe run on a young kubelet, as a fraction of the period.
	StartJitter float64
	// SyncJitter is the jitter of the time between two syncs of the pod, as a fraction of its maximum.
	SyncJitter float64
	// Event is the virtual time at which the misfortune begins. It is 0 if the misfortune begins with the instance.
	Event time.Duration
	// Rules are the program of the container. The last one is the misfortune, which lasts for ever.
	Rules []Rule
	// Instance is the instance that has the misfortune.
	Instance int
	// Seed replaces the jitters, and decides the order of events at one instant. Nil: the order is the canonical one.
	Seed *int64

	question *asked
	noted    *jitters // notes the jitters of a run
	// jitterSeed replaces the jitters too, but leaves the order of events to the case.
	jitterSeed *int64
	order      order // of events at one instant, unless there is a seed
	// sleeps replaces StartJitter for the workers of some types of probes.
	sleeps map[trace.Probe]float64
}

// delay is one of the delays that can change a bound.
type delay func(*fakeruntime.Delays) **fakeruntime.Draw

var (
	runPodSandbox   delay = func(d *fakeruntime.Delays) **fakeruntime.Draw { return &d.RunPodSandbox }
	imageStatus     delay = func(d *fakeruntime.Delays) **fakeruntime.Draw { return &d.ImageStatus }
	imagePull       delay = func(d *fakeruntime.Delays) **fakeruntime.Draw { return &d.ImagePull }
	createContainer delay = func(d *fakeruntime.Delays) **fakeruntime.Draw { return &d.CreateContainer }
	startContainer  delay = func(d *fakeruntime.Delays) **fakeruntime.Draw { return &d.StartContainer }
	stopContainer   delay = func(d *fakeruntime.Delays) **fakeruntime.Draw { return &d.StopContainer }
	stopPodSandbox  delay = func(d *fakeruntime.Delays) **fakeruntime.Draw { return &d.StopPodSandbox }
	stopReturn      delay = func(d *fakeruntime.Delays) **fakeruntime.Draw { return &d.StopReturn }
	apiGet          delay = func(d *fakeruntime.Delays) **fakeruntime.Draw { return &d.APIGet }
	apiPatch        delay = func(d *fakeruntime.Delays) **fakeruntime.Draw { return &d.APIPatch }

	listPodSandbox delay = func(d *fakeruntime.Delays) **fakeruntime.Draw { return &d.ListPodSandbox }
	listContainers delay = func(d *fakeruntime.Delays) **fakeruntime.Draw { return &d.ListContainers }

	podSandboxStatus delay = func(d *fakeruntime.Delays) **fakeruntime.Draw { return &d.PodSandboxStatus }
	containerStatus  delay = func(d *fakeruntime.Delays) **fakeruntime.Draw { return &d.ContainerStatus }

	// looks are the delays of the kubelet's looks at the runtime.
	looks = []delay{listPodSandbox, listContainers, podSandboxStatus, containerStatus}
)

// answerDelay is the delay of the answers to a probe.
func answerDelay(p *v1.Probe) delay {
	return func(d *fakeruntime.Delays) **fakeruntime.Draw {
		switch {
		case p.Exec != nil:
			return &d.Exec
		case p.TCPSocket != nil:
			return &d.TCPSocket
		case p.GRPC != nil:
			return &d.GRPC
		}
		return &d.HTTPGet
	}
}

// dim is a dimension in which cases differ.
type dim struct {
	from, to time.Duration
	get      func(*Case) time.Duration // the value of a case in which set has set it, or close to it
	set      func(*Case, time.Duration)
	jumps    bool        // the function jumps along the dimension, and is not the least or the greatest at its ends only
	ticks    bool        // a greater value moves the ticks of the probes instead of the start
	relisted bool        // a relist leads to the start, so that an older kubelet moves it too
	probe    trace.Probe // whose ticks alone a dimension with ticks moves; empty: those of all
	exit     bool        // the dimension moves the exit of the instance before, and a relist that finds the exit leads to the start
}

// dims returns the dimensions of some delays that the nodes have as ranges.
func (n Nodes) dims(list ...delay) []dim {
	var dims []dim
	for _, of := range list {
		r := n.draw(of)
		if r.Min == r.Max {
			continue
		}
		dims = append(dims, dim{
			from: r.Min, to: r.Max,
			get: func(c *Case) time.Duration { d := *of(&c.Delays); return d.Min + (d.Max-d.Min)/2 },
			set: func(c *Case, x time.Duration) { *of(&c.Delays) = &fakeruntime.Draw{Min: x, Max: x} },
		})
	}
	return dims
}

// only returns no dimensions for one node.
func (n Nodes) only(dims []dim) []dim {
	if n.Middle {
		return nil
	}
	return dims
}

// total returns the dimension of the sum of some delays, up to a width. A greater delay begins with the first of them.
func (n Nodes) total(width time.Duration, list ...delay) dim {
	ranges := make([]fakeruntime.Draw, len(list))
	d := dim{get: func(c *Case) time.Duration {
		var sum time.Duration
		for i, of := range list {
			d := ranges[i]
			if own := *of(&c.Delays); own != nil {
				d = *own
			}
			sum += d.Min + (d.Max-d.Min)/2
		}
		return sum
	}}
	for i, of := range list {
		r := n.draw(of)
		ranges[i] = r
		d.from, d.to = d.from+r.Min, d.to+r.Max
	}
	d.to = min(d.to, d.from+width)
	d.set = func(c *Case, x time.Duration) {
		x -= d.from
		for i, of := range list {
			more := min(x, ranges[i].Max-ranges[i].Min)
			x -= more
			at := ranges[i].Min + more
			*of(&c.Delays) = &fakeruntime.Draw{Min: at, Max: at}
		}
	}
	return d
}

// begins returns the dimension of the time until the first start of the container, over which the start meets each tick of the probes that
// decide. If the sync that starts the container is to end late, the last delays last as long as they can, or those that also come after the start. An
// init container can run for any time.
func (n Nodes) begins(s *Subject, c *Case, latest bool) dim {
	if s.init() != "" {
		return dim{
			from: initRuns, to: initRuns + s.ticksRepeat(c),
			get: func(c *Case) time.Duration { return max(c.InitRuns, initRuns) },
			set: func(c *Case, x time.Duration) { c.InitRuns = x },
		}
	}
	width, list := s.ticksRepeat(c), s.firstStart()
	if !latest {
		return n.total(width, list...)
	}
	slices.Reverse(list)
	if !s.comesAfter(list[0]) {
		return n.total(width, list...)
	}
	d := n.total(horizon, list...)
	d.from = max(d.from, d.to-width)
	return d
}

// phases returns the dimension up to a width, over which a function jumps.
func (d dim) phases(width time.Duration) dim {
	d.to, d.jumps = min(d.to, d.from+width), true
	return d
}

// relisting returns the dimension that moves the first start of the container against the relists. A relist finds the exit of an init
// container, so only what follows moves the start.
func (n Nodes) relisting(s *Subject, c *Case) dim {
	if s.init() != "" {
		return n.total(s.ticksRepeat(c)+time.Second, s.starts()...)
	}
	return uptimes(c)
}

// and returns the dimension of the sum of d and a later one. A greater sum begins with d.
func (d dim) and(later dim) dim {
	width := d.to - d.from
	return dim{
		from: d.from + later.from, to: d.to + later.to,
		get: func(c *Case) time.Duration { return d.get(c) + later.get(c) },
		set: func(c *Case, x time.Duration) {
			x -= d.from + later.from
			first := min(x, width)
			d.set(c, d.from+first)
			later.set(c, later.from+x-first)
		},
	}
}

// relistPeriod is the time from one relist to the next on a node without pods: a relist begins 1 s after the end of the last one
// (genericPlegRelistPeriod in pkg/kubelet/kubelet.go at v1.37.0).
func (c *Case) relistPeriod() time.Duration {
	return time.Second + c.lists()
}

// uptimes returns the dimension of the kubelet's age, over one period of the relists.
func uptimes(c *Case) dim {
	period := c.relistPeriod()
	return dim{
		from: c.Uptime, to: c.Uptime + period,
		get: func(c *Case) time.Duration { return c.Uptime },
		set: func(c *Case, x time.Duration) { c.Uptime = x },
	}
}

// aligned returns the dimension with another effect: what it moves keeps its place in the phase of the relists, since the kubelet's
// age changes in the opposite direction. The age stays above the given one, within one period of the relists.
func (d dim) aligned(age time.Duration) dim {
	set := d.set
	d.set = func(c *Case, x time.Duration) {
		before := c.Uptime
		c.Uptime = age + modulo(before-(x-d.get(c))-age, c.relistPeriod())
		if d.relisted {
			x += c.Uptime - before
		}
		set(c, x)
	}
	return d
}

// after returns the dimension with another effect: the exit of the instance before stays where it is, although the start of that instance
// moves too.
func (d dim) after(exit dim) dim {
	set := d.set
	d.set = func(c *Case, x time.Duration) {
		by := x - d.get(c)
		set(c, x)
		exit.set(c, max(exit.get(c)-by, exit.from))
	}
	return d
}

// onSecond returns the dimension with another effect: what it moves keeps its place in the second of the wall clock.
func (d dim) onSecond() dim {
	set := d.set
	d.set = func(c *Case, x time.Duration) {
		own, age := d.get(c), c.Uptime
		set(c, x)
		by := d.get(c) - own
		if !d.relisted {
			by += c.Uptime - age
		}
		c.Wall = modulo(c.Wall-by, time.Second)
	}
	return d
}

// inSecond is onSecond for a dimension that moves either the start or the kubelet's age.
func (d dim) inSecond() dim {
	set := d.set
	d.set = func(c *Case, x time.Duration) {
		by := x - d.get(c)
		set(c, x)
		c.Wall = modulo(c.Wall-by, time.Second)
	}
	return d
}

// wall returns the time since the wall clock has shown a whole second.
func (c *Case) wall(t virtual.Time) time.Duration {
	return modulo(c.Uptime+t.Offset()+c.Wall, time.Second)
}

// modulo returns the remainder of a division, which is at least 0.
func modulo(a, b time.Duration) time.Duration { return (a%b + b) % b }

// startJitters returns the dimension of the jitter of a young kubelet, for a probe with a period.
func startJitters(period time.Duration) dim {
	return dim{
		to: period - 1, ticks: true,
		get: func(c *Case) time.Duration { return time.Duration(c.StartJitter * float64(period)) },
		set: func(c *Case, x time.Duration) { c.StartJitter = float64(x) / float64(period) },
	}
}

// shift moves the event.
func (c *Case) shift(by time.Duration) {
	c.Event += by
	for i := range c.Rules {
		switch r := &c.Rules[i]; {
		case r.Clock != fakeruntime.AtScenario:
		case r.From > 0:
			r.From += by
		default:
			r.For += by
		}
	}
}

// in returns the case with another value in a dimension.
func (c Case) in(d dim, x time.Duration) Case {
	c = c.clone()
	d.set(&c, x)
	return c
}

// steps returns the case, and those that differ from it by a multiple of a period in a dimension.
func (c Case) steps(d dim, period time.Duration) []Case {
	list := []Case{c}
	own := d.get(&c)
	for x := d.from + modulo(own-d.from, period); x <= d.to; x += period {
		if x != own {
			list = append(list, c.in(d, x))
		}
	}
	return list
}

// corner returns the case at the same end of some dimensions.
func (c Case) corner(greatest bool, dims []dim) Case {
	for _, d := range dims {
		if greatest {
			c = c.in(d, d.to)
		} else {
			c = c.in(d, d.from)
		}
	}
	return c
}
