// Package compare compares the checks of two manifests: which limits and times got better or worse,
// and which findings appeared or disappeared.
package compare
