package random

import (
	"time"

	"go.yaml.in/yaml/v3"
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
	{60, nil},
	{8, []kind{initOnce}},
	{10, []kind{sidecar}},
	{4, []kind{initOnce, initOnce}},
	{5, []kind{initOnce, sidecar}},
	{5, []kind{sidecar, initOnce}},
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

// putContainers adds the containers of the pod to its spec.
func (p *pod) putContainers(spec *yaml.Node) {
	for _, l := range []struct {
		name       string
		containers []*container
	}{{"initContainers", p.init}, {"containers", p.containers}} {
		if len(l.containers) == 0 {
			continue
		}
		n := list()
		for _, c := range l.containers {
			n.Content = append(n.Content, c.spec)
		}
		put(spec, l.name, n)
	}
}

// all returns the containers of the pod, init containers first.
func (p *pod) all() []*container { return append(append([]*container{}, p.init...), p.containers...) }

// ends are the ways in which a regular init container exits, except the default: with code 0 after
// a second.
var ends = []weighted[func(*program)]{
	{35, (*program).succeedsAfter},
	{35, (*program).succeedsAtLast},
	{15, (*program).crashesOnce},
	{15, (*program).crashesAlways},
}

func (b *program) succeedsAfter() {
	r := inline()
	b.after(r, 10*time.Millisecond, 40*time.Second)
	b.exit(r, 0)
}

// succeedsAtLast makes some instances fail before one succeeds.
func (b *program) succeedsAtLast() {
	r := inline()
	put(r, "instance", literal(one(&b.rng, "0", "..1", "..2", "..3")))
	b.after(r, 10*time.Millisecond, 10*time.Second)
	b.exit(r, one(&b.rng, 1, 1, 2, 137))
}
