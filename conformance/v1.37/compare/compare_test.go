package compare

import (
	"fmt"
	"os"
	"testing"

	"probesim.dev/scenarios"
	"probesim.dev/sim/trace"
)

func TestX(t *testing.T) {
	all, err := scenarios.Load(os.Getenv("X"))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		for _, p := range s.Plans() {
			o, err := Plan(t, p, Options{})
			if err != nil {
				t.Fatal(err)
			}
			fmt.Println(p.Scenario.Metadata.Name, p.Seed, o.Runs, o.RealTime, o.SimTime, len(o.Real), o.Equal(), len(o.Made))
			if d := o.Divergence; d != nil {
				fmt.Println(d.At, d.Err)
				for _, r := range d.Want {
					fmt.Println("want", string(trace.AppendJSON(nil, &r)))
				}
				for _, r := range d.Got {
					fmt.Println("got", string(trace.AppendJSON(nil, &r)))
				}
			}
		}
	}
}
