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
	before, after []T              // that are in no pair
	was, is       map[T]T          // the one before by the one after, and the other way round
	why           map[T]*Pairing   // by the one after; nil for the same one
	images        func(T) []string // without tags and digests
}

// pairSame pairs all things that are the same.
func pairSame[T comparable](before, after []T, images func(T) []string, same func(a, b T) bool) *pairs[T] {
	p := &pairs[T]{before, after, map[T]T{}, map[T]T{}, map[T]*Pairing{}, images}
	for _, now := range after {
		if i := slices.IndexFunc(p.before, func(old T) bool { return same(old, now) }); i >= 0 {
			p.add(p.before[i], now, nil)
		}
	}
	return p
}

func (p *pairs[T]) add(old, now T, why *Pairing) {
	p.was[now], p.is[old], p.why[now] = old, now, why
	p.before = slices.DeleteFunc(slices.Clone(p.before), func(x T) bool { return x == old })
	p.after = slices.DeleteFunc(slices.Clone(p.after), func(x T) bool { return x == now })
}

// equal pairs things that are left over and that have a key in common. Both must have it with no
// other one that is left over.
func (p *pairs[T]) equal(by Evidence, keys func(T) []string) {
	before, after := p.before, p.after
	for _, old := range before {
		fits := slices.DeleteFunc(slices.Clone(after), func(now T) bool { return len(common(old, now, keys)) == 0 })
		if len(fits) != 1 || slices.ContainsFunc(before,
			func(other T) bool { return other != old && len(common(other, fits[0], keys)) > 0 }) {
			continue
		}
		why := &Pairing{By: by}
		if by == ByImages {
			why.Images = common(old, fits[0], p.images)
		}
		p.add(old, fits[0], why)
	}
}

// common returns the keys that two things have in common.
func common[T any](a, b T, keys func(T) []string) []string {
	of := keys(b)
	return slices.DeleteFunc(keys(a), func(key string) bool { return !slices.Contains(of, key) })
}

// match pairs workloads. Workloads of the same kind, namespace and name match. Each further rule
// only pairs workloads that are left over, and only if no other workload fits as well:
//   - the same namespace and name, and another kind
//   - the same kind and the same containers: names and images, or else images
//   - an image that no other workload of either manifest has
//   - no other workload is left. They must have the same kind and namespace, unless they are all
//     that the manifests have.
func match(before, after []*check.Workload) *pairs[*check.Workload] {
	p := pairSame(before, after, images, sameWorkload)
	p.equal(ByName, func(w *check.Workload) []string { return []string{w.Namespace + "/" + w.Name} })
	p.equal(ByImages, namesAndImages)
	p.equal(ByImages, kindAndImages)
	p.equal(ByImages, func(w *check.Workload) []string { return distinctive(w, before, after) })
	if len(p.before) == 1 && len(p.after) == 1 {
		old, now := p.before[0], p.after[0]
		if old.Kind == now.Kind && old.Namespace == now.Namespace || len(before) == 1 && len(after) == 1 {
			p.add(old, now, &Pairing{By: LastLeft})
		}
	}
	return p
}

// namesAndImages returns the kind of a workload, and the names and images of its containers, as one
// key.
func namesAndImages(w *check.Workload) []string {
	parts := []string{w.Kind}
	for _, name := range slices.Sorted(maps.Keys(w.Images)) {
		parts = append(parts, name+" "+workloads.Repository(w.Images[name]))
	}
	return key(w, parts)
}

// kindAndImages returns the kind of a workload, and the images of its containers, as one key.
func kindAndImages(w *check.Workload) []string { return key(w, append(repositories(w), w.Kind)) }

// key joins the parts of a key. Without known images, there is none.
func key(w *check.Workload, parts []string) []string {
	if len(w.Images) == 0 {
		return nil
	}
	return []string{strings.Join(parts, "\n")}
}

// distinctive returns the images of a workload that no other workload of its manifest has, and that
// at most one workload of the other manifest has. An image that several workloads have, such as
// that of a proxy, does not tell which one it was.
func distinctive(w *check.Workload, before, after []*check.Workload) []string {
	several := func(list []*check.Workload, image string) bool {
		have := func(w *check.Workload) bool { return slices.Contains(images(w), image) }
		first := slices.IndexFunc(list, have)
		return first >= 0 && slices.ContainsFunc(list[first+1:], have)
	}
	return slices.DeleteFunc(images(w),
		func(image string) bool { return several(before, image) || several(after, image) })
}

// repositories returns the images of the containers of a workload, without tags and digests,
// sorted: a tag can decide the order of two images.
func repositories(w *check.Workload) (list []string) {
	for _, image := range slices.Sorted(maps.Values(w.Images)) {
		list = append(list, workloads.Repository(image))
	}
	slices.Sort(list)
	return list
}

// images returns the repositories of a workload, each once.
func images(w *check.Workload) []string { return slices.Compact(repositories(w)) }

// renamedFrom returns the name of a workload before the change if it is another one.
func renamedFrom(before, after *check.Workload) string {
	switch {
	case before.Namespace != after.Namespace:
		return before.Namespace + "/" + before.Name
	case before.Name != after.Name:
		return before.Name
	}
	return ""
}

// named is a container of a workload, which need not have probes.
type named struct {
	of   *check.Workload
	name string
}

func (c named) image() []string { return []string{workloads.Repository(c.of.Images[c.name])} }

// matchContainers pairs the containers of two workloads: those of the same name; the only new one
// with an image, if only one with this image is gone; or the only containers of their pods.
func matchContainers(before, after *check.Workload) *pairs[named] {
	all := func(w *check.Workload) (list []named) {
		for _, name := range slices.Sorted(maps.Keys(w.Images)) {
			list = append(list, named{w, name})
		}
		return list
	}
	p := pairSame(all(before), all(after), named.image, func(a, b named) bool { return a.name == b.name })
	p.equal(ByImages, named.image)
	if len(p.before) == 1 && len(before.Images) == 1 && len(p.after) == 1 && len(after.Images) == 1 {
		p.add(p.before[0], p.after[0], &Pairing{By: LastLeft})
	}
	return p
}
