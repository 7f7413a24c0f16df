package random

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// pod is a pod of the scenario.
type pod struct {
	name       string
	manifest   tree
	spec       tree          // in the manifest
	at         time.Duration // when the pod is added
	grace      int           // terminationGracePeriodSeconds
	gated      bool          // the pod has a readiness gate
	kept       bool          // the pod has a finalizer
	signals    bool          // some containers have their own stop signal
	init       []*container
	containers []*container
}

// container is a container of a pod.
type container struct {
	name    string
	kind    kind
	spec    tree // in the manifest
	pulls   bool // the kubelet pulls the image at each start
	probes  []*probe
	hooks   []askingHook // hooks that run a command or send a request
	answers []tree       // the named answers in use

	restartsAll bool // it has a rule that restarts all containers, which some releases reject
	http2       bool // it has a probe or hook with HTTP/2 without TLS
}

var (
	podNames       = []string{"web", "api", "db"}
	containerNames = []string{"app", "proxy", "cache", "log"}
)

// podCounts and containerCounts are the numbers of pods and containers.
var (
	podCounts       = []weighted[int]{{70, 1}, {20, 2}, {10, 3}}
	containerCounts = []weighted[int]{{60, 1}, {25, 2}, {10, 3}, {5, 4}}
)

// restartPolicies are the restart policies of pods. Empty means the default, Always.
var restartPolicies = []weighted[string]{{60, ""}, {4, "Always"}, {18, "OnFailure"}, {18, "Never"}}

const defaultGrace = 30 // the default terminationGracePeriodSeconds

// graces are the termination grace periods of pods, in seconds.
var graces = []weighted[span]{
	{50, span{defaultGrace, defaultGrace}},
	{5, span{0, 0}},
	{20, span{1, 5}},
	{17, span{6, 60}},
	{8, span{500, 500}},
}

// drawPods draws the pods of the scenario, with their containers and manifests.
func (g *generator) drawPods() []*pod {
	var pods []*pod
	for i := range g.podCount() {
		p := &pod{name: podName(i), grace: g.number(graces), at: g.podTime(pods)}
		g.fillPod(p, pick(&g.rng, containerCounts))
		pods = append(pods, p)
	}
	return pods
}

// fillPod draws the containers and the manifest of a pod.
func (g *generator) fillPod(p *pod, containers int) {
	for j := range containers {
		p.containers = append(p.containers, g.drawContainer(containerNames[j], regular))
	}
	p.init = g.drawInitContainers()
	g.putHooks(p)
	g.putRestartPolicies(p)
	g.drawManifest(p)
}

func (g *generator) podCount() int {
	if g.options.Pods > 0 {
		return g.between(1, g.options.Pods)
	}
	return pick(&g.rng, podCounts)
}

func podName(i int) string {
	if i < len(podNames) {
		return podNames[i]
	}
	return fmt.Sprintf("%s-%d", podNames[i%len(podNames)], i/len(podNames))
}

// podTime returns the start of a pod: usually 0 for the first, and a separate time for each other
// pod.
func (g *generator) podTime(before []*pod) time.Duration {
	switch {
	case g.options.Pods > 0 && len(before) > 0 && g.percent(50):
		return before[len(before)-1].at
	case len(before) > 0:
		return g.odd(time.Millisecond, g.duration/2)
	case g.percent(60):
		return 0
	}
	return g.time(time.Millisecond, min(20*time.Second, g.duration/3))
}

// drawManifest draws the manifest of a pod.
func (g *generator) drawManifest(p *pod) {
	metadata := inline("name", p.name, "namespace", g.maybe(5, "prod"))
	if aside := (rng{g.state ^ 2}); aside.percent(6) {
		put(metadata, "finalizers", []string{"example.com/keep"})
		p.kept = true
	}
	spec := block()
	if policy := pick(&g.rng, restartPolicies); policy != "" {
		put(spec, "restartPolicy", policy)
	}
	if p.grace != defaultGrace || g.percent(5) {
		put(spec, "terminationGracePeriodSeconds", p.grace)
	}
	put(spec, "priority", g.maybe(8, func() any { return one(&g.rng, priorities...) }))
	g.putReadinessGate(p, spec)
	put(spec, "activeDeadlineSeconds", g.deadline())
	g.putStopSignals(p, spec)
	put(spec, "initContainers", specs(p.init), "containers", specs(p.containers))
	if aside := g.aside(); aside.percent(15) {
		add(spec, "volumes", inline("name", "tmp", "emptyDir", inline()))
		if aside.percent(80) {
			add(p.containers[0].spec, "volumeMounts", inline("name", "tmp", "mountPath", "/tmp"))
		}
	}
	p.spec, p.manifest = spec, block("apiVersion", "v1", "kind", "Pod", "metadata", metadata, "spec", spec)
}

// image is an image with its pull policy. An empty policy means the default, which depends on the
// tag.
type image struct {
	name, policy string
	pulls        bool
}

var images = []weighted[image]{
	{84, image{"app:1", "", false}},
	{4, image{"app", "", true}},
	{8, image{"app:1", "Always", true}},
	{4, image{"app:latest", "IfNotPresent", false}},
}

// containerNamed draws a container with its image, without more.
func (g *generator) containerNamed(name string, k kind, spec tree) *container {
	i := pick(&g.rng, images)
	put(spec, "name", name, "image", i.name)
	if i.policy != "" {
		put(spec, "imagePullPolicy", i.policy)
	}
	return &container{name: name, kind: k, spec: spec, pulls: i.pulls}
}

// drawContainer draws a container with its image, environment and probes.
func (g *generator) drawContainer(name string, k kind) *container {
	c := g.containerNamed(name, k, block())
	if g.percent(30) {
		add(c.spec, "env", inline("name", "PORT", "value", one(&g.rng, "8080", "1", "")),
			inline("name", "DIR", "value", "/var/run/app"))
		if g.percent(50) {
			add(c.spec, "env", inline("name", "FILE", "value", "$(DIR)/up"))
		}
	}
	if k == sidecar {
		put(c.spec, "restartPolicy", "Always")
	}
	if k != initOnce {
		for _, key := range strings.Fields(pick(&g.rng, combinations)) {
			put(c.spec, key+"Probe", g.probe(c, key))
		}
	}
	return c
}

// podBehavior returns the entry of a pod in the Scenario.
func (g *generator) podBehavior(p *pod) tree {
	n := block("name", p.name)
	if p.at > 0 {
		put(n, "at", g.draw(p.at))
	}
	put(n, "delays", g.delays(nodeDelays, slices.ContainsFunc(p.all(), func(c *container) bool { return c.pulls })))
	for _, c := range p.all() {
		if entry := g.containerBehavior(p, c); has(entry, "delays") || has(entry, "answers") || has(entry, "behavior") {
			add(n, "containers", entry)
		}
	}
	return n
}

// kind is the kind of a container.
type kind int

const (
	regular kind = iota
	initOnce
	sidecar
)

var initNames = []string{"migrate", "mesh", "warm"}

// initKinds are the kinds of the init containers of a pod, in order. Most pods have none.
var initKinds = []weighted[[]kind]{
	{60, nil}, {8, []kind{initOnce}}, {10, []kind{sidecar}},
	{4, []kind{initOnce, initOnce}}, {5, []kind{initOnce, sidecar}}, {5, []kind{sidecar, initOnce}},
	{4, []kind{sidecar, sidecar}},
	{4, []kind{sidecar, initOnce, sidecar}},
}

func (g *generator) drawInitContainers() []*container {
	var list []*container
	for i, k := range pick(&g.rng, initKinds) {
		list = append(list, g.drawContainer(initNames[i], k))
	}
	return list
}

// specs returns the manifests of containers.
func specs(containers []*container) []tree {
	var all []tree
	for _, c := range containers {
		all = append(all, c.spec)
	}
	return all
}

// all returns the containers of the pod, init containers first.
func (p *pod) all() []*container { return slices.Concat(p.init, p.containers) }
