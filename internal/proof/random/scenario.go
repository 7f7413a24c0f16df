package random

import (
	"fmt"
	"slices"
	"time"

	"probesim.dev/scenarios/format"
)

// Options configure the scenarios. With the zero value, scenarios have no seeds, so their runs make
// no random draws.
type Options struct {
	// Seeds is the number of seeds of a scenario. With seeds, some of its times are ranges and some
	// of its rules have a chance. 0 means no seeds.
	Seeds int
	// StepClock adds one to three steps of the wall clock. The rest of the scenario stays the same.
	StepClock bool
	// Short makes the runs last a minute or less most of the time, and the kubelet young, so that
	// many more scenarios can be simulated in the same time.
	Short bool
	// Pods is the maximum number of pods. About half of the pods after the first come together with
	// the pod before them. 0 means a few pods.
	Pods int
	// Late adds features that the format has had for a shorter time to some scenarios, such as
	// static pods, resizes and replicas, and makes some runs last up to an hour. The rest of the
	// scenario stays the same.
	Late bool
	// Rollouts makes another scenario, with a control plane: Deployments behind Services, which are
	// rolled out and scaled. The options above have no effect on it.
	Rollouts bool
	// WithInitResizes adds resizes of init containers that are not sidecars to those of Late. API
	// servers before v1.36 reject them.
	WithInitResizes bool
	// WithoutResizes leaves out the resizes of Late, which are not simulated in some releases.
	WithoutResizes bool
	// WithoutRestartAll leaves out restart rules with the action RestartAllContainers, and all
	// rules of sidecars. The API server rejects them in releases with the feature gate
	// ContainerRestartRules but not RestartAllContainersOnContainerExits.
	WithoutRestartAll bool
	// WithProbeChanges makes the scenario one of v1.38-preview with the gate
	// MutableContainerProbes, and adds steps that change probes of running pods. The rest of the
	// scenario stays the same.
	WithProbeChanges bool
}

// Scenario returns the scenario file of a seed, with zero Options.
func Scenario(seed uint64) []byte { return Options{}.Scenario(seed) }

// Scenario returns the scenario file of a seed: the manifests of its pods and one Scenario named
// random-SEED.
func (o Options) Scenario(seed uint64) []byte {
	g := &generator{rng: rng{seed}, options: o}
	g.temper = drawTemper(&g.rng)
	if o.Rollouts {
		return file(seed, g.rolloutFile(seed))
	}
	g.duration = g.runDuration()
	g.pods = g.drawPods()
	scenario := scenarioOf(seed, g.spec())
	var documents []tree
	for _, p := range slices.Concat(g.pods, g.crowd) {
		documents = append(documents, p.manifest)
	}
	return file(seed, append(documents, scenario))
}

// file returns the text of the file of a seed.
func file(seed uint64, documents []tree) []byte {
	documents[0].HeadComment = fmt.Sprintf("Random scenario %d.", seed)
	return write(documents)
}

// scenarioOf returns the Scenario of a seed.
func scenarioOf(seed uint64, spec tree) tree {
	return object(format.APIVersion, "Scenario", fmt.Sprintf("random-%d", seed), spec)
}

// object returns an object of Kubernetes, or a Scenario.
func object(apiVersion, kind, name string, spec tree) tree {
	return block("apiVersion", apiVersion, "kind", kind, "metadata", inline("name", name), "spec", spec)
}

// generator generates one scenario.
type generator struct {
	rng
	options  Options
	temper   temper
	duration time.Duration
	pods     []*pod
	crowd    []*pod // at most one more pod, with replicas
	listens  bool   // the kubelet handles a shutdown of its node
	images   int    // images of rollouts
}

// aside returns a generator with a separate stream of numbers. Features added to the format later
// use it, to keep all other draws of a seed unchanged.
func (g *generator) aside() *generator {
	other := *g
	other.state = ^g.state
	return &other
}

// temper has the shares of troublesome features in a scenario, in percent.
type temper struct {
	crashes   int // of the containers exit by themselves
	bad       int // of the containers have traits that fail probes
	deletions int // of the pods are deleted
	hooks     int // of the containers have lifecycle hooks
	policies  int // of the containers have their own restart policy
	odd       int // of the values that can be unusual are unusual
}

func drawTemper(r *rng) temper {
	return temper{
		crashes:   one(r, 0, 10, 30, 60),
		bad:       one(r, 20, 60, 90, 100),
		deletions: one(r, 0, 20, 50, 100),
		odd:       one(r, 2, 5, 10, 25),
		hooks:     one(r, 0, 0, 10, 60),
		policies:  one(r, 0, 0, 10, 60),
	}
}

// durations are the durations of scenarios, in seconds.
var durations = []weighted[span]{
	{30, span{60, 180}}, {35, span{180, 360}},
	{20, span{360, 600}}, {15, span{600, 1200}},
}

// shortDurations are the durations of short scenarios, in seconds.
var shortDurations = []weighted[span]{{75, span{6, 14}}, {20, span{15, 40}}, {5, span{41, 120}}}

func (g *generator) runDuration() time.Duration {
	if g.options.Short {
		return time.Duration(g.number(shortDurations)) * time.Second
	}
	seconds := g.number(durations)
	if g.percent(60) {
		seconds = seconds / 60 * 60
	}
	return time.Duration(seconds) * time.Second
}

// spec returns the spec of the scenario.
func (g *generator) spec() tree {
	spec := block("duration", g.duration)
	if g.options.Seeds > 0 {
		put(spec, "seeds", fmt.Sprintf("1..%d", g.options.Seeds))
	}
	put(spec, "kubelet", filled(g.kubelet()), "delays", g.delays(nodeDelays, false))
	var pods []tree
	for _, p := range g.pods {
		pods = append(pods, g.podBehavior(p))
	}
	put(spec, "pods", pods, "steps", g.steps())
	if g.options.Late {
		g.addLateFeatures(spec)
		g.addMore(spec)
	}
	if g.options.WithProbeChanges {
		g.changeProbes(spec)
	}
	return spec
}
