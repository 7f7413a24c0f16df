package trace

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
)

// Hasher computes the hash of a run from its records. The zero value is ready to use.
//
// The hash is the SHA-256 of the observable records in order. Each record is written by
// [AppendObserved] and followed by a newline. The hash is the same with and without internal
// records, and for the simulator and the real kubelet.
type Hasher struct {
	sum hash.Hash
	buf []byte
}

// Add adds the next record to the hash. It ignores internal records.
func (h *Hasher) Add(r *Record) {
	if !r.Kind.Observable() {
		return
	}
	h.buf = append(AppendObserved(h.buf[:0], r), '\n')
	h.digest().Write(h.buf)
}

// Sum returns the hash of the records added so far, in lowercase hexadecimal.
func (h *Hasher) Sum() string { return hex.EncodeToString(h.digest().Sum(nil)) }

func (h *Hasher) digest() hash.Hash {
	if h.sum == nil {
		h.sum = sha256.New()
	}
	return h.sum
}

// Hash returns the hash of a run with these records. See [Hasher].
func Hash(records []Record) string {
	var h Hasher
	for i := range records {
		h.Add(&records[i])
	}
	return h.Sum()
}
