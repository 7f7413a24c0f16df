package random

import (
	"time"

	"go.yaml.in/yaml/v3"

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
func (g *generator) stepClock() []*yaml.Node {
	aside := g.aside()
	var steps []*yaml.Node
	for range aside.between(1, 3) {
		n, action, size := aside.when(one(&aside.rng, g.pods...)), inline(), pick(&aside.rng, clockSteps)
		by := value.Format(aside.time(size[0], size[1]))
		if aside.percent(60) {
			by = "-" + by
		}
		put(action, "by", text(by))
		put(n, "stepClock", action)
		steps = append(steps, n)
	}
	return steps
}
