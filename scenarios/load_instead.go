package scenarios

import "probesim.dev/internal/strict"

// Source is a file in memory.
type Source struct {
	Name string
	Data []byte
}

// readInstead reads the workloads that stand for others.
func (l *loader) readInstead(files []Source) {
	var list []*manifest
	for _, s := range files {
		list = append(list, l.read(s.Name, s.Data).manifests...)
	}
	for _, m := range list {
		m.load()
	}
	l.instead = list
}

// replace replaces workloads of a file by those that stand for them. A file with scenarios also gets the workloads that it does not
// have.
func (f *file) replace(instead []*manifest) {
	for _, m := range instead {
		if f.replaceOne(m) || len(f.scenarios) == 0 {
			continue
		}
		f.manifests = append(f.manifests, m)
		f.byName[m.name] = append(f.byName[m.name], m)
	}
}

func (f *file) replaceOne(m *manifest) bool {
	found := false
	for _, list := range [][]*manifest{f.manifests, f.byName[m.name]} {
		for i, old := range list {
			if old.kind.kind == m.kind.kind && old.name == m.name && namespace(old.node) == namespace(m.node) {
				list[i], found = m, true
			}
		}
	}
	return found
}

// namespace is the namespace that an object is written with.
func namespace(n *strict.Node) string { return n.Find("metadata.namespace").Value }
