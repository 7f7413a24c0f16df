package fakeruntime

import (
	"cmp"
	"slices"
)

// view has the cached results of the list calls of one kind, which are valid until something
// changes: of all objects, and of those that are ready or run.
type view[T any] struct{ all, active []T }

// get returns a cached result, or builds it. It is never nil.
func (v *view[T]) get(active bool, build func() []T) []T {
	list := &v.all
	if active {
		list = &v.active
	}
	if *list == nil {
		*list = build()
	}
	return *list
}

// views contains the sandboxes and containers of all pods or of one, with the cached results of
// list calls.
type views struct {
	sandboxes      []*sandbox // in order of creation
	containers     []*container
	sandboxLists   view[Sandbox]
	containerLists view[Container]
}

// changed invalidates the cached results.
func (v *views) changed() { v.sandboxLists, v.containerLists = view[Sandbox]{}, view[Container]{} }

func (v *views) listSandboxes(ready bool) []Sandbox {
	return v.sandboxLists.get(ready, func() []Sandbox {
		sorted := slices.Clone(v.sandboxes)
		slices.SortFunc(sorted, func(a, b *sandbox) int {
			return cmp.Or(cmp.Compare(b.created, a.created), cmp.Compare(a.ID, b.ID))
		})
		items := make([]Sandbox, 0, len(sorted))
		for _, s := range sorted {
			if s.Ready || !ready {
				items = append(items, s.Sandbox)
			}
		}
		return items
	})
}

func (v *views) listContainers(running bool) []Container {
	return v.containerLists.get(running, func() []Container {
		items := make([]Container, 0, len(v.containers))
		for _, c := range slices.Backward(v.containers) {
			if c.State == Running || !running {
				items = append(items, c.Container)
			}
		}
		slices.SortFunc(items, func(a, b Container) int {
			return cmp.Or(cmp.Compare(b.CreatedAt, a.CreatedAt), cmp.Compare(a.ID, b.ID))
		})
		return items
	})
}

// without returns a list without an item. It modifies the list.
func without[T comparable](list []T, item T) []T {
	if i := slices.Index(list, item); i >= 0 {
		return slices.Delete(list, i, i+1)
	}
	return list
}

// readChanged answers a list call with OnlyChanged. The pods are in the order of their first change
// after Since.
func (r *Runtime) readChanged(op *Op) {
	c := &op.Call
	if c.AndOthers && c.Method == ListPodSandbox {
		op.Sandboxes = r.all.listSandboxes(c.Ready)
	} else if c.AndOthers {
		op.Containers = r.all.listContainers(c.Running)
	}
	if c.Since >= r.generation {
		return
	}
	seen := map[*pod]bool{}
	for _, p := range r.changes[c.Since:] {
		if seen[p] {
			continue
		}
		seen[p] = true
		op.Changed = append(op.Changed, p.UID)
		switch {
		case c.AndOthers:
		case c.Method == ListPodSandbox:
			op.Sandboxes = append(op.Sandboxes, p.views.listSandboxes(c.Ready)...)
		default:
			op.Containers = append(op.Containers, p.views.listContainers(c.Running)...)
		}
	}
}
