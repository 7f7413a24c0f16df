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

// long reports whether only a kubectl that writes long ages writes this one: with two units, or with more than a whole unit of the next.
func (a age) long() bool {
	switch a.unit {
	case time.Second:
		return a.at >= time.Minute
	case time.Minute:
		return a.at >= time.Hour
	case time.Hour:
		return a.at >= 24*time.Hour
	case units["d"]:
		return a.at >= units["y"]
	}
	return false
}

// sharpen takes the ages of a text as exactly as kubectl writes them. It leaves out a second unit only if it is zero, or
// if the age is too great for two: 4m is a whole number of minutes, and 14m is not. Old versions always leave it out. A text shows that its
// kubectl does not if it has a long age. See HumanDuration and ShortHumanDuration in k8s.io/apimachinery/pkg/util/duration v0.37.
func (s *section) sharpen() {
	long := false
	for _, ages := range s.ages {
		long = long || ages[0].long() || ages[1].long()
	}
	if !long {
		return
	}
	for i := range s.ages {
		for j := range s.ages[i] {
			s.ages[i][j] = s.ages[i][j].sharp()
		}
	}
}

// sharp returns the age with the unit that HumanDuration counts in at this age.
func (a age) sharp() age {
	switch {
	case a.at < 10*time.Minute:
		a.unit = min(a.unit, time.Second)
	case a.at >= time.Hour && a.at < 8*time.Hour:
		a.unit = min(a.unit, time.Minute)
	case a.at >= 48*time.Hour && a.at < 8*units["d"]:
		a.unit = min(a.unit, time.Hour)
	case a.at >= 2*units["y"] && a.at < 8*units["y"]:
		a.unit = min(a.unit, units["d"])
	}
	return a
}
