package outcomes

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Merge joins the results of all shards of an exploration. The result is that of an exploration without shards. Merge returns an error
// if the results are not those of all shards of one exploration.
func Merge(shards []*Result) (*Result, error) {
	if len(shards) == 0 {
		return nil, errors.New("there is no result")
	}
	first := shards[0]
	if err := complete(shards); err != nil {
		return nil, fmt.Errorf("%s %s: %w", first.Scenario, first.Kubernetes, err)
	}
	merged := *first
	merged.Shard, merged.Shards, merged.Runs, merged.Outcomes, merged.byID = 0, 0, 0, nil, map[string]*Outcome{}
	merged.Policies = slices.Clone(first.Policies)
	for i := range merged.Policies {
		p := &merged.Policies[i]
		p.Tasks, p.Done, p.Runs = 0, 0, 0
	}
	for _, s := range shards {
		merged.Runs += s.Runs
		for i, p := range s.Policies {
			q := &merged.Policies[i]
			q.Tasks, q.Done, q.Runs = q.Tasks+p.Tasks, q.Done+p.Done, q.Runs+p.Runs
		}
		for _, o := range s.Outcomes {
			if !slices.ContainsFunc(merged.Policies, func(p PolicyResult) bool { return p.Policy == o.Policy }) {
				return nil, fmt.Errorf("%s: outcome %s has the unknown policy %q", s.Scenario, o.ID, o.Policy)
			}
			joined := *o
			merged.addOutcome(&joined)
		}
	}
	if merged.Runs <= 0 || len(merged.Outcomes) == 0 {
		return nil, fmt.Errorf("%s %s: has no outcomes: nothing was explored", first.Scenario, first.Kubernetes)
	}
	merged.end()
	return &merged, nil
}

// complete returns an error unless the results are those of all shards of one exploration.
func complete(shards []*Result) error {
	first := shards[0]
	seen := map[int]bool{}
	for _, s := range shards {
		switch {
		case s.Shards == 0:
			return errors.New("is not a part of an exploration: run explore with --shard")
		case !first.sameExploration(s):
			return errors.New("the parts are not of the same exploration: use the same file, the same probesim and the same flags")
		case seen[s.Shard]:
			return fmt.Errorf("part %d of %d is there twice", s.Shard, s.Shards)
		}
		seen[s.Shard] = true
	}
	var missing []string
	for i := range first.Shards {
		if !seen[i] {
			missing = append(missing, fmt.Sprintf("%d/%d", i, first.Shards))
		}
		if len(missing) > 10 {
			break
		}
	}
	if missing != nil {
		return fmt.Errorf("parts are missing: %s", strings.Join(missing, ", "))
	}
	return nil
}

// sameExploration reports whether two results are of the same scenario, with the same options.
func (r *Result) sameExploration(s *Result) bool {
	samePolicy := func(p, q PolicyResult) bool { return p.Policy == q.Policy && p.Cut == q.Cut }
	return r.Scenario == s.Scenario && r.Kubernetes == s.Kubernetes && r.Shards == s.Shards && r.Deviations == s.Deviations && r.MaxRuns == s.MaxRuns &&
		r.Seeds == s.Seeds && slices.Equal(r.Off, s.Off) && r.JudgeAll == s.JudgeAll && r.Canonical == s.Canonical && slices.EqualFunc(r.Policies, s.Policies, samePolicy)
}
