package report

import (
	"probesim.dev/internal/show/summary"
)

// jsonSummary is the summary of several runs. Times are in nanoseconds.
type jsonSummary struct {
	Runs         int           `json:"runs"`
	Outcomes     jsonOutcomes  `json:"outcomes"`
	Expectations []jsonTally   `json:"expectations"`
	Pods         []jsonPods    `json:"pods"`
	FirstFailure *jsonRunIndex `json:"firstFailure,omitempty"`
	Worst        *jsonRunIndex `json:"worst,omitempty"`
}

type jsonOutcomes struct {
	OK     int `json:"ok"`
	Failed int `json:"failed"`
	Error  int `json:"error"`
}

type jsonTally struct {
	Name    string  `json:"name"`
	File    string  `json:"file"`
	Line    int     `json:"line"`
	Column  int     `json:"column"`
	Outcome Outcome `json:"outcome"`
	Held    int     `json:"held"`
	Failed  int     `json:"failed"`
	Unmet   int     `json:"unmet,omitempty"`
	Skipped int     `json:"skipped,omitempty"`
	Seeds   string  `json:"failedSeeds,omitempty"` // such as 2,7..9
}

type jsonRunIndex struct {
	Seed   *int64 `json:"seed,omitempty"`
	Replay string `json:"replay,omitempty"`
}

type jsonPods struct {
	Name string   `json:"name"` // of the workload or the pod, or an object such as "Deployment default/web"
	Pods []string `json:"pods"`
	jsonStatistics
	Containers []jsonContainer `json:"containers"`
}

type jsonContainer struct {
	Name string `json:"name"`
	jsonStatistics
}

type jsonStatistics struct {
	Restarts      *jsonDistribution `json:"restarts,omitempty"`
	TimeToReady   *jsonDistribution `json:"timeToReady,omitempty"`
	NotReady      *jsonDistribution `json:"notReady,omitempty"`
	LongestOutage *jsonDistribution `json:"longestOutage,omitempty"`
	RolloutTook   *jsonDistribution `json:"rolloutTook,omitempty"` // of a Deployment
	FewestReady   *jsonDistribution `json:"fewestReady,omitempty"`
	LostRequests  *jsonDistribution `json:"lostRequests,omitempty"` // of a Service
}

// jsonDistribution is a distribution. A value is null if it is never, that is if the pod was not
// Ready at any time of the run.
type jsonDistribution struct {
	Count      int    `json:"count"`
	Min        *int64 `json:"min"`
	Median     *int64 `json:"median"`
	P95        *int64 `json:"p95"`
	Max        *int64 `json:"max"`
	MaxSeed    int64  `json:"maxSeed"`
	Never      int    `json:"never,omitempty"`
	NeverSeeds string `json:"neverSeeds,omitempty"`
}

// summary returns the summary of a case with several runs, or nil.
func (c *Case) summary() *jsonSummary {
	if len(c.Runs) < 2 || c.Statistics == nil {
		return nil
	}
	s := &jsonSummary{Runs: len(c.Runs), Expectations: []jsonTally{}, Pods: []jsonPods{}}
	for _, r := range c.Runs {
		switch r.Outcome() {
		case OK:
			s.Outcomes.OK++
		case Failed:
			s.Outcomes.Failed++
		case Broken:
			s.Outcomes.Error++
		}
	}
	for _, t := range c.Tallies() {
		s.Expectations = append(s.Expectations,
			jsonTally{t.Name, t.File, t.Line, t.Column, t.Outcome(), t.Held, t.Broken, t.Unmet, t.Skipped,
				t.Seeds.All()})
	}
	for _, p := range c.Statistics.Pods {
		if len(p.Pods) == 0 {
			continue
		}
		list := jsonPods{Name: p.Name, Pods: p.Pods, jsonStatistics: newJSONStatistics(&p.Statistics),
			Containers: []jsonContainer{}}
		for _, k := range p.Containers {
			list.Containers = append(list.Containers, jsonContainer{k.Name, newJSONStatistics(&k.Statistics)})
		}
		s.Pods = append(s.Pods, list)
	}
	if r := c.firstFailed(); r != nil {
		s.FirstFailure = &jsonRunIndex{r.Seed, r.Replay}
	}
	worst := c.worst()
	s.Worst = &jsonRunIndex{worst.Seed, worst.Replay}
	return s
}

func newJSONStatistics(s *summary.Statistics) jsonStatistics {
	var list []*jsonDistribution
	for _, r := range allRows(s) {
		list = append(list, newJSONDistribution(r.Distribution))
	}
	return jsonStatistics{list[0], list[1], list[2], list[3], list[4], list[5], list[6]}
}

func newJSONDistribution(d *summary.Distribution) *jsonDistribution {
	if d.Count() == 0 {
		return nil
	}
	max, seed := d.Max()
	never, seeds := d.Never()
	return &jsonDistribution{d.Count(), orNull(d.Min()), orNull(d.Median()), orNull(d.Quantile(95)), orNull(max), seed,
		never, seeds.All()}
}

func orNull(v int64) *int64 {
	if v == int64(summary.Never) || v == -int64(summary.Never) {
		return nil
	}
	return &v
}
