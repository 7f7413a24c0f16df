package compare

import (
	"fmt"
	"os"
	"strconv"
	"testing"

	"probesim.dev/scenarios"
	"probesim.dev/scenarios/random"
	"probesim.dev/sim/trace"
)

func TestRandom(t *testing.T) {
	from, _ := strconv.Atoi(os.Getenv("FROM"))
	to, _ := strconv.Atoi(os.Getenv("TO"))
	equal := 0
	for seed := from; seed <= to; seed++ {
		data := random.Scenario(uint64(seed))
		all, err := scenarios.LoadBytes(fmt.Sprintf("seed-%d.yaml", seed), data, nil)
		if err != nil {
			fmt.Println(seed, err)
			continue
		}
		for _, p := range all[0].Plans() {
			s := int64(seed)
			o, err := Plan(t, p, Options{Seed: &s, Budget: 600})
			if err != nil {
				fmt.Println(seed, err)
				continue
			}
			if o.Equal() {
				equal++
				fmt.Println(seed, "equal", len(o.Real), o.Runs, len(o.Made), o.RealTime, o.SimTime)
				continue
			}
			os.WriteFile(fmt.Sprintf("/tmp/seeds/seed-%d.yaml", seed), data, 0o644)
			fmt.Println(seed, "DIFFERS", len(o.Real), o.Runs, o.RealTime, o.SimTime)
			fmt.Println(o.Divergence.Text(o.Real))
			if os.Getenv("DUMP") != "" {
				real, _ := Real(t, p, Options{Seed: &s}, true)
				dump("/tmp/real.jsonl", real.Records)
				dump("/tmp/sim.jsonl", o.Divergence.Simulated)
			}
		}
	}
	fmt.Println("equal", equal, "of", to-from+1)
}

func dump(name string, records []trace.Record) {
	var b []byte
	for i := range records {
		b = append(trace.AppendJSON(b, &records[i]), '\n')
	}
	os.WriteFile(name, b, 0o644)
}
