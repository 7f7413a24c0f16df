// Package virtual holds the types for time in a simulation. A span of time is a time.Duration, an
// instant of virtual time is a Time, and a reading of a node's wall clock is a Wall. Virtual time
// only moves forward, but a wall clock can be set; the types keep you from mixing up the two.
package virtual

import (
	"math"
	"time"
)

// Time is an instant of virtual time, in nanoseconds since t=0. Instants before t=0 are negative.
// The zero value is t=0. Instants compare with the operators of Go.
type Time int64

// The earliest and the latest instant.
const (
	Min Time = math.MinInt64
	Max Time = math.MaxInt64
)

// At returns the instant d after t=0.
func At(d time.Duration) Time { return Time(d) }

// Add returns the instant d after t.
func (t Time) Add(d time.Duration) Time { return t + Time(d) }

// Sub returns the span from u to t.
func (t Time) Sub(u Time) time.Duration { return time.Duration(t - u) }

// Offset returns the span from t=0 to t.
func (t Time) Offset() time.Duration { return time.Duration(t) }

// String formats t as the span since t=0, such as "1m30s".
func (t Time) String() string { return t.Offset().String() }

// Span is the instants from From until before To.
type Span struct{ From, To Time }

// Wall is a reading of a node's wall clock, in nanoseconds since the reading at t=0. It is equal to
// the virtual time until the clock is set for the first time.
type Wall int64

// Add returns the reading d later.
func (w Wall) Add(d time.Duration) Wall { return w + Wall(d) }

// Offset returns the span from the reading at t=0 to w.
func (w Wall) Offset() time.Duration { return time.Duration(w) }

// String formats w as the span since the reading at t=0.
func (w Wall) String() string { return w.Offset().String() }
