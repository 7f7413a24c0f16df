package manifests

import (
	"slices"

	"probesim.dev/internal/strict"
)

// OfKind returns the objects of a kind that is no workload, such as Service, in the order of the
// file.
func (f *Objects) OfKind(apiVersion, kind string) []*strict.Node {
	return slices.DeleteFunc(slices.Clone(f.others), func(n *strict.Node) bool {
		return n.Field("apiVersion").Value != apiVersion || n.Field("kind").Value != kind
	})
}
