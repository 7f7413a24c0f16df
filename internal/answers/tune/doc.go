// Package tune finds probe settings of manifests that meet requirements, such as a start of up to
// 70 s and a stop of a hung container within 45 s. It changes as few fields as possible, and each
// of them as little as possible.
//
// Each setting that it tries has the values that package check prints, over all nodes and phases.
// The settings that tune returns meet the requirements. With one changed field a step closer to its
// old value, they do not.
package tune
