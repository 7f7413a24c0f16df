package trace

import (
	"testing"
	"time"

	"probesim.dev/sim/virtual"
)

// run adds a small run to a recorder, with an internal record that causes a later one.
func run(r *Recorder, t virtual.Time) {
	added := r.Add(Record{Kind: PodAdded, Pod: "default/web"})
	sync := r.Add(Record{Kind: PodSync, Pod: "default/web", Reason: "sync", Cause: added})
	r.Add(Record{T: t, Kind: ContainerStarted, Pod: "default/web", Container: "app", Cause: sync})
}

func TestHashIgnoresInternalRecords(t *testing.T) {
	var observable, all, later Recorder
	all.Internal = true
	run(&observable, virtual.At(time.Second))
	run(&all, virtual.At(time.Second))
	run(&later, virtual.At(time.Second+1))

	want := Hash(observable.Records())
	if got := Hash(all.Records()); got != want {
		t.Errorf("with internal records the hash is %s, without %s", got, want)
	}
	if got := Hash(later.Records()); got == want {
		t.Error("a nanosecond does not change the hash")
	}
}

// TestHashIsStable protects users who compare hashes between machines and releases.
func TestHashIsStable(t *testing.T) {
	var r Recorder
	run(&r, virtual.At(time.Second))
	const want = "a113f89d47a2ca0fbdad6b09e04bc40ae8554ad7d58d1b66461aa603a21fcd2c"
	if got := Hash(r.Records()); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestHasherEqualsHash(t *testing.T) {
	var kept Recorder
	var h Hasher
	streamed := Recorder{Sink: h.Add}
	run(&kept, virtual.At(time.Second))
	run(&streamed, virtual.At(time.Second))
	sum := h.Sum()
	if sum != Hash(kept.Records()) || h.Sum() != sum {
		t.Error("the hash of a Hasher differs from Hash")
	}
}
