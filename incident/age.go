package incident

import (
	"regexp"
	"strconv"
	"time"
)

// age is the age of something as kubectl writes it: the true age is at least at, and less than at plus unit, because kubectl
// leaves out small units. known is false for <unknown> and <invalid>.
type age struct {
	at, unit time.Duration
	known    bool
}

// agePattern matches ages of kubectl (HumanDuration of k8s.io/apimachinery/pkg/util/duration).
const agePattern = `(?:\d+[ydhms]){1,2}|<unknown>|<invalid>|just now`

var ageParts = regexp.MustCompile(`(\d+)([ydhms])`)

var units = map[string]time.Duration{"y": 365 * 24 * time.Hour, "d": 24 * time.Hour, "h": time.Hour, "m": time.Minute, "s": time.Second}

// oldest is the greatest age that counts as one: Kubernetes is younger.
const oldest = 50 * 365 * 24 * time.Hour

func parseAge(text string) age {
	var a age
	if text == "just now" {
		return age{0, time.Second, true}
	}
	for _, m := range ageParts.FindAllStringSubmatch(text, 2) {
		n, err := strconv.ParseInt(m[1], 10, 64)
		if err != nil || n > int64(oldest/units[m[2]]) {
			return age{}
		}
		a.at += time.Duration(n) * units[m[2]]
		a.unit, a.known = units[m[2]], true
	}
	return a
}

// moment returns the time of an age at now.
func (a age) moment(now time.Time) Moment {
	if !a.known {
		return Moment{}
	}
	return Moment{At: now.Add(-a.at - a.unit), Within: a.unit}
}
