package shrink

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"probesim.dev/internal/strict"
	"probesim.dev/scenarios"
)

// maxRepairs bounds how often a repair asks the loader what else is wrong.
const maxRepairs = 20

// repair makes a file load again after a change, by removing the parts that the loader rejects.
type repair struct {
	wish  nodes        // parts to remove, unless the file needs them
	fixed *strict.Node // a part that must stay
	items bool         // remove whole list items, for example a step because of its time
}

// run returns the removed parts and the file without them. ok is false if there is no such file.
func (r *repair) run(s *shrinker) (out nodes, text []byte, ok bool) {
	wished := len(r.wish) > 0
	out = nodes{}
	maps.Copy(out, r.wish)
	for range maxRepairs {
		if wished && len(r.wish) == 0 || s.exhausted() {
			break
		}
		w := s.docs.write(out)
		err := s.load(w.text)
		if err == nil {
			return out, w.text, true
		}
		more, possible := r.blame(w, err)
		if !possible {
			break
		}
		if more == nil {
			clear(out)
			more = r.wish
		}
		maps.Copy(out, more)
	}
	return nil, nil, false
}

// blame returns the parts that the loader rejects. If it rejects one because a part in wish is
// missing, blame gives up that wish instead and returns nil.
func (r *repair) blame(w written, err error) (more nodes, possible bool) {
	var wrong scenarios.Errors
	if !errors.As(err, &wrong) {
		return nil, false
	}
	more = nodes{}
	wishes := len(r.wish)
	for _, e := range wrong {
		at, ok := w.locate(e)
		switch {
		case !ok || r.fixed != nil && (nodes{r.fixed: true}).contains(at.part):
			return nil, false
		case r.wish[at.lacking]:
			r.wish.removeIn(at.lacking)
		case r.wish.contains(at.part):
			r.wish.removeIn(at.part)
		case r.items && at.item != nil:
			more[at.item] = true
		default:
			more[at.part] = true
		}
	}
	if len(r.wish) < wishes {
		return nil, true
	}
	return more, true
}

// place is the place of a loader error.
type place struct {
	part    *strict.Node // the part that is wrong or incomplete
	item    *strict.Node // the list item that contains the part or is the part; nil if there is none
	lacking *strict.Node // the removed field that the part needs; nil if there is none
}

// locate finds the part that an error is about. ok is false for errors about the whole file or
// another file.
func (w *written) locate(e scenarios.Error) (place, bool) {
	if e.File != fileName || e.Line == 0 {
		return place{}, false
	}
	root := 0
	for root+1 < len(w.lines) && w.lines[root+1] <= e.Line {
		root++
	}
	n, path := w.roots[root], e.Path
	var at place
	for path != "" {
		part, rest := step(n, path, w.without)
		if part == nil {
			break
		}
		if n.Kind == strict.Sequence {
			at.item = part
		}
		n, path = part, strings.TrimPrefix(rest, ".")
	}
	at.part = n
	if path != "" {
		at.lacking, _ = step(n, path, nil)
	}
	return at, true
}

// step follows one element of a path such as spec.pods[0].name in a file without some parts, and
// returns the rest of the path. Field names may contain dots: of several names that match, step
// takes the longest.
func step(n *strict.Node, path string, without nodes) (part *strict.Node, rest string) {
	if n.Kind == strict.Sequence {
		index, rest, _ := strings.Cut(strings.TrimPrefix(path, "["), "]")
		items := slices.DeleteFunc(slices.Clone(n.Items), without.has)
		if i, err := strconv.Atoi(index); err == nil && i >= 0 && i < len(items) {
			return items[i], rest
		}
		return nil, path
	}
	longest := ""
	for i, key := range n.Keys {
		rest, fits := strings.CutPrefix(path, key.Name)
		fits = fits && (rest == "" || rest[0] == '.' || rest[0] == '[')
		if fits && len(key.Name) > len(longest) && !without[n.Items[i]] {
			part, longest = n.Items[i], key.Name
		}
	}
	return part, path[len(longest):]
}
