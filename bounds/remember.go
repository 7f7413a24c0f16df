package bounds

import (
	"fmt"
	"reflect"

	"probesim.dev/fakeruntime"
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
	key := fmt.Appendf(nil, "%s %d %d %d %d %v %v %d", c.order, c.Instance, c.Uptime, c.Wall, c.InitRuns, c.StartJitter, c.SyncJitter, c.Event)
	delays := reflect.ValueOf(c.Delays)
	for i := range delays.NumField() {
		if d := delays.Field(i).Interface().(*fakeruntime.Draw); d != nil {
			key = fmt.Appendf(key, " %d %d %d", i, d.Min, d.Max)
		}
	}
	for _, r := range c.Rules {
		key = fmt.Appendf(key, " %d", r.From)
	}
	return string(key)
}
