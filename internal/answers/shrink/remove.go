package shrink

import (
	"slices"

	"probesim.dev/internal/strict"
)

// removeParts removes parts level by level: documents, then their fields, then the fields below.
func (s *shrinker) removeParts() {
	for depth := 0; ; depth++ {
		level := s.level(depth)
		if len(level) == 0 {
			return
		}
		for size := len(level); size > 0; size /= 2 {
			level = s.removeChunks(level, depth, size)
		}
	}
}

// removeChunks tries to remove size neighbors at a time, and returns the rest of the level.
func (s *shrinker) removeChunks(level []*strict.Node, depth, size int) []*strict.Node {
	for start := 0; start < len(level) && !s.exhausted(); {
		chunk := level[start:min(start+size, len(level))]
		if !s.remove(chunk) {
			start += size
			continue
		}
		there := nodes{}
		for _, n := range s.level(depth) {
			there[n] = true
		}
		level = slices.DeleteFunc(level, func(n *strict.Node) bool { return !there[n] })
	}
	return level
}

// level returns all parts at a depth, in the order of the file. The documents are at depth 0.
func (s *shrinker) level(depth int) []*strict.Node {
	level := slices.Clone([]*strict.Node(s.docs))
	durations := s.durations()
	for range depth {
		var below []*strict.Node
		for _, n := range level {
			for _, part := range n.Items {
				if !durations[part] {
					below = append(below, part)
				}
			}
		}
		level = below
	}
	return level
}

// remove removes as many of the parts as it can together, and reports whether it removed any.
func (s *shrinker) remove(unwanted []*strict.Node) bool {
	r := repair{wish: nodes{}}
	for _, n := range unwanted {
		r.wish[n] = true
	}
	return s.try(&r)
}

// try keeps the file that a repair produces if the file shows the same problem.
func (s *shrinker) try(r *repair) bool {
	out, text, ok := r.run(s)
	if !ok || !s.shows(text) {
		return false
	}
	s.docs = s.docs.drop(out)
	s.keep(text)
	return true
}
