package compare

import (
	"maps"
	"slices"
	"strings"

	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/workloads"
)

// Evidence says why two things with different names or kinds are compared.
type Evidence string

const (
	ByName   Evidence = "name"   // a workload of another kind has the name
	ByImages Evidence = "images" // both have images that tell which one it was
	// LastLeft is the weakest: names and images differ, and there is no other one that it can be
	// compared with.
	LastLeft Evidence = "lastLeft"
)

// Pairing says why two workloads or two containers are compared although their names or kinds
// differ.
type Pairing struct {
	By     Evidence `json:"by"`
	Images []string `json:"images,omitempty"` // that both have, without tags and digests
}

// pairs are the pairs of workloads of two manifests, or of containers of two workloads.
type pairs[T comparable] struct {
	before, after []T            // that are in no pair
	was           map[T]T        // the one before by the one after
	why           map[T]*Pairing // by the one after; nil for the same one
}

// pairSame pairs all things that are the same.
func pairSame[T comparable](before, after []T, same func(a, b T) bool) *pairs[T] {
	p := &pairs[T]{before, after, map[T]T{}, map[T]*Pairing{}}
	for _, now := range after {
		if i := slices.IndexFunc(p.before, func(old T) bool { return same(old, now) }); i >= 0 {
			p.add(p.before[i], now, nil)
		}
	}
	return p
}

func (p *pairs[T]) add(old, now T, why *Pairing) {
	p.was[now], p.why[now] = old, why
	p.before = slices.DeleteFunc(slices.Clone(p.before), func(x T) bool { return x == old })
	p.after = slices.DeleteFunc(slices.Clone(p.after), func(x T) bool { return x == now })
}

// equal pairs things that are left over and that have a key in common. Both must have it with no
// other one that is left over.
func (p *pairs[T]) equal(keys func(T) []string, why func(old, now T) *Pairing) {
	before, after := p.before, p.after
	alike := func(a, b T) bool { return len(common(keys(a), keys(b))) > 0 }
	for _, old := range before {
		fits := slices.DeleteFunc(slices.Clone(after), func(now T) bool { return !alike(old, now) })
		if len(fits) == 1 && !slices.ContainsFunc(before, func(o T) bool { return o != old && alike(o, fits[0]) }) {
			p.add(old, fits[0], why(old, fits[0]))
		}
	}
}

// common returns what two lists have in common.
func common(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(x string) bool { return !slices.Contains(b, x) })
}

// last pairs the last things that are left.
func (p *pairs[T]) last(fit func(old, now T) bool) {
	if len(p.before) == 1 && len(p.after) == 1 && fit(p.before[0], p.after[0]) {
		p.add(p.before[0], p.after[0], &Pairing{By: LastLeft})
	}
}

// match pairs workloads. Workloads of the same kind, namespace and name match. Each further rule
// only pairs workloads that are left over, and only if no other workload fits as well:
//   - the same namespace and name, and another kind
//   - the same kind and the same containers: names and images, or else images
//   - an image that no other workload of either manifest has
//   - no other workload is left. They must have the same kind and namespace, unless they are all
//     that the manifests have.
func match(before, after []check.Workload) *pairs[*check.Workload] {
	p := pairSame(pointers(before), pointers(after), func(a, b *check.Workload) bool {
		return a.Kind == b.Kind && a.Namespace == b.Namespace && a.Name == b.Name
	})
	byImages := func(old, now *check.Workload) *Pairing {
		return &Pairing{ByImages, slices.Compact(common(repositories(old), repositories(now)))}
	}
	p.equal(func(w *check.Workload) []string { return []string{w.Namespace + "/" + w.Name} },
		func(_, _ *check.Workload) *Pairing { return &Pairing{By: ByName} })
	p.equal(func(w *check.Workload) []string {
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(w.Images)) {
			parts = append(parts, name+" "+workloads.Repository(w.Images[name]))
		}
		return key(w, parts)
	}, byImages)
	p.equal(func(w *check.Workload) []string { return key(w, repositories(w)) }, byImages)
	have := map[string]int{} // how many workloads of a manifest have an image
	for _, list := range [][]check.Workload{before, after} {
		own := map[string]int{}
		for i := range list {
			for _, image := range slices.Compact(repositories(&list[i])) {
				own[image]++
				have[image] = max(have[image], own[image])
			}
		}
	}
	// an image that several workloads have, such as that of a proxy, does not tell which one it was
	p.equal(func(w *check.Workload) []string {
		return slices.DeleteFunc(repositories(w), func(image string) bool { return have[image] > 1 })
	}, byImages)
	p.last(func(old, now *check.Workload) bool {
		return old.Kind == now.Kind && old.Namespace == now.Namespace || len(before) == 1 && len(after) == 1
	})
	return p
}

func pointers(list []check.Workload) (all []*check.Workload) {
	for i := range list {
		all = append(all, &list[i])
	}
	return all
}

// key joins the kind of a workload and what is known of its containers to a key. Without known
// images, there is none.
func key(w *check.Workload, parts []string) []string {
	if len(parts) == 0 {
		return nil
	}
	return []string{w.Kind + "\n" + strings.Join(parts, "\n")}
}

// repositories returns the images of the containers of a workload, without tags and digests,
// sorted.
func repositories(w *check.Workload) (list []string) {
	for _, image := range slices.Sorted(maps.Values(w.Images)) {
		list = append(list, workloads.Repository(image))
	}
	slices.Sort(list)
	return list
}

// part is a container of a workload. One without probes has only a name.
type part struct {
	*check.Container
	image  string
	probed bool
}

// partsOf returns the containers of a workload, those with probes first.
func partsOf(w *check.Workload) (list []part) {
	rest := maps.Clone(w.Images)
	for i := range w.Containers {
		if c := &w.Containers[i]; c.HasProbes() {
			list = append(list, part{c, workloads.Repository(w.Images[c.Name]), true})
			delete(rest, c.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(rest)) {
		list = append(list, part{&check.Container{Name: name}, workloads.Repository(rest[name]), false})
	}
	return list
}

// matchContainers pairs the containers of two workloads: those of the same name; the only new one
// with an image, if only one with this image is gone; or the only containers of their pods.
func matchContainers(before, after []part) *pairs[part] {
	p := pairSame(before, after, func(a, b part) bool { return a.Name == b.Name })
	p.equal(func(c part) []string { return []string{c.image} },
		func(old, _ part) *Pairing { return &Pairing{ByImages, []string{old.image}} })
	p.last(func(_, _ part) bool { return len(before) == 1 && len(after) == 1 })
	return p
}
