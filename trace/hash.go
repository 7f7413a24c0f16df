package trace

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
)

// Hasher takes the hash of a run record by record. The zero value is ready.
//
// The hash is over the observable records in their order, each as AppendJSON writes it but without step
// and cause: both change when internal records are kept too, and the real kubelet knows no causes. So a
// run has one hash, whatever was kept and whichever engine wrote it.
type Hasher struct {
	sum hash.Hash
	buf []byte
}

// Add takes in one record.
func (h *Hasher) Add(r *Record) {
	if !r.Kind.Observable() {
		return
	}
	h.buf = append(appendObserved(h.buf[:0], r), '\n')
	h.digest().Write(h.buf)
}

// Sum returns the hash of what was added so far: SHA-256 in lower-case hexadecimal.
func (h *Hasher) Sum() string { return hex.EncodeToString(h.digest().Sum(nil)) }

func (h *Hasher) digest() hash.Hash {
	if h.sum == nil {
		h.sum = sha256.New()
	}
	return h.sum
}

// Hash returns the hash of a run that has these records; see Hasher.
func Hash(records []Record) string {
	var h Hasher
	for i := range records {
		h.Add(&records[i])
	}
	return h.Sum()
}

// AppendObserved appends what two engines must agree on of a record: AppendJSON without step and cause.
func AppendObserved(dst []byte, r *Record) []byte { return appendObserved(dst, r) }
