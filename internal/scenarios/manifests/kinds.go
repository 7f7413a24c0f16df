package manifests

import "probesim.dev/internal/strict"

// OfKind returns the objects of a kind that is no workload, such as Service, in the order of the
// file.
func (f *Objects) OfKind(apiVersion, kind string) []*strict.Node {
	var list []*strict.Node
	for _, n := range f.others {
		if n.Field("apiVersion").Value == apiVersion && n.Field("kind").Value == kind {
			list = append(list, n)
		}
	}
	return list
}
