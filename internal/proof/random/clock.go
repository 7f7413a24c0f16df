package random

import (
	"time"

	"probesim.dev/internal/value"
)

// clockSteps are the ranges of the steps of the wall clock, from the small corrections of a daemon
// to a clock that was wrong at the boot.
var clockSteps = []weighted[[2]time.Duration]{
	{20, [2]time.Duration{time.Millisecond, 2 * time.Second}},
	{50, [2]time.Duration{time.Second, 2 * time.Minute}},
	{20, [2]time.Duration{time.Minute, time.Hour}},
	{10, [2]time.Duration{time.Hour, value.MaxDuration}},
}

// stepClock returns some steps of the wall clock, more often back than forward. They use a separate
// stream of numbers.
func (g *generator) stepClock() []tree {
	aside := g.aside()
	var steps []tree
	for range aside.between(1, 3) {
		n, size := aside.when(one(&aside.rng, g.pods...)), pick(&aside.rng, clockSteps)
		by := value.Format(aside.time(size[0], size[1]))
		if aside.percent(60) {
			by = "-" + by
		}
		steps = append(steps, put(n, "stepClock", inline("by", by)))
	}
	return steps
}
