//go:build !stepclock

package realkubelet

import "time"

// ClockSteps is false because this program was built without the tag stepclock; see conformance/stepclock.
const ClockSteps = false

// setClock does nothing. With the tag stepclock it sets how far the wall clock is ahead of virtual time.
func setClock(time.Duration) {}
