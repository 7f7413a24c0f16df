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

// pairs are the pairs of workloads of two manifests.
type pairs struct {
	before, after []check.Workload
	was           []*check.Workload // the one before, for each one after, or nil
	why           []*Pairing        // for each one after; nil for the same kind, namespace and name
}

// match pairs workloads. Workloads of the same kind, namespace and name match. Each further rule
// only pairs workloads that are left over, and only if no other workload fits as well:
//   - the same namespace and name, and another kind
//   - the same kind and the same containers: names and images, or else images
//   - an image that no other workload of either manifest has
//   - no other workload is left. They must have the same kind and namespace, unless they are all
//     that the manifests have.
func match(before, after []check.Workload) *pairs {
	p := &pairs{before, after, make([]*check.Workload, len(after)), make([]*Pairing, len(after))}
	for i := range after {
		for _, w := range p.leftBefore() {
			if p.was[i] == nil && sameWorkload(w, &after[i]) {
				p.was[i] = w
			}
		}
	}
	p.pairEqual(ByName, func(w *check.Workload) []string { return []string{w.Namespace + "/" + w.Name} })
	p.pairEqual(ByImages, namesAndImages)
	p.pairEqual(ByImages, kindAndImages)
	p.pairEqual(ByImages, p.distinctive)
	if old, now := p.leftBefore(), p.leftAfter(); len(old) == 1 && len(now) == 1 {
		is := &after[now[0]]
		if old[0].Kind == is.Kind && old[0].Namespace == is.Namespace || len(before) == 1 && len(after) == 1 {
			p.pair(old[0], now[0], LastLeft)
		}
	}
	return p
}

func (p *pairs) pair(before *check.Workload, after int, by Evidence) {
	p.was[after], p.why[after] = before, &Pairing{By: by}
	if by == ByImages {
		p.why[after].Images = slices.DeleteFunc(images(before),
			func(image string) bool { return !slices.Contains(images(&p.after[after]), image) })
	}
}

// leftBefore returns the workloads before the change that are in no pair.
func (p *pairs) leftBefore() []*check.Workload {
	var left []*check.Workload
	for i := range p.before {
		if w := &p.before[i]; !slices.Contains(p.was, w) {
			left = append(left, w)
		}
	}
	return left
}

// leftAfter returns the indices of the workloads after the change that are in no pair.
func (p *pairs) leftAfter() []int {
	var left []int
	for i := range p.after {
		if p.was[i] == nil {
			left = append(left, i)
		}
	}
	return left
}

// pairEqual pairs workloads that are left over and that have a key in common. Both must have it
// with no other workload that is left over.
func (p *pairs) pairEqual(by Evidence, keys func(*check.Workload) []string) {
	old, now := p.leftBefore(), p.leftAfter()
	shares := func(w *check.Workload, i int) bool {
		of := keys(&p.after[i])
		return slices.ContainsFunc(keys(w), func(key string) bool { return slices.Contains(of, key) })
	}
	for _, w := range old {
		fits := slices.DeleteFunc(slices.Clone(now), func(i int) bool { return !shares(w, i) })
		if len(fits) != 1 {
			continue
		}
		others := slices.ContainsFunc(old,
			func(other *check.Workload) bool { return other != w && shares(other, fits[0]) })
		if !others {
			p.pair(w, fits[0], by)
		}
	}
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
func kindAndImages(w *check.Workload) []string {
	list := slices.Sorted(maps.Values(w.Images))
	for i := range list {
		list[i] = workloads.Repository(list[i])
	}
	slices.Sort(list) // a tag can decide the order of two images
	return key(w, append(list, w.Kind))
}

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
func (p *pairs) distinctive(w *check.Workload) []string {
	count := func(list []check.Workload, image string) (n int) {
		for i := range list {
			if slices.Contains(images(&list[i]), image) {
				n++
			}
		}
		return n
	}
	return slices.DeleteFunc(images(w),
		func(image string) bool { return count(p.before, image) > 1 || count(p.after, image) > 1 })
}

// images returns the images of the containers of a workload, without tags and digests, sorted, each
// once.
func images(w *check.Workload) []string {
	var list []string
	for _, image := range slices.Sorted(maps.Values(w.Images)) {
		list = append(list, workloads.Repository(image))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

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

// renaming has the containers of a workload that have another name after the change.
type renaming struct {
	was map[string]string   // name before, by the name after
	is  map[string]string   // name after, by the name before
	why map[string]*Pairing // by the name after
}

// renames returns the containers with another name: the only new container with an image, if only
// one container with this image is gone, or the only container of the pod.
func renames(before, after *check.Workload) renaming {
	names := renaming{map[string]string{}, map[string]string{}, map[string]*Pairing{}}
	pair := func(was, is string, why *Pairing) { names.was[is], names.is[was], names.why[is] = was, is, why }
	gone, added := byImage(before, after), byImage(after, before)
	for _, image := range slices.Sorted(maps.Keys(gone)) {
		if was, is := gone[image], added[image]; len(was) == 1 && len(is) == 1 {
			pair(was[0], is[0], &Pairing{ByImages, []string{image}})
		}
	}
	if len(before.Images) == 1 && len(after.Images) == 1 && len(names.was) == 0 {
		was, is := slices.Sorted(maps.Keys(before.Images))[0], slices.Sorted(maps.Keys(after.Images))[0]
		if was != is {
			pair(was, is, &Pairing{By: LastLeft})
		}
	}
	return names
}

// byImage returns the names of the containers of a workload that another one does not have, by
// image.
func byImage(w, other *check.Workload) map[string][]string {
	names := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(w.Images)) {
		if _, both := other.Images[name]; !both {
			image := workloads.Repository(w.Images[name])
			names[image] = append(names[image], name)
		}
	}
	return names
}

// hasNew reports whether the pod has a new container, apart from those with another name.
func (names renaming) hasNew(before, after *check.Workload) bool {
	return slices.ContainsFunc(slices.Sorted(maps.Keys(after.Images)), func(name string) bool {
		_, old := before.Images[name]
		return !old && names.was[name] == ""
	})
}
