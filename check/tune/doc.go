// Package tune finds probe settings of manifests that meet requirements, such as a start of up to 70 s and a stop of a hung
// container within 45 s. It changes as few fields as possible, and each of them as little as possible.
//
// A search tries settings with single runs, which can only show that a setting is not enough. The settings that are left are
// checked over all nodes and phases, as package check does. A setting that tune returns has passed this check, and the settings
// with one changed field a step closer to its old value have not.
package tune
