package random

import (
	"fmt"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"
)

// pod is a pod of the scenario.
type pod struct {
	name       string
	manifest   *yaml.Node
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
	spec    *yaml.Node // in the manifest
	pulls   bool       // the kubelet pulls the image at each start
	probes  []*probe
	hooks   []askingHook // hooks that run a command or send a request
	answers *yaml.Node   // the named answers in use

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
	p.manifest = g.podManifest(p)
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

// podManifest returns the manifest of a pod.
func (g *generator) podManifest(p *pod) *yaml.Node {
	n, metadata, spec := object(), inline(), object()
	put(n, "apiVersion", text("v1"))
	put(n, "kind", text("Pod"))
	put(metadata, "name", text(p.name))
	if g.percent(5) {
		put(metadata, "namespace", text("prod"))
	}
	g.putFinalizer(p, metadata)
	put(n, "metadata", metadata)
	put(n, "spec", spec)
	if policy := pick(&g.rng, restartPolicies); policy != "" {
		put(spec, "restartPolicy", text(policy))
	}
	if p.grace != defaultGrace || g.percent(5) {
		put(spec, "terminationGracePeriodSeconds", number(p.grace))
	}
	if g.percent(8) {
		put(spec, "priority", number(one(&g.rng, priorities...)))
	}
	g.putReadinessGate(p, spec)
	g.putDeadline(spec)
	g.putStopSignals(p, spec)
	p.putContainers(spec)
	if aside := g.aside(); aside.percent(15) {
		tmp := inline()
		put(tmp, "name", text("tmp"))
		put(tmp, "emptyDir", inline())
		put(spec, "volumes", list(tmp))
		if aside.percent(80) {
			mount := inline()
			put(mount, "name", text("tmp"))
			put(mount, "mountPath", text("/tmp"))
			put(p.containers[0].spec, "volumeMounts", list(mount))
		}
	}
	return n
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

// drawContainer draws a container with its image, environment and probes.
func (g *generator) drawContainer(name string, k kind) *container {
	c := &container{name: name, kind: k, spec: object(), answers: list()}
	put(c.spec, "name", text(name))
	i := pick(&g.rng, images)
	c.pulls = i.pulls
	put(c.spec, "image", text(i.name))
	if i.policy != "" {
		put(c.spec, "imagePullPolicy", text(i.policy))
	}
	if g.percent(30) {
		put(c.spec, "env", g.env())
	}
	if k == sidecar {
		put(c.spec, "restartPolicy", text("Always"))
	}
	if k != initOnce {
		g.putProbes(c)
	}
	return c
}

// env returns environment variables. One of them can refer to another.
func (g *generator) env() *yaml.Node {
	variable := func(name, value string) *yaml.Node {
		n := inline()
		put(n, "name", text(name))
		put(n, "value", text(value))
		return n
	}
	env := list(variable("PORT", one(&g.rng, "8080", "1", "")), variable("DIR", "/var/run/app"))
	if g.percent(50) {
		env.Content = append(env.Content, variable("FILE", "$(DIR)/up"))
	}
	return env
}

// podBehavior returns the entry of a pod in the Scenario.
func (g *generator) podBehavior(p *pod) *yaml.Node {
	n := object()
	put(n, "name", text(p.name))
	if p.at > 0 {
		put(n, "at", text(g.draw(p.at)))
	}
	g.putDelays(n, nodeDelays, slices.ContainsFunc(p.all(), func(c *container) bool { return c.pulls }))
	containers := list()
	for _, c := range p.all() {
		if entry := g.containerBehavior(p, c); len(entry.Content) > 2 {
			containers.Content = append(containers.Content, entry)
		}
	}
	if len(containers.Content) > 0 {
		put(n, "containers", containers)
	}
	return n
}
