package report

import (
	"probesim.dev/internal/show/summary"
)

// jsonSummary is the summary of several runs. Times are in nanoseconds.
type jsonSummary struct {
	Runs         int                      `json:"runs"`
	Outcomes     map[Outcome]int          `json:"outcomes"`
	Expectations []jsonTally              `json:"expectations"`
	Pods         []*summary.PodStatistics `json:"pods"`
	FirstFailure *jsonRunIndex            `json:"firstFailure,omitempty"`
	Worst        *jsonRunIndex            `json:"worst,omitempty"`
}

type jsonTally struct {
	Name    string        `json:"name"`
	File    string        `json:"file"`
	Line    int           `json:"line"`
	Column  int           `json:"column"`
	Outcome Outcome       `json:"outcome"`
	Held    int           `json:"held"`
	Failed  int           `json:"failed"`
	Unmet   int           `json:"unmet,omitempty"`
	Skipped int           `json:"skipped,omitempty"`
	Seeds   summary.Seeds `json:"failedSeeds,omitempty"`
}

type jsonRunIndex struct {
	Seed   *int64 `json:"seed,omitempty"`
	Replay string `json:"replay,omitempty"`
}

// summary returns the summary of a case with several runs, or nil.
func (c *Case) summary() *jsonSummary {
	if len(c.Runs) < 2 || c.Statistics == nil {
		return nil
	}
	s := &jsonSummary{Runs: len(c.Runs), Outcomes: map[Outcome]int{OK: 0, Failed: 0, Broken: 0},
		Expectations: []jsonTally{}, Pods: []*summary.PodStatistics{}}
	for _, r := range c.Runs {
		s.Outcomes[r.Outcome()]++
	}
	for _, t := range c.tallies() {
		s.Expectations = append(s.Expectations,
			jsonTally{t.Name, t.File, t.Line, t.Column, t.Outcome(), t.Held, t.Broken, t.Unmet, t.Skipped, t.Seeds})
	}
	for _, p := range c.Statistics.Pods {
		if len(p.Pods) > 0 {
			s.Pods = append(s.Pods, p)
		}
	}
	if r := c.firstFailed(); r != nil {
		s.FirstFailure = &jsonRunIndex{r.Seed, r.Replay}
	}
	worst := c.worst()
	s.Worst = &jsonRunIndex{worst.Seed, worst.Replay}
	return s
}
