//go:build stepclock

package realkubelet

import "time"

// ClockSteps is true because this program was built with the tag stepclock; see conformance/stepclock. Without
// the tag, a step of the wall clock changes only the times that the runtime reports.
const ClockSteps = true

// setClock sets how far the wall clock is ahead of virtual time.
func setClock(ahead time.Duration) { time.SetBubbleOffset(ahead) }
