package compare

import (
	"maps"
	"slices"
	"strings"

	"probesim.dev/check"
)

// matches returns the workload before the change for each workload after it, or nil. Workloads of the same kind, namespace and name match.
// Of the others, two match if they have the same kind and the same containers, and no other one has them too: containers of the same
// names and images, or else of the same images.
func matches(before, after []check.Workload) []*check.Workload {
	list := make([]*check.Workload, len(after))
	for i := range after {
		list[i] = find(before, &after[i], sameWorkload)
	}
	for _, contents := range []func(*check.Workload) string{namesAndImages, images} {
		old, now := map[string][]*check.Workload{}, map[string][]int{}
		for i := range before {
			if w := &before[i]; !slices.Contains(list, w) && len(w.Images) > 0 {
				old[contents(w)] = append(old[contents(w)], w)
			}
		}
		for i := range after {
			if list[i] == nil {
				now[contents(&after[i])] = append(now[contents(&after[i])], i)
			}
		}
		for _, of := range slices.Sorted(maps.Keys(old)) {
			if was, is := old[of], now[of]; len(was) == 1 && len(is) == 1 {
				list[is[0]] = was[0]
			}
		}
	}
	return list
}

// namesAndImages returns the kind of a workload, and the names and images of its containers.
func namesAndImages(w *check.Workload) string {
	parts := []string{w.Kind}
	for _, name := range slices.Sorted(maps.Keys(w.Images)) {
		parts = append(parts, name+" "+repository(w.Images[name]))
	}
	return strings.Join(parts, "\n")
}

// images returns the kind of a workload, and the images of its containers.
func images(w *check.Workload) string {
	list := slices.Sorted(maps.Values(w.Images))
	for i := range list {
		list[i] = repository(list[i])
	}
	slices.Sort(list) // a tag can decide the order of two images
	return strings.Join(append(list, w.Kind), "\n")
}

// repository returns an image without its tag and its digest, which a new version changes.
func repository(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if colon := strings.LastIndex(image, ":"); colon > strings.LastIndex(image, "/") {
		image = image[:colon]
	}
	return image
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
	was map[string]string // name before, by the name after
	is  map[string]string // name after, by the name before
}

// renames returns the containers with another name: the only new container with an image, if only one container with this image is
// gone.
func renames(before, after *check.Workload) renaming {
	names := renaming{map[string]string{}, map[string]string{}}
	gone, added := byImage(before, after), byImage(after, before)
	for _, image := range slices.Sorted(maps.Keys(gone)) {
		if was, is := gone[image], added[image]; len(was) == 1 && len(is) == 1 {
			names.was[is[0]], names.is[was[0]] = was[0], is[0]
		}
	}
	return names
}

// byImage returns the names of the containers of a workload that another one does not have, by image.
func byImage(w, other *check.Workload) map[string][]string {
	names := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(w.Images)) {
		if _, both := other.Images[name]; !both {
			image := repository(w.Images[name])
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
