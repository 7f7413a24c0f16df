package tune

import (
	"fmt"
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/bounds"
	"probesim.dev/kube/podutil"
)

// kind is the type of a probe.
type kind int

const (
	startup kind = iota
	liveness
	readiness
	kinds
)

var kindNames = [kinds]string{"startup", "liveness", "readiness"}

// field is one of the numbers of a probe.
type field int

const (
	delay field = iota
	period
	timeout
	threshold
	fields
)

var fieldNames = [fields]string{"initialDelaySeconds", "periodSeconds", "timeoutSeconds", "failureThreshold"}

// least is the smallest value that Kubernetes accepts.
var least = [fields]int32{0, 1, 1, 1}

// greatest returns the greatest value of a field that tune tries.
func greatest(f field) int32 {
	if f == threshold {
		return math.MaxInt32
	}
	return bounds.LongestTime
}

// place is a field of a probe.
type place struct {
	kind  kind
	field field
}

func (p place) String() string { return kindNames[p.kind] + "Probe." + fieldNames[p.field] }

// Setting has the fields of the probes of a container. A probe with a period of 0 does not exist.
type setting [kinds][fields]int32

func (s setting) has(k kind) bool        { return s[k][period] > 0 }
func (s setting) at(p place) int32       { return s[p.kind][p.field] }
func (s *setting) set(p place, to int32) { s[p.kind][p.field] = to }

// with returns the setting with another value in a field.
func (s setting) with(p place, to int32) setting {
	s.set(p, to)
	return s
}

// probe returns the probe of a container.
func probe(c *v1.Container, k kind) **v1.Probe {
	return [kinds]**v1.Probe{&c.StartupProbe, &c.LivenessProbe, &c.ReadinessProbe}[k]
}

func settingOf(c *v1.Container) setting {
	var s setting
	for k := range kinds {
		if p := *probe(c, k); p != nil {
			s[k] = [fields]int32{p.InitialDelaySeconds, p.PeriodSeconds, p.TimeoutSeconds, p.FailureThreshold}
		}
	}
	return s
}

// apply changes a container of a pod to have the setting. A startup probe that it does not have gets the handler of its liveness
// probe.
func (s setting) apply(pod *v1.Pod, container string) {
	c := podutil.Find(pod, container)
	for k := range kinds {
		p := probe(c, k)
		if !s.has(k) {
			continue
		}
		if *p == nil {
			*p = c.LivenessProbe.DeepCopy()
			(*p).TerminationGracePeriodSeconds = nil
		}
		(*p).InitialDelaySeconds, (*p).PeriodSeconds, (*p).TimeoutSeconds, (*p).FailureThreshold = s[k][delay], s[k][period], s[k][timeout], s[k][threshold]
	}
}

// changes returns the fields that differ. A new probe changes the fields that make it: the period and the threshold, and a delay.
func (s setting) changes(old setting) []place {
	var list []place
	for k := range kinds {
		for f := range fields {
			p := place{k, f}
			added := s.has(k) && !old.has(k) && (f == period || f == threshold || f == delay && s.at(p) > 0)
			if added || old.has(k) && s.at(p) != old.at(p) {
				list = append(list, p)
			}
		}
	}
	return list
}

// cost says how big a change is. Fewer fields count first, then the sum of the relative changes.
type cost struct {
	fields   int
	relative float64
}

func (c cost) less(d cost) bool {
	return c.fields < d.fields || c.fields == d.fields && c.relative < d.relative-1e-9
}

func (s setting) cost(old setting) cost {
	var c cost
	for _, p := range s.changes(old) {
		c.fields++
		reference := float64(old.at(p))
		if !old.has(p.kind) { // a new probe is best like the liveness probe, with as few failures and as little delay as possible
			reference = float64(old[liveness][p.field])
			if p.field == threshold || p.field == delay {
				c.relative += float64(s.at(p)) / 100
				continue
			}
		}
		c.relative += math.Abs(float64(s.at(p))-reference) / max(1, reference)
	}
	return c
}

// relevant are the fields of the probes that a row depends on. A row without a startup probe depends on the liveness probe instead.
func relevant(s setting, row string) []place {
	starts := func(k kind) []place {
		list := []place{{k, threshold}, {k, period}, {k, timeout}}
		if k == startup { // a delay of the liveness probe also delays it after a quick start; a startup probe does not
			list = append(list, place{k, delay})
		}
		return list
	}
	runs := func(k kind) []place { return []place{{k, threshold}, {k, period}, {k, timeout}} }
	comesUp := []place{{startup, period}, {startup, delay}, {startup, timeout}, {readiness, period}, {readiness, delay}, {readiness, timeout}}
	killer := startup
	if !s.has(startup) {
		killer = liveness
	}
	var list []place
	switch row {
	case "start", "retry":
		list = starts(killer)
	case "restart":
		list = append(starts(killer), place{liveness, threshold}, place{liveness, period})
	case "stall", "silence", "detect":
		list = runs(liveness)
	case "serving", "unready":
		list = runs(readiness)
	case "ready":
		list = comesUp
	case "recover":
		list = append(runs(liveness), comesUp...)
	}
	return slices.DeleteFunc(list, func(p place) bool { return !s.has(p.kind) })
}

// values are the values of a field that a search tries, beginning with those that are the closest to the old value.
func values(p place, old, limit int32) []int32 {
	var list []int32
	add := func(v int32) {
		if v >= least[p.field] && v <= max(limit, old) && !slices.Contains(list, v) {
			list = append(list, v)
		}
	}
	for i := range int32(6) {
		add(old + i)
		add(old - i)
	}
	for _, v := range []int32{0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 25, 30, 40, 45, 60, 90, 120, 180, 240, 300, 600} {
		add(v)
	}
	slices.SortStableFunc(list, func(a, b int32) int { return int(max(a-old, old-a)) - int(max(b-old, old-b)) })
	return list
}

func (s setting) String() string {
	text := ""
	for k := range kinds {
		if s.has(k) {
			text += fmt.Sprintf("%s %v ", kindNames[k], s[k])
		}
	}
	return text
}
