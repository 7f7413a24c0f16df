package scenarios

import (
	"slices"

	"probesim.dev/internal/strict"
)

// findManifest returns the workload that an entry of spec.pods names, or nil after saying why there is
// none.
func (c *checker) findManifest(p *Pod, n *strict.Node) *manifest {
	for _, name := range []string{"name", "kind", "file"} {
		if n.Field(name).Bad() {
			return nil
		}
	}
	for _, name := range []string{"kind", "file"} {
		if field := n.Field(name); field.Written() && field.Value == "" {
			field.Errorf("is empty: leave it out")
			return nil
		}
	}
	if p.Name == "" {
		n.Field("name").Errorf("is required: the metadata.name of a workload")
		return nil
	}
	if p.Kind != "" && kindNamed(p.Kind) == nil {
		n.Field("kind").Errorf("unknown kind %s%s", strict.Quote(p.Kind), strict.DidYouMean(p.Kind, kindNames()))
		return nil
	}
	f, where := c.file, "in this file"
	if p.File != "" {
		if f, where = c.manifestFile(c.file, n.Field("file"), p.File), "in "+p.File; f == nil {
			return nil
		}
	}
	return pick(f, where, p, n)
}

// pick returns the only workload of a file that an entry names.
func pick(f *file, where string, p *Pod, n *strict.Node) *manifest {
	var found []*manifest
	for _, m := range f.byName[""] {
		m.load() // says that it has no name, for which none is called unknown
	}
	for _, m := range f.byName[p.Name] {
		if p.Kind == "" || p.Kind == m.kind.kind {
			found = append(found, m)
		}
	}
	kind := p.Kind
	if kind == "" {
		kind = "workload"
	}
	switch {
	case len(found) == 0 && f.unsure(p.Name):
		return nil
	case len(found) == 0:
		n.Field("name").Errorf("there is no %s %s %s%s", kind, strict.Quote(p.Name), where, strict.DidYouMean(p.Name, f.workloadNames(p.Kind)))
		return nil
	case len(found) > 1 && slices.ContainsFunc(found, func(m *manifest) bool { return m.kind != found[0].kind }):
		n.Field("name").Errorf("there are a %s and a %s named %s %s: say which with kind", found[0].kind.kind, found[1].kind.kind, p.Name, where)
		return nil
	case len(found) > 1:
		n.Field("name").Errorf("there are %d of kind %s named %s %s", len(found), found[0].kind.kind, p.Name, where)
		return nil
	}
	return found[0]
}

// workloadNames are the names of the workloads of a kind, or of all if it is empty.
func (f *file) workloadNames(kind string) []string {
	var names []string
	for _, m := range f.manifests {
		if kind == "" || kind == m.kind.kind {
			names = append(names, m.name)
		}
	}
	return names
}
