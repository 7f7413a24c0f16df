package measure

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"probesim.dev/internal/answers/incident"
	"probesim.dev/internal/podutil"
	"probesim.dev/internal/value"
	"probesim.dev/prober"
	"probesim.dev/trace"
)

// Metrics are answers of Prometheus, or what the kubelet serves at /metrics/probes.
type Metrics struct{ series []series }

// series is the values of a metric with some labels, in the order of time.
type series struct {
	labels map[string]string // __name__ has the name of the metric
	values []float64
}

// maxSeries limits the series of all files, and maxValues the values of one.
const maxSeries, maxValues = 200_000, 100_000

// Read adds the metrics in a file: the JSON of query or query_range, one after the other, or the
// text format, which can be that of promtool. The error has the line.
func (m *Metrics) Read(data []byte) error {
	if text := bytes.TrimSpace(data); bytes.HasPrefix(text, []byte("{")) && !bytes.HasPrefix(text, []byte("{}")) {
		return m.readJSON(data)
	}
	var labels map[string]string
	for i, line := range strings.Split(string(data), "\n") {
		line = strings.TrimSpace(promtoolTime.ReplaceAllString(line, ""))
		if line == "" || line[0] == '#' {
			continue
		}
		text := line
		if parts := sampleLine.FindStringSubmatch(line); parts != nil {
			text, labels = parts[3], map[string]string{"__name__": parts[1]}
			for _, l := range labelOf.FindAllStringSubmatch(parts[2], -1) {
				labels[l[1]] = l[2]
			}
		}
		value, err := strconv.ParseFloat(text, 64)
		switch {
		case labels == nil || err != nil && text == line:
			return fmt.Errorf("%d:1: this is no sample of the text format of Prometheus, such as "+
				"prober_probe_total{probe_type=\"Liveness\"} 3", i+1)
		case text == "": // promtool and the page of Prometheus write the values below the labels
		case err != nil:
			return fmt.Errorf("%d:%d: %.20q is no number", i+1, strings.LastIndex(line, text)+1, text)
		default:
			if err := m.add(labels, []float64{value}); err != nil {
				return err
			}
		}
	}
	return nil
}

var (
	sampleLine = regexp.MustCompile(
		`^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})?(?:\s*=>)?(?:\s+([^\s{]\S*))?(?:\s+-?\d+)?$`)
	labelOf      = regexp.MustCompile(`([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"`)
	promtoolTime = regexp.MustCompile(`\s+@\[[\d.]+\]$`)
)

func (m *Metrics) readJSON(data []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	for {
		var answer struct {
			Status, Error string
			Data          *struct {
				Result []struct {
					Metric map[string]string
					Value  *point
					Values []point
				}
			}
		}
		begin := decoder.InputOffset()
		at := func(offset int64) int { return bytes.Count(data[:min(int(offset), len(data))], []byte("\n")) + 1 }
		switch err := decoder.Decode(&answer); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("%d:1: this is no answer of Prometheus: a number, a list or an object is not where it "+
				"should be, or the text is cut off", at(decoder.InputOffset()))
		case answer.Data == nil || answer.Status == "error":
			return fmt.Errorf("%d:1: this is no answer of Prometheus with data: %.200s", at(begin), answer.Error)
		}
		for _, r := range answer.Data.Result {
			if r.Metric["__name__"] == "" {
				return fmt.Errorf("%d:1: the answer has no name of a metric: ask for the metric itself, not for a "+
					"function of it such as rate", at(begin))
			}
			if r.Value != nil {
				r.Values = append(r.Values, *r.Value)
			}
			values := make([]float64, len(r.Values))
			for i, v := range r.Values {
				values[i] = float64(v)
			}
			if err := m.add(r.Metric, values); err != nil {
				return err
			}
		}
	}
}

// point is the value of a pair of a time and a value, which is a text.
type point float64

func (p *point) UnmarshalJSON(data []byte) error {
	var pair [2]json.RawMessage
	var text string
	if err := errors.Join(json.Unmarshal(data, &pair), json.Unmarshal(pair[1], &text)); err != nil {
		return err
	}
	value, err := strconv.ParseFloat(text, 64)
	*p = point(value)
	return err
}

func (m *Metrics) add(labels map[string]string, values []float64) error {
	if len(m.series) >= maxSeries || len(values) > maxValues {
		return fmt.Errorf("there are more than %d series, or more than %d values of one: ask for one namespace",
			maxSeries, maxValues)
	}
	// without honorLabels, Prometheus renames the labels of kube-state-metrics
	for _, name := range []string{"namespace", "pod", "container"} {
		if exported, has := labels["exported_"+name]; has {
			labels[name] = exported
		}
	}
	last := len(m.series) - 1
	switch {
	case len(values) == 0:
	case last >= 0 && maps.Equal(m.series[last].labels, labels): // values below the labels
		m.series[last].values = append(m.series[last].values, values...)
	default:
		m.series = append(m.series, series{labels, values})
	}
	return nil
}

// Empty reports whether no metric is there that measure reads.
func (m *Metrics) Empty() bool {
	return !slices.ContainsFunc(m.series, series.known)
}

func (s series) known() bool {
	return slices.Contains(metricNames, strings.TrimSuffix(s.labels["__name__"], "_bucket"))
}

// pod returns the namespace and the name of the pod.
func (s series) pod() string { return s.labels["namespace"] + "/" + s.labels["pod"] }

// The metrics that are read: those of the kubelet (pkg/kubelet/prober/prober_manager.go at
// v1.37.0), and those of kube-state-metrics.
const (
	probeTotal    = "prober_probe_total"
	probeDuration = "prober_probe_duration_seconds"
	readyTime     = "kube_pod_status_ready_time"
	stateStarted  = "kube_pod_container_state_started"
	restartsTotal = "kube_pod_container_status_restarts_total"
)

var metricNames = []string{probeTotal, probeDuration, readyTime, stateStarted, restartsTotal}

// addTo adds the starts and the restarts that the metrics tell to the pods of a recording. A pod
// that the recording does not have gets the spec of another pod of its workload, whose name differs
// in the last part.
func (m *Metrics) addTo(pods []*incident.Pod) []*incident.Pod {
	named, sibling := map[string]*incident.Pod{}, map[string]*incident.Pod{}
	for i, p := range pods {
		own := *p
		own.Facts = slices.Clone(p.Facts)
		pods[i], named[p.Key()] = &own, &own
		if p.Object != nil {
			sibling[withoutLast(p.Key())] = &own
		}
	}
	for _, s := range m.series {
		var f incident.Fact
		switch s.labels["__name__"] {
		case readyTime:
			f = incident.Fact{Kind: incident.Condition, Reason: "Ready", Value: "True"}
		case stateStarted:
			f = incident.Fact{Kind: incident.Running, Count: -1}
		case restartsTotal:
			f = incident.Fact{Kind: incident.Restarts, Count: int(min(max(s.values[len(s.values)-1], 0), 1e6))}
			s.values = s.values[:1]
		default:
			continue
		}
		key := s.pod()
		p := named[key]
		if of := sibling[withoutLast(key)]; p == nil && of != nil {
			p = &incident.Pod{Namespace: of.Namespace, Name: s.labels["pod"], Node: s.labels["node"],
				Object: of.Object.DeepCopy()}
			p.Object.Name = p.Name
			pods, named[key] = append(pods, p), p
		}
		if p == nil {
			continue
		}
		f.Container = s.labels["container"]
		for _, v := range slices.Compact(s.values) {
			fact := f
			if at := time.Unix(int64(min(max(v, 0), 1e10)), 0).UTC(); f.Kind != incident.Restarts && v > 0 {
				fact.When = incident.Moment{At: at, Within: time.Second}
			}
			p.Facts = append(p.Facts, &fact)
		}
	}
	return pods
}

// unused adds the pods that only the metrics have.
func (m *Metrics) unused(list []Count, pods []*incident.Pod) []Count {
	seen := map[string]bool{}
	for _, p := range pods {
		seen[p.Key()] = true
	}
	for _, s := range m.series {
		if key := s.pod(); !seen[key] && s.known() {
			seen[key] = true
			list = add(list, "only the metrics have it, and no pod of its workload is in the files", key)
		}
	}
	return list
}

// withoutLast returns a name without what follows its last dash.
func withoutLast(name string) string { return name[:max(strings.LastIndex(name, "-"), 0)] }

// Probe is what metrics say about a probe of a container.
type Probe struct {
	Type     trace.Probe `json:"type"`
	Runs     int         `json:"runs"`
	Failures int         `json:"failures"`
	// Within is the least bound of the histogram in which 99% of the successful runs ended, or nil
	// if it has no such bound. The kubelet does not count the others (doProbe in
	// pkg/kubelet/prober/worker.go at v1.37.0).
	Within  *value.Seconds `json:"within,omitempty"`
	Timeout value.Seconds  `json:"timeout"`

	buckets map[float64]float64
}

// ofProbes adds what the metrics say about the probes of the containers of a workload.
func (m *Metrics) ofProbes(w *Workload, pods map[string]*incident.Pod) {
	for _, s := range m.series {
		pod := pods[s.pod()]
		of := trace.Probe(strings.ToLower(s.labels["probe_type"]))
		name := s.labels["__name__"]
		if pod == nil || !slices.Contains(trace.ProbeTypes, of) || name != probeTotal && name != probeDuration+
			"_bucket" {
			continue
		}
		p := w.container(s.labels["container"]).probe(of, pod)
		count := s.increase()
		if name == probeTotal {
			if p.Runs += int(count); s.labels["result"] == "failed" {
				p.Failures += int(count)
			}
		} else if le, err := strconv.ParseFloat(s.labels["le"], 64); err == nil {
			p.buckets[le] += count
		}
	}
	for _, c := range w.Containers {
		for _, p := range c.Probes {
			p.tail()
		}
	}
}

// increase returns by how much a counter grew. It begins again when the kubelet restarts. A single
// value counts from 0.
func (s *series) increase() (sum float64) {
	last := s.values[0]
	if len(s.values) == 1 {
		last = 0
	}
	for _, v := range s.values {
		if v < last {
			last = 0
		}
		if v > last { // neither is true of a value that is no number
			sum, last = sum+v-last, v
		}
	}
	return min(sum, 1e12)
}

// probe returns a probe of the container.
func (c *Container) probe(of trace.Probe, pod *incident.Pod) *Probe {
	for _, p := range c.Probes {
		if p.Type == of {
			return p
		}
	}
	p := &Probe{Type: of, buckets: map[float64]float64{}}
	if spec := podutil.Find(pod.Object, c.Name); spec != nil && prober.ProbeOf(spec, of) != nil {
		p.Timeout = value.Seconds(time.Duration(cmp.Or(prober.ProbeOf(spec, of).TimeoutSeconds, 1)) * time.Second)
	}
	c.Probes = append(c.Probes, p)
	return p
}

// tail computes in which time 99% of the successful runs ended.
func (p *Probe) tail() {
	all := p.buckets[math.Inf(1)]
	for _, le := range slices.Sorted(maps.Keys(p.buckets)) {
		if all > 0 && p.buckets[le] >= 0.99*all && le < 1e6 {
			p.Within = new(value.Seconds(le * float64(time.Second)))
			return
		}
	}
}
