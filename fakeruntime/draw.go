package fakeruntime

import (
	"math"
	"math/bits"
	"time"
)

// key identifies one random value: a hash of the seed and of the purpose of the value. Keys are
// immutable, and the order in which they are used has no effect.
type key struct {
	hash   uint64
	seeded bool // false: ranges yield their middle
}

func newKey(seed *int64) key {
	if seed == nil {
		return key{}
	}
	return key{hash: mix(uint64(*seed)), seeded: true}
}

// with returns the key of part n of k.
func (k key) with(n int64) key {
	if k.seeded {
		k.hash = mix(k.hash*0x9fb21c651e98df25 + uint64(n))
	}
	return k
}

// named returns the key of the part of k with a name.
func (k key) named(name string) key {
	if !k.seeded {
		return k
	}
	k.hash = ^k.hash // distinguishes names from numbers
	for i := range len(name) {
		k.hash = (k.hash ^ uint64(name[i])) * 0x100000001b3 // FNV-1a
	}
	return k.with(int64(len(name)))
}

// mix is one step of SplitMix64: each bit of n affects about half of the bits of the result.
func mix(n uint64) uint64 {
	n += 0x9e3779b97f4a7c15
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}

// draw returns a uniform random duration from d, both ends included, or without a seed the middle.
func (k key) draw(d Draw) time.Duration {
	if d.Max <= d.Min {
		return d.Min
	}
	span := uint64(d.Max) - uint64(d.Min)
	if !k.seeded {
		return d.Min + time.Duration(span/2)
	}
	if span == math.MaxUint64 {
		return time.Duration(k.hash)
	}
	n, _ := bits.Mul64(k.hash, span+1)
	return d.Min + time.Duration(n)
}

// happens reports whether a chance from 0 to 1 comes true. Without a seed, it never does.
func (k key) happens(chance float64) bool {
	return k.seeded && float64(k.hash>>11)/(1<<53) < chance
}
