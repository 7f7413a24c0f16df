package reconstruct

import (
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/incident"
	"probesim.dev/internal/value"
)

// noImage reports whether a fact says that the kubelet could not pull an image.
func noImage(f *incident.Fact) bool {
	return f.Kind == incident.Event && pullWords(f) != "" || f.Kind == incident.Waiting && withoutImage[f.Reason]
}

// withoutImage are the reasons for which a container waits for its image.
var withoutImage = map[string]bool{"ErrImagePull": true, "ImagePullBackOff": true}

// pullWords returns the words with which an event tells that an image was not pulled, or nothing if it does not.
func pullWords(f *incident.Fact) string {
	for _, words := range []string{failedToPull, "Error: ErrImagePull", "Error: ImagePullBackOff", "Back-off pulling image"} {
		if strings.HasPrefix(f.Message, words) && (f.Reason == "Failed" || f.Reason == "BackOff") {
			return words
		}
	}
	return ""
}

const failedToPull = "Failed to pull image"

// crashBackOff reports whether a fact is an event about the back-off of a container that ended.
func crashBackOff(f *incident.Fact) bool {
	return f.Kind == incident.Event && f.Reason == "BackOff" && pullWords(f) == ""
}

// lacksImage reports whether a container waited for an image that the kubelet could not pull.
func (m *model) lacksImage(container string) bool {
	return slices.ContainsFunc(m.pod.Facts, func(f *incident.Fact) bool { return f.Container == container && noImage(f) })
}

// findPull sets the time that a pull takes: between the first events about a pull, if these are exact, or else as the messages tell it, or
// else roughly. The messages do not tell how long a pull waited for those of other pods.
func (m *model) findPull() {
	took, within := m.firstPull()
	told := m.toldPull()
	switch {
	case took > 0 && within <= time.Millisecond || told == 0 && within <= time.Second:
		m.pull = took
	default:
		m.pull = told
	}
	for i := range m.object.Spec.Containers {
		c := &m.object.Spec.Containers[i]
		pulls := slices.ContainsFunc(m.pod.Facts, func(f *incident.Fact) bool {
			return f.Kind == incident.Event && f.Reason == "Pulling" && f.Container == c.Name
		})
		if pulls && c.ImagePullPolicy == "" && c.Image == "unknown" {
			c.ImagePullPolicy = v1.PullAlways
		}
	}
}

// firstPull returns the time from the first event about a pull to its end, and how exact the events are, or 0 if there are none.
func (m *model) firstPull() (took, within time.Duration) {
	var pulling *incident.Fact
	for _, f := range m.pod.Facts {
		switch {
		case f.Kind != incident.Event || !f.When.Known():
		case f.Reason == "Pulling" && pulling == nil:
			pulling = f
		case pulling != nil && f.Container == pulling.Container && (f.Reason == "Pulled" || pullWords(f) == failedToPull):
			return max(f.When.At.Sub(pulling.When.At), 0).Round(time.Millisecond), max(f.When.Within, pulling.When.Within)
		}
	}
	return 0, 0
}

// toldPull returns the mean time of the pulls whose messages tell it, or 0.
func (m *model) toldPull() time.Duration {
	var sum time.Duration
	n := 0
	for _, f := range m.pod.Facts {
		if f.Kind != incident.Event || f.Reason != "Pulled" || !strings.HasPrefix(f.Message, "Successfully pulled") {
			continue
		}
		_, rest, _ := strings.Cut(f.Message, " in ")
		words := strings.Fields(rest)
		if len(words) == 0 {
			continue
		}
		if d, err := time.ParseDuration(strings.TrimRight(words[0], ".")); err == nil && d > 0 && d < time.Hour {
			sum += d
			n++
		}
	}
	return (sum / time.Duration(max(n, 1))).Round(time.Millisecond)
}

// findImages makes the kubelet pull the images that the recording misses, and no others: a registry that is down fails all pulls.
func (m *model) findImages() {
	if !slices.ContainsFunc(m.pod.Facts, noImage) {
		return
	}
	m.parts = append(m.parts, &part{what: "registry", try: tryRegistry})
	for _, list := range [][]v1.Container{m.object.Spec.InitContainers, m.object.Spec.Containers} {
		for i := range list {
			c := &list[i]
			switch lacks := m.lacksImage(c.Name); {
			case lacks && c.ImagePullPolicy != v1.PullAlways:
				c.ImagePullPolicy = v1.PullAlways
				m.assumed = append(m.assumed, fmt.Sprintf("imagePullPolicy of %s is Always: the node does not have its image", c.Name))
			case !lacks && c.ImagePullPolicy != v1.PullIfNotPresent:
				c.ImagePullPolicy = v1.PullIfNotPresent
				m.assumed = append(m.assumed, fmt.Sprintf("imagePullPolicy of %s is IfNotPresent: its image can be pulled, or the node has it", c.Name))
			}
		}
	}
}

// vainPull returns the first event about the first pull of an image that could not be pulled, or nil.
func (m *model) vainPull() *incident.Fact {
	var first *incident.Fact
	for _, f := range m.pod.Facts {
		if f.Kind == incident.Event && f.Reason == "Pulling" && f.When.Known() && m.lacksImage(f.Container) && (first == nil || f.When.At.Before(first.When.At)) {
			first = f
		}
	}
	return first
}

// tryRegistry makes all pulls fail while those of the recording did: since the last container that started before, and until the first that
// started after.
func tryRegistry(s *search, _ *part) []choice {
	var failed, last incident.Moment
	for _, f := range s.model.pod.Facts {
		if !noImage(f) || !f.When.Known() {
			continue
		}
		if !failed.Known() || f.When.At.Before(failed.At) {
			failed = f.When
		}
		for _, at := range []incident.Moment{f.When, f.Last} {
			if at.Known() && at.At.After(last.At) {
				last = at
			}
		}
	}
	if !failed.Known() {
		return nil
	}
	from, to := time.Millisecond, time.Duration(0)
	for _, f := range s.model.pod.Facts {
		if f.Kind != incident.Event || !steps[f.Reason] || f.Reason == "Pulling" || !s.model.lacksImage(f.Container) {
			continue
		}
		for _, at := range []incident.Moment{f.When, f.Last} {
			switch {
			case !at.Known():
			case at.At.Before(failed.At):
				from = max(from, (at.At.Sub(s.best.zero)+failed.At.Sub(s.best.zero))/2)
			case at.At.After(last.At) && (to == 0 || at.At.Sub(s.best.zero) < to):
				to = at.At.Sub(s.best.zero)
			}
		}
	}
	down := choice{name: "registry", steps: []string{fmt.Sprintf("at: %s, registryDown: {}", value.Format(round(from)))}}
	if to > from {
		pause := min((to-last.At.Sub(s.best.zero))/2, time.Second)
		down.steps = []string{fmt.Sprintf("at: %s, registryDown: {for: %s}", value.Format(round(from)), value.Format(max(round(to-pause-from), time.Millisecond)))}
	}
	return []choice{{name: "none"}, down}
}
