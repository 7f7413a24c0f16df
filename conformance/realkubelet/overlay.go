//go:build overlay

package realkubelet

import "time"

// Overlay is true because this program was built with conformance/overlay.
const Overlay = true

// setClock sets how far the wall clock is ahead of virtual time.
func setClock(ahead time.Duration) { time.SetBubbleOffset(ahead) }
