package incident

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
	"pgregory.net/rapid"

	"probesim.dev/internal/input"
)

var _ = flag.Set("rapid.seed", "1")

// TestAgesTellTimes writes texts as kubectl describe does, and checks that the times of the events
// contain the true ones, although the text tells only ages: the start of the container, which the
// text tells too, places them. A time whose age has seconds is exact to the second if the age of
// the start has them too.
func TestAgesTellTimes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		created := time.Date(2026, 11, 23, 10, 0, 0, 0, time.UTC)
		draw := func(name string, most time.Duration) time.Duration {
			return time.Duration(rapid.Int64Range(0, int64(most/time.Millisecond)).Draw(t, name)) * time.Millisecond
		}
		started := created.Add(draw("start", time.Minute))
		first := started.Add(draw("first failure", 30*time.Hour))
		last := first.Add(draw("last failure", 20*time.Hour))
		restarted := last.Add(draw("restart", time.Minute))
		now := restarted.Add(draw("printing", 9*time.Minute))
		age := func(at time.Time) string { return duration.HumanDuration(now.Sub(at.Truncate(time.Second))) }
		message := rapid.SampledFrom([]string{"Container started", "Started container web"}).Draw(t, "message")
		text := fmt.Sprintf(`Name:             web
Namespace:        default
Start Time:       %s
Status:           Running
Containers:
  web:
    Image:          web:1
    State:          Running
      Started:      %s
    Ready:          True
    Restart Count:  1
Events:
  Type     Reason     Age   From     Message
  ----     ------     ----  ----     -------
  Warning  Unhealthy  %s (x3 over %s)  kubelet  Liveness probe failed: no
  Normal   Started    %s (x2 over %s)  kubelet  %s
`, created.Format(time.RFC1123Z), restarted.Truncate(time.Second).Format(time.RFC1123Z), age(last), age(first),
			age(restarted), age(started), message)
		rec := Read([]input.File{{Name: "describe.txt", Data: []byte(text)}})
		events := 0
		for _, f := range rec.Facts {
			if f.Kind != Event {
				continue
			}
			events++
			truth := [2]time.Time{started, restarted}
			if f.Reason == "Unhealthy" {
				truth = [2]time.Time{first, last}
			}
			for i, m := range []Moment{f.When, f.Last} {
				if m.At.After(truth[i]) || !m.End().After(truth[i]) {
					t.Errorf("%s number %d was at %v, and the text tells %v to %v\n%s", f.Reason, i, truth[i], m.At,
						m.End(), text)
				}
				if strings.HasSuffix(age(restarted), "s") && strings.HasSuffix(age(truth[i]), "s") &&
					m.Within > time.Second {
					t.Errorf("%s number %d is only known within %v\n%s", f.Reason, i, m.Within, text)
				}
			}
		}
		if events != 2 {
			t.Errorf("there are %d events in\n%s", events, text)
		}
	})
}
