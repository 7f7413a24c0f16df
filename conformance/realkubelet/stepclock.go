//go:build stepclock

package realkubelet

import "time"

// ClockSteps reports whether this program was built so that the wall clock of a bubble can be stepped; see
// conformance/stepclock. Otherwise a step changes nothing but what the runtime tells.
const ClockSteps = true

// setClock sets how far the wall clock is ahead of virtual time.
func setClock(ahead time.Duration) { time.SetBubbleOffset(ahead) }
