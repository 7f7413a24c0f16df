package fakeruntime

import "time"

// Drawn returns a uniform random duration from d, both ends included. The seed, name and ordinal
// determine it, whatever other values are drawn. Without a seed, it is the middle of the range.
func (d Draw) Drawn(seed *int64, name string, ordinal int64) time.Duration {
	return newKey(seed).named(name).with(ordinal).draw(d)
}
