// Package proof holds verdicts against the truth: it simulates pods in trouble, writes what a
// cluster has of them as kubectl does, cuts the texts as people do, and compares the verdict on
// each text with the records of the run. It has only tests.
package proof

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/long"
	"probesim.dev/internal/podutil"
	"probesim.dev/internal/proof/random"
	"probesim.dev/internal/scenarios/simulate"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/library"
	"probesim.dev/scenarios/plan"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

var (
	runs = flag.Int("runs", long.Sample(60, 2000), "the number of runs of TestProof")
	from = flag.Int("first", 1, "the first seed")
	show = flag.Int("show", 5, "the number of wrong verdicts to print in full")
	only = flag.String("scenarios", "", "only write the scenario files of the runs that are neither random nor of "+
		"the library to this directory")
	wrong = flag.String("wrong", "", "write the wrong verdicts by kind, with a smallest text of each, to this file")
)

// cut is a way in which people cut texts.
type cut struct {
	name    string
	without []part
}

var cuts = []cut{
	{"whole", nil}, {"no Killing", []part{killings}}, {"no settings", []part{settings}},
	{"status only", []part{events}}, {"events only", []part{status}},
}

// text is what a person pastes.
type text struct {
	seed       uint64
	cut, shape string
	release    release
	variant    string
	data       string
}

func (x *text) String() string {
	s := fmt.Sprintf("seed %d, %s, %s of v1.%d", x.seed, x.cut, x.shape, x.release.minor)
	if x.variant != "" {
		s += ", " + x.variant
	}
	return s
}

// ran is a simulated run.
type ran struct {
	pods    []*v1.Pod
	records []trace.Record
	end     virtual.Time
}

func newRan(t *testing.T, p *plan.Plan, records []trace.Record, end virtual.Time) *ran {
	t.Helper()
	admitted, err := p.AdmittedPods()
	if err != nil {
		t.Fatal(err)
	}
	x := &ran{records: records, end: end}
	for _, pod := range admitted {
		x.pods = append(x.pods, pod.Pod)
	}
	return x
}

// TestProof compares verdicts with runs. No certain verdict may be wrong.
func TestProof(t *testing.T) {
	known := libraryPlans(t)
	r := &result{}
	for seed := uint64(*from); seed < uint64(*from+*runs); seed++ {
		g := &rng{seed * 7919}
		var p *plan.Plan
		switch g.below(10) {
		case 0:
			p = load(t, random.Scenario(seed))
		case 1:
			p = one(g, known...)
		default:
			text := (&trouble{rng: rng{seed}}).scenario()
			if *only != "" {
				keep(t, filepath.Join(*only, fmt.Sprintf("trouble-%d.yaml", seed)), text)
			}
			p = load(t, text)
		}
		if *only != "" {
			continue
		}
		run := simulate.Run(context.Background(), p, simulate.Options{})
		if run.Err != nil {
			t.Fatalf("seed %d: %v", seed, run.Err)
		}
		r.prove(newRan(t, p, run.Records, run.End), seed, g)
	}
	if *only == "" {
		r.report(t)
	}
}

// TestTraces does the same with recorded traces, such as those of the real kubelet: for each
// NAME.yaml in the directory of the variable PROBESIM_TRACES, NAME.jsonl has the trace of its only
// run. conformance/README.md says how to write them.
func TestTraces(t *testing.T) {
	dir := os.Getenv("PROBESIM_TRACES")
	if dir == "" {
		t.Skip("PROBESIM_TRACES is not set")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no traces in %s: %v", dir, err)
	}
	r := &result{}
	for i, name := range files {
		scenario, err := os.ReadFile(strings.TrimSuffix(name, ".jsonl") + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		records, err := trace.ReadAll(f)
		f.Close()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !slices.IsSortedFunc(records, func(a, b trace.Record) int { return cmp.Compare(a.T, b.T) }) {
			t.Fatalf("%s has several runs", name)
		}
		p := load(t, scenario)
		r.prove(newRan(t, p, records, virtual.At(p.Duration)), uint64(i), &rng{uint64(i) * 7919})
	}
	r.report(t)
}

func load(t *testing.T, data []byte) *plan.Plan {
	t.Helper()
	loaded, err := scenarios.LoadBytes("scenario.yaml", data, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	return loaded[0].Plans()[0]
}

func libraryPlans(t *testing.T) (plans []*plan.Plan) {
	t.Helper()
	all, err := library.Scenarios()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if s.Parts() <= 40 {
			plans = append(plans, s.Plans()[0])
		}
	}
	return plans
}

// prove judges the texts of a run at one time.
func (r *result) prove(x *ran, seed uint64, g *rng) {
	at := x.moment(g)
	v := one(g, newest, one(g, releases...))
	for _, pod := range x.pods {
		if v.minor < 24 && !old(&pod.Spec, v) {
			v = newest
		}
	}
	c := record(x.pods, x.records, at, v)
	if len(c.pods) == 0 {
		return
	}
	var all, left []podTruth
	for _, pod := range c.added {
		p := podTruth{pod, truths(pod, x.records, at)}
		if all = append(all, p); slices.Contains(c.pods, pod) {
			left = append(left, p)
		}
	}
	// people describe the worst
	pod := slices.MaxFunc(left, func(a, b podTruth) int { return cmp.Compare(a.trouble(), b.trouble()) }).Pod
	for _, cut := range cuts {
		shape, write := c.shape(pod, cut, v, g)
		r.judgeAll(text{seed, cut.name, shape, v, "", write(false)}, write(true), all, pod)
	}
}

// judgeAll judges a text, as it was, with its spaces collapsed, and without headers: the verdicts
// must be the same.
func (r *result) judgeAll(x text, headless string, all []podTruth, described *v1.Pod) {
	verdict := r.judge(x, all, described)
	if x.shape == "objects as YAML" { // without its indentation, it is something else
		return
	}
	whole := x.data
	for _, variant := range []struct {
		name, data string
	}{{"collapsed", spaces.ReplaceAllString(whole, " ")}, {"without headers", headless}} {
		if variant.data == whole {
			continue
		}
		x.variant, x.data = variant.name, variant.data
		if r.judge(x, all, described) != verdict {
			r.mistake(x, differs, "a text "+x.variant+", "+x.cut, "otherwise "+verdict)
		}
	}
}

// old reports whether a pod can exist in an old release.
func old(spec *v1.PodSpec, v release) bool {
	for c := range podutil.Containers(spec) {
		if c.StartupProbe != nil && v.minor < startupProbes || podutil.IsRestartableInitContainer(c) ||
			len(spec.InitContainers) > 0 && v.minor < 8 {
			return false
		}
		for _, p := range []*v1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
			if p != nil && (p.GRPC != nil || p.TerminationGracePeriodSeconds != nil) {
				return false
			}
		}
	}
	return true
}

// podTruth is the truth about the containers of a pod.
type podTruth struct {
	*v1.Pod
	containers []*truth
}

// trouble returns how great the trouble of a pod is.
func (p podTruth) trouble() (n int) {
	for _, t := range p.containers {
		n += 100 * len(t.ends)
		if t.troubled() {
			n++
		}
	}
	return n
}

// moment returns when a person looks: at any time, or soon after something has happened.
func (x *ran) moment(g *rng) virtual.Time {
	if g.percent(35) {
		var times []virtual.Time
		for i := range x.records {
			if r := &x.records[i]; r.T > 0 && (r.Kind == trace.ContainerExited || r.Kind == trace.ContainerStopping ||
				r.Kind == trace.Event && r.Type == v1.EventTypeWarning) {
				times = append(times, r.T)
			}
		}
		if len(times) > 0 {
			return min(x.end, one(g, times...)+virtual.Time(g.between(50*time.Millisecond, 20*time.Second)))
		}
	}
	return virtual.Time(g.between(time.Duration(x.end)/5, time.Duration(x.end)))
}

// shape returns one of the shapes in which people paste a cut: its name, and how to write it, with
// or without headers.
func (c *cluster) shape(pod *v1.Pod, cut cut, v release, g *rng) (name string, write func(headless bool) string) {
	p := &printer{c, v, map[part]bool{}}
	for _, w := range cut.without {
		p.without[w] = true
	}
	type shape struct {
		name  string
		write func() string
	}
	describe := shape{"describe", func() string { return p.describe(pod) }}
	objects := shape{"objects", p.objects}
	if g.percent(40) {
		objects = shape{"objects as YAML", p.yaml}
	}
	pods := shape{"get pods", func() string { return p.getPods(false) }}
	list := shape{"get events", func() string { return p.getEvents(false) }}
	switch {
	case v.minor >= 14 && g.percent(25):
		list = shape{"get events -o wide", func() string { return p.getEvents(true) }}
	case v.minor >= 23 && g.percent(20):
		list = shape{"events", func() string { return p.kubectlEvents(false) }}
	case v.minor >= 23 && g.percent(25):
		list = shape{"events --watch", func() string { return p.kubectlEvents(true) }}
	}
	both := shape{"get pods and " + list.name, func() string { return pods.write() + "\n" + list.write() }}
	shapes := []shape{describe, describe, describe, describe}
	switch cut.name {
	case "whole":
		shapes = append(shapes, objects, both)
	case "no Killing":
		shapes = append(shapes, both)
	case "status only":
		shapes = append(shapes, objects, pods, shape{"get pods -w", func() string { return p.getPods(true) }})
	case "events only":
		shapes = append(shapes, list, list, list, objects)
	}
	s := one(g, shapes...)
	return s.name, func(headless bool) string {
		p.without[headers] = headless
		return s.write()
	}
}

// spaces are what a chat or a form collapses.
var spaces = regexp.MustCompile(`[ \t]+`)
