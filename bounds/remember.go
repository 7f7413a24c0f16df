package bounds

import (
	"encoding/binary"
	"math"
	"reflect"
	"time"

	"probesim.dev/fakeruntime"
	"probesim.dev/trace"
)

// remember returns a measure that measures each case once. The searches along different dimensions meet many cases again.
func remember(f measure) measure {
	seen := map[string]sample{}
	return func(c Case) (sample, error) {
		key := c.key()
		if s, ok := seen[key]; ok {
			return s, nil
		}
		s, err := f(c)
		if err == nil {
			seen[key] = s
		}
		return s, err
	}
}

// key identifies the case among those of a search, which differ in what dimensions set.
func (c *Case) key() string {
	key := append(make([]byte, 0, 256), c.order...)
	add := func(x uint64) { key = binary.LittleEndian.AppendUint64(key, x) }
	for _, x := range []time.Duration{time.Duration(c.Instance), c.Uptime, c.Wall, c.InitRuns, c.Event} {
		add(uint64(x))
	}
	add(math.Float64bits(c.StartJitter))
	add(math.Float64bits(c.SyncJitter))
	for _, p := range trace.ProbeTypes {
		if own, ok := c.sleeps[p]; ok {
			key = append(key, p...)
			add(math.Float64bits(own))
		}
	}
	delays := reflect.ValueOf(c.Delays)
	for i := range delays.NumField() {
		if d := (*fakeruntime.Draw)(delays.Field(i).UnsafePointer()); d != nil {
			key = append(key, byte(i))
			add(uint64(d.Min))
			add(uint64(d.Max))
		}
	}
	for _, r := range c.Rules {
		add(uint64(r.From))
	}
	return string(key)
}
