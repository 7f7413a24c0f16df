package random

import (
	"slices"
	"time"
)

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

// ends are the ways in which a regular init container exits, except the default: with code 0 after
// a second.
var ends = []weighted[func(*program)]{
	{35, (*program).succeedsAfter},
	{35, (*program).succeedsAtLast},
	{15, (*program).crashesOnce},
	{15, (*program).crashesAlways},
}

func (b *program) succeedsAfter() {
	b.add("after", b.after(10*time.Millisecond, 40*time.Second), "exit", 0)
}

// succeedsAtLast makes some instances fail before one succeeds.
func (b *program) succeedsAtLast() {
	failing := literal(one(&b.rng, "0", "..1", "..2", "..3"))
	b.add("instance", failing, "after", b.after(10*time.Millisecond, 10*time.Second), "exit", one(&b.rng, 1, 1, 2, 137))
}
