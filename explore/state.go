package explore

import (
	"cmp"
	"math"
	"reflect"
	"slices"
	"strings"

	"probesim.dev/node"
)

// stateOf returns a hash of everything that is reachable from a node and decides how it goes on:
// two nodes with the same hash at the end of the same instant, and the same trace until then, go on
// in the same way. It leaves out counters that only name things, and the layout of queues. It does
// not see the local variables of processes that wait, and the variables of closures: that these
// never matter alone is what TestReduction shows.
func stateOf(n *node.Node) uint64 {
	h := &hasher{sum: 14695981039346656037, seen: map[reached]uint64{}}
	h.value(reflect.ValueOf(n))
	return h.sum
}

// hasher is FNV-1a over a walk through values.
type hasher struct {
	sum  uint64
	seen map[reached]uint64 // pointers, numbered in the order of the walk
}

// reached is a pointer with its type: a struct and its first field share an address.
type reached struct {
	address uintptr
	of      reflect.Type
}

func (h *hasher) add(v uint64) {
	for range 8 {
		h.sum = (h.sum ^ v&0xff) * 1099511628211
		v >>= 8
	}
}

func (h *hasher) text(s string) {
	h.add(uint64(len(s)))
	for i := range len(s) {
		h.sum = (h.sum ^ uint64(s[i])) * 1099511628211
	}
}

// ignored lists fields that do not decide how a run goes on, by type and field.
var ignored = map[string]bool{
	// fixed, or about the caller
	"node.Node.trace": true, "node.Node.use": true, "node.Node.closed": true, "node.Node.misuse": true,
	"node.Node.options": true,
	"sim.Sim.meter":     true, "sim.Sim.Asker": true, "sim.Sim.woken": true, "sim.Sim.stacks": true,
	"sim.Sim.until": true,
	"sim.Sim.group": true, "sim.Sim.idleTimers": true, "sim.Sim.cause": true,
	// names of choices, and stacks
	"sim.Timer.turns": true, "sim.Timer.set": true, "sim.Proc.stack": true, "sim.Proc.woken": true,
	"kubelet.Kubelet.trace": true, "kubelet.Kubelet.profile": true, "prober.Manager.profile": true,
	"apiserver.Server.trace":   true,
	"fakeruntime.Runtime.free": true, "fakeruntime.event.slot": true, "fakeruntime.Runtime.handed": true,
	"fakeruntime.Runtime.generation": true,
}

func (h *hasher) value(v reflect.Value) {
	if !v.IsValid() {
		h.add(0)
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			h.add(1)
		} else {
			h.add(2)
		}
	case reflect.Float32, reflect.Float64:
		h.add(math.Float64bits(v.Float()))
	case reflect.String:
		h.text(v.String())
	case reflect.Slice, reflect.Array:
		h.add(uint64(v.Len()))
		for i := range v.Len() {
			h.value(v.Index(i))
		}
	case reflect.Map:
		h.mapping(v)
	case reflect.Pointer:
		h.pointer(v)
	case reflect.Interface:
		if v.IsNil() {
			h.add(0)
			return
		}
		h.text(v.Elem().Type().String())
		h.value(v.Elem())
	case reflect.Struct:
		h.structure(v)
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
		h.add(uint64(v.Pointer()))
	default:
		if v.CanInt() {
			h.add(uint64(v.Int()))
		} else {
			h.add(v.Uint())
		}
	}
}

func (h *hasher) pointer(v reflect.Value) {
	if v.IsNil() {
		h.add(0)
		return
	}
	at := reached{v.Pointer(), v.Type()}
	if number, ok := h.seen[at]; ok {
		h.add(number)
		return
	}
	h.seen[at] = uint64(len(h.seen)) + 1
	if v.Type().String() == "*time.Location" {
		return
	}
	h.add(3)
	h.value(v.Elem())
}

// mapping hashes a map, whose keys are texts and numbers, or structs of them.
func (h *hasher) mapping(v reflect.Value) {
	h.add(uint64(v.Len()))
	type entry struct {
		key   uint64
		value reflect.Value
	}
	var entries []entry
	for i := v.MapRange(); i.Next(); {
		k := &hasher{sum: 14695981039346656037, seen: map[reached]uint64{}}
		k.value(i.Key())
		entries = append(entries, entry{k.sum, i.Value()})
	}
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.key, b.key) })
	for _, e := range entries {
		h.add(e.key)
		h.value(e.value)
	}
}

func (h *hasher) structure(v reflect.Value) {
	t := v.Type()
	name := t.String()
	switch {
	case strings.HasPrefix(name, "queue.Timed["):
		h.timed(v)
		return
	case name == "sim.Timer" && v.FieldByName("set").Uint() == 0:
		h.text(v.FieldByName("name").String()) // its time is that of an earlier setting
		return
	case name == "fakeruntime.queue":
		h.calls(v)
		return
	case strings.HasPrefix(name, "queue.FIFO["):
		items, head := v.FieldByName("items"), int(v.FieldByName("head").Int())
		h.add(uint64(items.Len() - head))
		for i := head; i < items.Len(); i++ {
			h.value(items.Index(i))
		}
		return
	}
	for i := range t.NumField() {
		if !ignored[name+"."+t.Field(i).Name] {
			h.value(v.Field(i))
		}
	}
}

// timed hashes the items that wait in a queue, in their order.
func (h *hasher) timed(v reflect.Value) {
	entries := v.FieldByName("entries")
	type entry struct {
		at   int64
		n    uint64
		item reflect.Value
	}
	var waiting []entry
	for i := range entries.Len() {
		e := entries.Index(i)
		item, n := e.FieldByName("item"), e.FieldByName("n").Uint()
		if item.Kind() == reflect.Pointer && !item.IsNil() && item.Elem().Kind() == reflect.Struct {
			if set := item.Elem().FieldByName("set"); set.IsValid() && set.Uint() != n {
				continue // it waits no more
			}
		}
		waiting = append(waiting, entry{e.FieldByName("at").Int(), n, item})
	}
	// The order of items of one instant is open: it is a choice of that instant.
	key := func(e entry) string {
		if e.item.Kind() == reflect.Pointer && e.item.Elem().Kind() == reflect.Struct {
			if name := e.item.Elem().FieldByName("name"); name.IsValid() {
				return name.String()
			}
		}
		return ""
	}
	slices.SortFunc(waiting, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(key(a), key(b)), cmp.Compare(a.n, b.n))
	})
	h.add(uint64(len(waiting)))
	for _, e := range waiting {
		h.add(uint64(e.at))
		h.value(e.item)
	}
}

// calls hashes the events that the runtime waits for, in their order.
func (h *hasher) calls(v reflect.Value) {
	heap := v.FieldByName("heap")
	order := make([]int, heap.Len())
	for i := range order {
		order[i] = i
	}
	of := func(i int, field string) reflect.Value { return heap.Index(i).FieldByName(field) }
	slices.SortFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(of(a, "at").Int(), of(b, "at").Int()),
			cmp.Compare(of(a, "rank").Uint(), of(b, "rank").Uint()))
	})
	h.add(uint64(len(order)))
	for _, i := range order {
		h.add(uint64(of(i, "at").Int()))
		h.add(of(i, "rank").Uint() >> classShift)
		h.value(of(i, "event"))
	}
}

// classShift is the place of the class of an event in its rank: see fakeruntime.queue.
const classShift = 61
