//go:build !overlay

package realkubelet

import "time"

// Overlay is false because this program was built without conformance/overlay. The wall clock
// cannot step, and Go interrupts goroutines as the load of the machine has it.
const Overlay = false

// setClock does nothing. With the overlay it sets how far the wall clock is ahead of virtual time.
func setClock(time.Duration) {}
