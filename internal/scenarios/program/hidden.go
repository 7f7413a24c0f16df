package program

import (
	"slices"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/podutil"
	"probesim.dev/scenarios/format"
)

// HiddenBy returns the index of a later rule that answers whenever a rule could, so that the rule
// never applies. It is -1 if there is none. Of several rules that apply, the last one wins.
func HiddenBy(rules []fakeruntime.Rule, i int) int {
	later := slices.IndexFunc(rules[i+1:], func(r fakeruntime.Rule) bool {
		return answersAll(&r, &rules[i]) && covers(r.Replica, rules[i].Replica) &&
			covers(r.Instance, rules[i].Instance) && isOpenWhile(&r, &rules[i])
	})
	if later < 0 {
		return -1
	}
	return i + 1 + later
}

// answersAll reports whether a rule answers each request that another one answers. Exits and
// listeners have rules of their own.
func answersAll(later, r *fakeruntime.Rule) bool {
	if r.Exit != nil || r.Refuse || later.Chance != nil || r.Listens != nil && later.Listens == nil {
		return false
	}
	own, theirs, answers := answersOf(r), answersOf(later), false
	for _, key := range slices.Concat(format.ProbeKeys, podutil.HookKeys, []string{"probes"}) {
		if *own[key] != nil && *theirs[key] == nil {
			return false
		}
		answers = answers || *own[key] != nil
	}
	return answers
}

// covers reports whether a range contains all integers of another one.
func covers(all, part fakeruntime.Range) bool {
	return !all.Set || part.Set && all.Min <= part.Min && part.Max <= all.Max
}

// isOpenWhile reports whether the window of a rule is open whenever that of another one is.
func isOpenWhile(later, r *fakeruntime.Rule) bool {
	sameClock := later.Clock == r.Clock && later.Moment == r.Moment
	fromBegin := later.From.Max == 0 && (later.Clock == fakeruntime.AfterStart || later.Clock == fakeruntime.AtScenario)
	opens := fromBegin && later.For == nil || sameClock && later.From.Max <= r.From.Min
	closes := later.For != nil && (r.For == nil || r.Every != nil ||
		later.From.Min+later.For.Min < r.From.Max+r.For.Max)
	return opens && !closes && later.Until == nil && later.Every == nil
}
