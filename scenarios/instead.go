package scenarios

import (
	"probesim.dev/internal/scenarios/manifests"
)

// Source is a file in memory.
type Source struct {
	Name string
	Data []byte
}

// readInstead reads the workloads that stand for others.
func (l *loader) readInstead(files []Source) {
	var list []*manifests.Object
	for _, s := range files {
		list = append(list, l.parse(s.Name, s.Data).Manifests...)
	}
	for _, m := range list {
		m.Load()
	}
	l.instead = list
}
