// Package lists has what package slices lacks.
package lists

// Find returns the first item that has a property, in place, or nil.
func Find[T any](list []T, has func(*T) bool) *T {
	for i := range list {
		if has(&list[i]) {
			return &list[i]
		}
	}
	return nil
}
