package fakeruntime

import "time"

// Drawn returns the duration that is drawn from d for what the name and ordinal stand for: always the
// same one for the same seed, name and ordinal, whatever else is drawn. Without a seed it is the middle.
func (d Draw) Drawn(seed *int64, name string, ordinal int64) time.Duration {
	return newKey(seed).named(name).with(ordinal).draw(d)
}
