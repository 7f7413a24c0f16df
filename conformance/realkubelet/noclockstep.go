//go:build !stepclock

package realkubelet

import "time"

// ClockSteps reports whether this program was built so that the wall clock of a bubble can be stepped: it was not. See
// conformance/stepclock.
const ClockSteps = false

// setClock would set how far the wall clock is ahead of virtual time.
func setClock(time.Duration) {}
