package trace

import (
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"probesim.dev/sim/virtual"
)

// TestRecorderSharesTexts checks that a message that a probe has each time takes memory only once.
func TestRecorderSharesTexts(t *testing.T) {
	var r Recorder
	body := func() string { return strings.Repeat("x", 10<<10) } // a new string each time
	r.Add(Record{Kind: ProbeExecuted, Pod: "default/web", Message: body()})
	first := r.Size()
	const more = 1 << 14
	for range more {
		r.Add(Record{Kind: ProbeExecuted, Pod: "default/web", Message: body()})
	}
	if got, most := r.Size()-first, int64(more+chunk)*RecordSize; got > most {
		t.Errorf("%d records with an equal message take %d bytes, more than %d", more, got, most)
	}
	records := r.Records()
	if unsafe.StringData(records[0].Message) != unsafe.StringData(records[more].Message) {
		t.Error("the messages do not share their memory")
	}
}

// TestSizeOfLongTrace checks that chunks keep their size in a long trace, and that all of them
// count.
func TestSizeOfLongTrace(t *testing.T) {
	var r Recorder
	const records = 1 << 18
	for range records {
		r.Add(Record{Kind: ProbeExecuted})
	}
	if got := r.Size(); got < records*RecordSize || got > (records+chunk)*RecordSize {
		t.Errorf("%d records have size %d, want %d each", records, got, RecordSize)
	}
	if got, most := len(r.chunks), records/chunk+3; got > most {
		t.Errorf("%d chunks, want at most %d", got, most)
	}
}

func TestSizeCountsTextsAndStatuses(t *testing.T) {
	status := &PodStatus{Containers: make([]ContainerStatus, 1000)}
	for name, c := range map[string]struct {
		record func(i int) Record
		least  int64
	}{
		"different messages": {func(i int) Record {
			return Record{Kind: Event, Message: fmt.Sprint(i, strings.Repeat("x", 5000))}
		}, 100 * 5000},
		"different statuses": {func(int) Record {
			return Record{Kind: StatusPatched, Status: &PodStatus{Containers: make([]ContainerStatus, 1000)}}
		}, 100 * 1000 * containerSize},
		"one status": {func(int) Record { return Record{Kind: StatusPatched, Status: status} }, 1000 * containerSize},
	} {
		var r Recorder
		for i := range 100 {
			r.Add(c.record(i))
		}
		if most := c.least + 100*(textSize+statusSize+100) + 400*RecordSize; r.Size() < c.least || r.Size() > most {
			t.Errorf("%s: size is %d, want %d to %d", name, r.Size(), c.least, most)
		}
	}
}

// TestSizesOfTypes checks the constants that Size uses on machines with 64 bits. They are the same
// on other machines, so that the limit of a run does not depend on the machine.
func TestSizesOfTypes(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) != 8 {
		t.Skip("not a machine with 64 bits")
	}
	if got := unsafe.Sizeof(Record{}); 2*got > RecordSize {
		t.Errorf("a Record has %d bytes: update RecordSize", got)
	}
	if got := unsafe.Sizeof(PodStatus{}); got != statusSize {
		t.Errorf("a PodStatus has %d bytes: update statusSize", got)
	}
	if got := unsafe.Sizeof(ContainerStatus{}); got != containerSize {
		t.Errorf("a ContainerStatus has %d bytes: update containerSize", got)
	}
	if got := unsafe.Sizeof(Condition{}); got > conditionSize {
		t.Errorf("a Condition has %d bytes: update conditionSize", got)
	}
	if got := unsafe.Sizeof(ContainerDetails{}) + unsafe.Sizeof(Termination{}) +
		4*unsafe.Sizeof(virtual.Time(0)); got > containerDetailsSize {
		t.Errorf("a ContainerDetails has up to %d bytes: update containerDetailsSize", got)
	}
}

func TestOnGrowth(t *testing.T) {
	var r Recorder
	last, calls := int64(0), 0
	r.OnGrowth(func(size int64) {
		last = size
		calls++
	})
	for i := range 1000 {
		r.Add(Record{Kind: Event, Message: fmt.Sprint(i, strings.Repeat("x", 1000))})
		if r.Size()-last >= growth {
			t.Fatalf("after %d records, the size is %d, and OnGrowth has reported %d", i+1, r.Size(), last)
		}
	}
	if calls < 10 || calls > 30 {
		t.Errorf("%d calls for %d bytes", calls, r.Size())
	}
}

func TestLargest(t *testing.T) {
	var r Recorder
	for i := range 300 {
		r.Add(Record{Kind: ProbeExecuted, Message: "no"})
		if i%3 == 0 {
			r.Add(Record{Kind: Event, Message: fmt.Sprint(i, strings.Repeat("x", 10<<10))})
		}
	}
	if got := r.Largest(); got.Kind != Event || got.Records != 100 || got.Size < 100*10<<10 {
		t.Errorf("got %+v", got)
	}
}

// A recorder with room for all records keeps them in one slice, which Records does not copy.
func TestRoom(t *testing.T) {
	for _, room := range []int{0, 100, 1 << 20} {
		r := Recorder{Room: room}
		for i := range 100 {
			r.Add(Record{Kind: Event, T: virtual.Time(i)})
		}
		var first *Record
		for rec := range r.All() {
			first = rec
			break
		}
		if shared := &r.Records()[0] == first; shared != (room > 0) || len(r.Records()) != 100 {
			t.Errorf("room %d: %d records, shared: %t", room, len(r.Records()), shared)
		}
	}
}
