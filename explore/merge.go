package explore

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"probesim.dev/internal/strict"
	"probesim.dev/kube/profile"
)

// Merge joins the results of all shards of an exploration. The result is that of an exploration
// without shards. Merge returns an error if the results are not those of all shards of one
// exploration.
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

// Check returns the error of a result of a file that no exploration can have, with its place. path
// is the path of the result in the file.
func (r *Result) Check(f strict.JSONFile, path string) error {
	if r.Shards < 0 || r.Shards > maxShards || r.Shard < 0 || r.Shard >= max(1, r.Shards) {
		return f.Errorf(path+".shard", "must be one of at most %d parts", maxShards)
	}
	if _, known := profile.Named(r.Kubernetes); !known || r.Scenario == "" {
		return f.Errorf(path+".kubernetes", "a result needs a scenario, and a version that probesim supports")
	}
	for i, p := range r.Policies {
		if !slices.Contains(Policies(), p.Policy) || slices.IndexFunc(r.Policies, func(q PolicyResult) bool {
			return q.Policy == p.Policy
		}) != i {
			return f.Errorf(fmt.Sprintf("%s.policies[%d]", path, i),
				"must be a policy of explore, and not another time")
		}
	}
	for i, o := range r.Outcomes {
		if err := o.check(f, fmt.Sprintf("%s.outcomes[%d]", path, i), r); err != nil {
			return err
		}
	}
	return nil
}

// maxShards bounds the parts of an exploration.
const maxShards = 100_000

func (o *Outcome) check(f strict.JSONFile, path string, r *Result) error {
	entries := 0
	for _, p := range o.History.Pods {
		entries += len(p.Status)
		for _, c := range p.Containers {
			entries += len(c.Events)
		}
	}
	switch {
	case o.ID != o.History.ID():
		return f.Errorf(path+".id", "is not the ID of the history, which is %s", o.History.ID())
	case o.Count < 1:
		return f.Errorf(path+".count", "must be at least 1")
	case !slices.ContainsFunc(r.Policies, func(p PolicyResult) bool { return p.Policy == o.Policy }):
		return f.Errorf(path+".policy", "the exploration has no policy %s", strict.Quote(o.Policy))
	case len(o.Times) > 0 && len(o.Times) != entries:
		return f.Errorf(path+".times", "must have a time for each of the %d entries of the history", entries)
	}
	for i, s := range o.Times {
		at := fmt.Sprintf("%s.times[%d]", path, i)
		if s.Early == nil || s.Late == nil {
			return f.Errorf(at, "must have early and late")
		}
		if err := errors.Join(s.Early.check(f, at+".early"), s.Late.check(f, at+".late")); err != nil {
			return err
		}
	}
	return o.Change.check(f, path+".change")
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
			return errors.New("the parts are not of the same exploration: use the same file, the same probesim and " +
				"the same flags")
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
	return r.Scenario == s.Scenario && r.Kubernetes == s.Kubernetes && r.Shards == s.Shards &&
		r.Deviations == s.Deviations && r.MaxRuns == s.MaxRuns &&
		r.Seeds == s.Seeds && slices.Equal(r.Off, s.Off) && r.JudgeAll == s.JudgeAll && r.Canonical == s.Canonical &&
		slices.EqualFunc(r.Policies, s.Policies, samePolicy)
}
