package proof

import (
	"fmt"
	"math/bits"
	"strings"
	"time"
)

// rng is SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
type rng struct{ state uint64 }

func (r *rng) below(n int) int {
	r.state += 0x9e3779b97f4a7c15
	z := r.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	high, _ := bits.Mul64(z^z>>31, uint64(n))
	return int(high)
}

func (r *rng) percent(p int) bool { return r.below(100) < p }

// between returns a duration from lo to hi, in milliseconds.
func (r *rng) between(lo, hi time.Duration) time.Duration {
	return lo + time.Duration(r.below(int((hi-lo)/time.Millisecond)+1))*time.Millisecond
}

func one[T any](r *rng, items ...T) T { return items[r.below(len(items))] }

// trouble writes a scenario in which one container has a trouble of a kind that people report.
type trouble struct {
	rng
	duration time.Duration
	spec     []string // fields of the container
	rules    []string
	steps    []string
	answers  []string
	grace    int
	policy   string // imagePullPolicy
	ready    bool   // the kind of trouble has a readiness probe of its own
}

// troubles are the kinds, with weights.
var troubles = []struct {
	weight int
	of     func(*trouble)
}{
	{26, (*trouble).killedByLiveness}, {14, (*trouble).killedByStartup}, {20, (*trouble).exits},
	{6, (*trouble).outOfMemory}, {7, (*trouble).unready},
	{4, (*trouble).healthy}, {5, (*trouble).deleted}, {5, (*trouble).hookFails}, {5, (*trouble).noImage},
	{3, (*trouble).nowAndThen}, {5, (*trouble).killedAndExits},
}

// scenario returns the scenario of a seed.
func (t *trouble) scenario() []byte {
	t.duration = t.between(90*time.Second, one(&t.rng, 5*time.Minute, 15*time.Minute, 40*time.Minute))
	t.grace, t.policy = one(&t.rng, 0, 0, 0, 5, 10, 60), "IfNotPresent"
	total := 0
	for _, k := range troubles {
		total += k.weight
	}
	n := t.below(total)
	for _, k := range troubles {
		if n -= k.weight; n < 0 {
			k.of(t)
			break
		}
	}
	t.stops()
	name := fmt.Sprintf("web-%08x-%05x", t.below(1<<31), t.below(1<<20))
	var b strings.Builder
	fmt.Fprintf(&b, "apiVersion: v1\nkind: Pod\nmetadata: {name: %s}\nspec:\n", name)
	if t.grace > 0 {
		fmt.Fprintf(&b, "  terminationGracePeriodSeconds: %d\n", t.grace)
	}
	own := fmt.Sprintf("  - name: app\n    image: shop/app:1\n    imagePullPolicy: %s\n", t.policy)
	for _, line := range t.spec {
		own += "    " + line + "\n"
	}
	other := ""
	if t.percent(25) {
		other = "  - name: sidecar\n    image: shop/proxy:1\n" +
			one(&t.rng, "", "    readinessProbe: {httpGet: {path: /ready, port: 15021}, periodSeconds: 2}\n",
				"    livenessProbe: {tcpSocket: {port: 9000}}\n")
	}
	if t.percent(50) {
		own, other = other, own
	}
	fmt.Fprintf(&b, "  containers:\n%s%s---\napiVersion: probesim.dev/v1alpha1\nkind: Scenario\nmetadata: {name: "+
		"trouble}\nspec:\n  duration: %s\n", own, other, t.duration)
	fmt.Fprintf(&b, "  kubelet: {uptime: %s}\n  pods:\n  - name: %s\n    containers:\n    - name: app\n",
		one(&t.rng, "150.337s", "3h", "2s"), name)
	if strings.Contains(strings.Join(t.rules, ""), "words") {
		lines(&b, "      ", "answers", t.answers)
	}
	lines(&b, "      ", "behavior", t.rules)
	lines(&b, "  ", "steps", t.steps)
	return []byte(b.String())
}

func lines(b *strings.Builder, indent, name string, list []string) {
	if len(list) == 0 {
		return
	}
	fmt.Fprintf(b, "%s%s:\n", indent, name)
	for _, item := range list {
		fmt.Fprintf(b, "%s- %s\n", indent, item)
	}
}

func (t *trouble) rule(format string, values ...any) {
	t.rules = append(t.rules, fmt.Sprintf(format, values...))
}

// stops adds how the program reacts to SIGTERM: most programs end with 143, some with a code of
// their own, and shells not at all.
func (t *trouble) stops() {
	switch t.below(10) {
	case 0, 1:
		t.rule("{afterSigterm: %s, exit: %d}", t.between(10*time.Millisecond, 8*time.Second), one(&t.rng, 0, 0, 1, 2))
	case 2, 3:
		t.rule("{afterSigterm: 0s, exit: never}")
	case 4:
		t.rule("{afterSigterm: %s, exit: %d}", t.between(time.Second, 20*time.Second), one(&t.rng, 0, 143))
	}
}

// handlers are how a probe asks, and the answers with which it fails.
var handlers = []struct {
	spec    string
	answers []string
}{
	{"httpGet: {path: /healthz, port: 8080}",
		[]string{"404", "404", "401", "500", "503", "503", "down", "down", "hang", "hang"}},
	{"httpGet: {path: /healthz, port: 8080}", []string{"404", "500", "503", "down", "hang"}},
	{"tcpSocket: {port: 5432}", []string{"down", "down", "hang"}},
	{"exec: {command: [pg_isready, -U, app]}", []string{"words", "1", "hang", "hang", "2"}},
	{"grpc: {port: 50051}", []string{"NOT_SERVING", "SERVICE_UNKNOWN", "UNIMPLEMENTED", "down", "hang"}},
}

// probe adds a probe and returns an answer with which it fails.
func (t *trouble) probe(name string, mostPeriods int) string {
	h := one(&t.rng, handlers...)
	threshold := min(one(&t.rng, 3, 3, 3, 1, 2, 5, 10, 30), mostPeriods)
	fields := []string{h.spec}
	for _, f := range []struct {
		name   string
		values []int
	}{{"initialDelaySeconds", []int{0, 0, 5, 10, 15, 30, 60}}, {"periodSeconds", []int{0, 0, 1, 2, 5, 10, 15, 30}},
		{"timeoutSeconds", []int{0, 0, 0, 2, 5, 10}}} {
		if v := one(&t.rng, f.values...); v > 0 {
			fields = append(fields, fmt.Sprintf("%s: %d", f.name, v))
		}
	}
	if threshold != 3 {
		fields = append(fields, fmt.Sprintf("failureThreshold: %d", threshold))
	}
	if name != "readinessProbe" && t.percent(8) {
		fields = append(fields, fmt.Sprintf("terminationGracePeriodSeconds: %d", one(&t.rng, 1, 5, 20)))
	}
	t.spec = append(t.spec, fmt.Sprintf("%s: {%s}", name, strings.Join(fields, ", ")))
	answer := one(&t.rng, h.answers...)
	if answer == "words" && len(t.answers) == 0 {
		t.answers = append(t.answers, fmt.Sprintf("{name: words, code: 1, body: %q}",
			one(&t.rng, "/tmp/socket:5432 - no response", "Error: dial: lookup db: timeout",
				"not ready\nqueue: 17 waiting", "connection refused")))
	}
	return answer
}

// readiness adds a readiness probe to most pods. It fails while the container starts, or all the
// time, or as the other probe does.
func (t *trouble) readiness() {
	if t.ready || !t.percent(60) {
		return
	}
	answer := t.probe("readinessProbe", 5)
	switch t.below(4) {
	case 0:
		t.rule("{readiness: %s}", answer)
	case 1, 2:
		t.rule("{for: %s, readiness: %s}", t.between(2*time.Second, 40*time.Second), answer)
	}
}

func (t *trouble) killedByLiveness() {
	t.readiness()
	answer := t.probe("livenessProbe", 10)
	switch t.below(4) {
	case 0, 1:
		t.rule("{liveness: %s}", answer)
	case 2:
		t.rule("{after: %s, liveness: %s}", t.between(5*time.Second, t.duration/3), answer)
	default:
		t.rule("{at: %s, for: %s, liveness: %s}", t.between(5*time.Second, t.duration/3),
			t.between(30*time.Second, t.duration), answer)
	}
}

func (t *trouble) killedByStartup() {
	t.readiness()
	if t.percent(50) {
		t.probe("livenessProbe", 5)
	}
	answer := t.probe("startupProbe", 10)
	if t.percent(60) {
		t.rule("{startup: %s}", answer)
	} else {
		t.rule("{for: %s, startup: %s}", t.between(20*time.Second, 3*time.Minute), answer)
	}
}

// quietProbes adds probes that do not fail, or now and then, or while the container starts.
func (t *trouble) quietProbes() {
	t.readiness()
	for _, name := range []string{"liveness", "startup"} {
		if !t.percent(45) {
			continue
		}
		answer := t.probe(name+"Probe", 10)
		switch t.below(5) {
		case 0:
			t.rule("{%s: [ok x%d, %s, ok]}", name, 1+t.below(5), answer)
		case 1:
			if name == "liveness" {
				t.rule("{%s: [%s, ok]}", name, answer)
			}
		}
	}
}

func (t *trouble) exits() {
	t.quietProbes()
	code := one(&t.rng, 1, 1, 1, 0, 2, 2, 137, 139, 143, 255, 127)
	switch t.below(4) {
	case 0:
		t.rule("{after: %s, exit: %d}", t.between(50*time.Millisecond, 3*time.Second), code)
	case 1:
		t.rule("{after: %s, exit: %d}", t.between(time.Second, 90*time.Second), code)
	case 2:
		t.rule("{instance: ..%d, after: %s, exit: %d}", t.below(5), t.between(time.Second, t.duration/4), code)
	default:
		t.rule("{at: %s, exit: %d}", t.between(5*time.Second, t.duration/2), code)
	}
}

func (t *trouble) outOfMemory() {
	t.quietProbes()
	at := t.between(5*time.Second, t.duration/2)
	for range 1 + t.below(4) {
		t.steps = append(t.steps, fmt.Sprintf("{at: %s, kill: {container: app}}", at))
		if at += t.between(5*time.Minute+20*time.Second, 6*time.Minute); at > t.duration {
			break
		}
	}
}

func (t *trouble) unready() {
	t.ready = true
	t.quietProbes()
	answer := t.probe("readinessProbe", 5)
	if t.percent(60) {
		t.rule("{readiness: %s}", answer)
	} else {
		t.rule("{at: %s, for: %s, readiness: %s}", t.between(0, t.duration/2), t.between(10*time.Second, t.duration),
			answer)
	}
}

func (t *trouble) healthy() { t.quietProbes() }

func (t *trouble) deleted() {
	t.quietProbes()
	t.steps = append(t.steps, fmt.Sprintf("{at: %s, delete: {}}", t.between(20*time.Second, t.duration)))
}

func (t *trouble) hookFails() {
	t.quietProbes()
	t.spec = append(t.spec, "lifecycle: {postStart: {exec: {command: [register]}}}")
	t.rule("{postStart: 1 in %s}", t.between(10*time.Millisecond, 70*time.Second))
}

func (t *trouble) noImage() {
	t.quietProbes()
	t.policy = "Always"
	t.steps = append(t.steps, fmt.Sprintf("{at: 0s, registryDown: {for: %s}}", one(&t.rng, t.duration, t.duration/2)))
}

func (t *trouble) nowAndThen() {
	answer := t.probe("livenessProbe", 10)
	t.rule("{liveness: [ok x%d, %s, repeat]}", 2+t.below(30), answer)
}

func (t *trouble) killedAndExits() {
	t.killedByLiveness()
	t.rule("{instance: %d, after: %s, exit: %d}", t.below(4), t.between(time.Second, 50*time.Second),
		one(&t.rng, 1, 2, 139))
}
