package proof

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/answers/incident"
	"probesim.dev/internal/answers/incident/verdict"
	"probesim.dev/internal/input"
)

// score says how good a verdict is.
type score string

const (
	right   score = "right"
	aside   score = "aside"  // true, but not the trouble
	open    score = "open"   // names the true cause, or none
	missed  score = "missed" // open without the true cause, or no verdict
	likely  score = "likely and wrong"
	bad     score = "CERTAIN AND WRONG"
	differs score = "DIFFERS"
)

// result sums up the scores.
type result struct {
	texts  int
	scores map[[2]string]map[score]int // by the true cause and the cut
	kinds  map[string]*mistakes
}

// mistakes are wrong verdicts of a kind.
type mistakes struct {
	score    score
	count    int
	smallest text
	says     string
}

// judge compares the verdict on a text with the truth, and returns what it says.
func (r *result) judge(x text, all []podTruth, described *v1.Pod) string {
	rec := incident.Read([]input.File{{Name: "text", Data: []byte(x.data)}})
	report := verdict.Of(rec)
	if strings.HasPrefix(x.shape, "describe") {
		all = slices.DeleteFunc(slices.Clone(all), func(p podTruth) bool { return p.Pod != described })
	}
	main := mainTruth(all)
	s, says := missed, "no verdict"
	if main == nil || !main.troubled() {
		s = right
	}
	for i := range report.Verdicts {
		v := &report.Verdicts[i]
		of := scoreOf(v, meant(v, all), x.cut)
		if i == 0 || of == bad && s != bad {
			if s, says = of, sayVerdict(v); i == 0 && s == right && main != nil && main.troubled() && !about(v, all) {
				s = aside
			}
		}
	}
	cause := verdict.Nothing
	if main != nil {
		cause = main.main()
	}
	r.add(x, string(cause), s, says)
	return says
}

// mainTruth returns the truth about the container in the greatest trouble.
func mainTruth(all []podTruth) (best *truth) {
	for _, pod := range all {
		for _, t := range pod.containers {
			if best == nil || t.troubled() && (!best.troubled() || len(t.ends) > len(best.ends)) {
				best = t
			}
		}
	}
	return best
}

// meant returns the truths about the containers that a verdict can mean.
func meant(v *verdict.Verdict, all []podTruth) (list []*truth) {
	for _, pod := range all {
		if v.Pod != nil && !v.Pod.Unnamed && v.Pod.Name != "" && v.Pod.Name != pod.Name {
			continue
		}
		for _, t := range pod.containers {
			if v.Container == "" || v.Container == t.container {
				list = append(list, t)
			}
		}
	}
	return list
}

// about reports whether a verdict is about a container in trouble.
func about(v *verdict.Verdict, all []podTruth) bool {
	return slices.ContainsFunc(meant(v, all), (*truth).troubled)
}

func scoreOf(v *verdict.Verdict, of []*truth, cut string) score {
	is := func(cause verdict.Cause, also bool) bool {
		return slices.ContainsFunc(of, func(t *truth) bool { return t.primary[cause] || also && t.also[cause] })
	}
	switch {
	case v.Cause == verdict.Unknown, v.Cause == verdict.NoFacts, v.Cause == verdict.Waiting && v.Sure == verdict.Open,
		v.Cause == verdict.Nothing && v.Sure == verdict.Open:
		return open
	case v.Cause == verdict.Nothing && (cut == "status only" || cut == "no Killing") && !slices.ContainsFunc(of,
		func(t *truth) bool { return !t.quiet || cut == "no Killing" && t.also[verdict.Failing] }):
		return right // what happens just now does not show yet
	case v.Sure == verdict.Open:
		if slices.ContainsFunc(append([]verdict.Cause{v.Cause}, v.Or...),
			func(c verdict.Cause) bool { return is(c, true) }) {
			return open
		}
		return missed
	case is(v.Cause, false):
		return right
	case is(v.Cause, true):
		return aside
	case v.Sure == verdict.Certain:
		return bad
	}
	return likely
}

func sayVerdict(v *verdict.Verdict) string {
	or := ""
	for _, c := range v.Or {
		or += " or " + string(c)
	}
	return fmt.Sprintf("%s: %s%s (%s): %s", cmp.Or(v.Container, "the pod"), v.Cause, or, v.Sure, v.Sentence)
}

func (r *result) add(x text, cause string, s score, says string) {
	if r.scores == nil {
		r.scores, r.kinds = map[[2]string]map[score]int{}, map[string]*mistakes{}
	}
	r.texts++
	for _, row := range []string{"all", cause, "as " + x.shape, fmt.Sprintf("of v1.%d", x.release.minor)} {
		for _, column := range []string{"all", x.cut} {
			key := [2]string{row, column}
			if r.scores[key] == nil {
				r.scores[key] = map[score]int{}
			}
			r.scores[key][s]++
		}
	}
	if s == right || s == open {
		return
	}
	r.mistake(x, s, fmt.Sprintf("%s) for %s, %s", kind(says), cause, x.cut), says)
}

// kind returns the cause and the sureness in the words of sayVerdict.
func kind(says string) string {
	_, of, _ := strings.Cut(says, ": ")
	of, _, _ = strings.Cut(of, "): ")
	return of
}

func (r *result) mistake(x text, s score, kind, says string) {
	key := fmt.Sprintf("%s: %s", s, kind)
	k := r.kinds[key]
	if k == nil {
		k = &mistakes{score: s, smallest: x, says: says}
		r.kinds[key] = k
	}
	if k.count++; len(x.data) < len(k.smallest.data) {
		k.smallest, k.says = x, says
	}
}

// report prints the shares, and fails if they are too bad.
func (r *result) report(t *testing.T) {
	t.Helper()
	t.Logf("%d texts\n%s", r.texts, r.table())
	r.write(t)
	total, n := r.scores[[2]string{"all", "all"}], float64(r.texts)
	shown := 0
	for _, key := range r.worstFirst() {
		if k := r.kinds[key]; (k.score == bad || k.score == differs) && shown < *show {
			shown++
			t.Errorf("%d times %s\n%s: %s\n%s", k.count, key, &k.smallest, k.says, k.smallest.data)
		}
	}
	if total[bad] > 0 {
		t.Errorf("%d certain verdicts are wrong", total[bad])
	}
	least, most := 0.75, 0.05
	if r.texts < 5000 {
		least, most = 0.6, 0.12 // few runs differ much
	}
	if share := float64(total[right]) / n; share < least {
		t.Errorf("only %.1f%% of the verdicts are right", 100*share)
	}
	if share := float64(total[likely]+total[missed]) / n; share > most {
		t.Errorf("%.1f%% of the verdicts are wrong", 100*share)
	}
}

// table returns the shares by true cause and cut: right, aside, open, missed, likely and wrong,
// certain and wrong.
func (r *result) table() string {
	var b strings.Builder
	causes := map[string]bool{}
	for key := range r.scores {
		causes[key[0]] = true
	}
	fmt.Fprintf(&b, "percent right/aside/open/missed/likely and wrong, then the number of certain and wrong\n%-34s %6s",
		"", "texts")
	columns := []string{"all"}
	for _, c := range cuts {
		columns = append(columns, c.name)
	}
	for _, c := range columns {
		fmt.Fprintf(&b, " %-22s", c)
	}
	for _, cause := range slices.Sorted(maps.Keys(causes)) {
		n := 0
		for _, k := range r.scores[[2]string{cause, "all"}] {
			n += k
		}
		fmt.Fprintf(&b, "\n%-34s %6d", cause, n)
		for _, c := range columns {
			scores, n := r.scores[[2]string{cause, c}], 0
			for _, k := range scores {
				n += k
			}
			cell := ""
			for _, s := range []score{right, aside, open, missed, likely} {
				cell += fmt.Sprintf("%d/", (100*scores[s]+n/2)/max(n, 1))
			}
			cell = strings.TrimSuffix(cell, "/")
			if scores[bad] > 0 {
				cell += fmt.Sprintf(" !%d", scores[bad])
			}
			fmt.Fprintf(&b, " %-22s", cell)
		}
	}
	return b.String()
}

var severity = map[score]int{differs: 0, bad: 0, likely: 1, missed: 2, aside: 3}

func (r *result) worstFirst() []string {
	return slices.SortedFunc(maps.Keys(r.kinds), func(a, b string) int {
		x, y := r.kinds[a], r.kinds[b]
		return cmp.Or(cmp.Compare(severity[x.score], severity[y.score]), cmp.Compare(y.count, x.count),
			strings.Compare(a, b))
	})
}

// dull matches lines of kubectl describe that say nothing about trouble.
var dull = regexp.MustCompile(`(?m)^ *(Namespace|Node|Labels|Annotations|IP|Container ID|Image ID|Port|Host Port` +
	`|Environment|Mounts|Volumes|kube-api-access-x2b7l|Type|QoS Class|Node-Selectors|Tolerations|/var/run.*|node.kubernetes.*|PodReadyToStartContainers.*|PodScheduled.*)(:.*)?\n`)

// write writes the file of -wrong.
func (r *result) write(t *testing.T) {
	if *wrong == "" {
		return
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d texts\n\n```\n%s\n```\n", r.texts, r.table())
	for _, key := range r.worstFirst() {
		k := r.kinds[key]
		fmt.Fprintf(&b, "\n## %d times %s\n%s\nverdict: %s\n```\n%.6000s\n```\n", k.count, key, &k.smallest, k.says,
			dull.ReplaceAllString(k.smallest.data, ""))
	}
	keep(t, *wrong, []byte(b.String()))
}

func keep(t *testing.T, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
