package probetest

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/answers/check/render"
	"probesim.dev/internal/input"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/require"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/scenarios/simulate"
	"probesim.dev/internal/value"
	"probesim.dev/kube/profile"
	"probesim.dev/scenarios"
)

// Manifest is the path of a file with manifests, for MeetRequirements. It is relative to the
// directory of the test.
type Manifest string

// MeetRequirements succeeds if the probe settings of a workload meet requirements on every node and
// in every phase, as 'probesim check
// --require' does. The actual value is a Manifest or an API object that creates pods:
//
//	Expect(Manifest("deploy.yaml")).To(MeetRequirements("start>=70s, stall>=15s, detect<=45s"))
//
// The rows are start, restart, retry, stall, silence, errors and serving, which take >=, and ready,
// unready, detect and recover, which take <=. A requirement is about each container that is not a
// sidecar, all of which must have a probe for it, or about one container, as in "app/start>=70s".
// The requirements apply to all workloads of a manifest, in place of those in their annotations.
func MeetRequirements(requirements string) *MeetRequirementsMatcher {
	m := &MeetRequirementsMatcher{requirements: requirements}
	m.function, m.judge = "MeetRequirements", m
	return m
}

// MeetRequirementsMatcher is the type of MeetRequirements. It checks for the newest version of
// Kubernetes and typical nodes, unless the methods say otherwise.
type MeetRequirementsMatcher struct {
	matcher
	requirements string
	kubernetes   []string
	delays       string
	start        value.Durations
	kind, name   string // the only workload; empty: all
}

// verified is the result for a requirement of a workload.
type verified struct {
	workload string
	check.Verification
}

// OnKubernetes sets the versions of Kubernetes, such as "v1.37". The requirements must hold on all
// of them.
func (m *MeetRequirementsMatcher) OnKubernetes(versions ...string) *MeetRequirementsMatcher {
	m.kubernetes = versions
	return m
}

// WithDelays sets the nodes: "fast", "typical" or "slow", or "default" for nodes without ranges.
func (m *MeetRequirementsMatcher) WithDelays(name string) *MeetRequirementsMatcher {
	m.delays = name
	return m
}

// WithStart says how long a start of the programs takes, except those of sidecars. The time to
// recover includes the longest start.
func (m *MeetRequirementsMatcher) WithStart(least, greatest time.Duration) *MeetRequirementsMatcher {
	m.start.Ordinary = &value.Interval{Min: least, Max: greatest}
	return m
}

// WithStartOf says how long a start of the program of a container takes, in place of WithStart.
func (m *MeetRequirementsMatcher) WithStartOf(container string, least,
	greatest time.Duration) *MeetRequirementsMatcher {
	if m.start.Of == nil {
		m.start.Of = map[string]value.Interval{}
	}
	m.start.Of[container] = value.Interval{Min: least, Max: greatest}
	return m
}

// Of limits the matcher to one workload of a manifest, such as Of("Deployment", "orders").
func (m *MeetRequirementsMatcher) Of(kind, name string) *MeetRequirementsMatcher {
	m.kind, m.name = kind, name
	return m
}

func (m *MeetRequirementsMatcher) expected(to string) string { return to + "meet " + m.requirements }

func (m *MeetRequirementsMatcher) examine(actual any) (bool, *finding, error) {
	options, err := m.options()
	if err != nil {
		return false, nil, err
	}
	file, err := manifestOf(actual)
	if err != nil {
		return false, nil, err
	}
	r, err := m.check(file, options)
	if err != nil {
		return false, nil, err
	}
	results, err := m.verify(r)
	if err != nil {
		return false, nil, err
	}
	command := ""
	if _, is := actual.(Manifest); is {
		command = m.shell(file.Name)
	}
	found := &finding{about: named(printable.Text(file.Name)), got: describe(results, command)}
	failed := slices.IndexFunc(results, func(v verified) bool { return !v.Met })
	if failed >= 0 {
		found.short = "not met is " + render.Requirement(&results[failed].Verification)
	}
	return failed < 0, found, nil
}

// named is a name in a message.
type named string

func (n named) String() string { return string(n) }

func (m *MeetRequirementsMatcher) options() (check.Options, error) {
	o := check.Options{Delays: cmp.Or(m.delays, "typical"), Start: m.start, IgnoreAnnotations: true}
	if strings.TrimSpace(m.requirements) == "" {
		return o, errors.New("there are no requirements: name one or more, such as start>=70s")
	}
	required, err := require.Parse(m.requirements)
	if err != nil {
		return o, err
	}
	if _, rollouts := require.Split(required); len(rollouts) > 0 {
		return o, fmt.Errorf("%s is about a rollout: 'probesim rollout' judges it", rollouts[0])
	}
	o.Require = check.RequirementsOf(required)
	for _, name := range m.kubernetes {
		p, known := profile.Named(name)
		if !known {
			return o, fmt.Errorf("there is no Kubernetes %s: the versions are %s", printable.Text(name),
				strings.Join(profile.NamesWithPreviews(), ", "))
		}
		o.Profiles = append(o.Profiles, p)
	}
	if s := m.start.Ordinary; s != nil && (s.Min < 0 || s.Max < s.Min) {
		return o, fmt.Errorf("WithStart takes the least and the greatest duration, not %s and %s", s.Min, s.Max)
	}
	for _, name := range slices.Sorted(maps.Keys(m.start.Of)) {
		if s := m.start.Of[name]; s.Min < 0 || s.Max < s.Min {
			return o, fmt.Errorf("WithStartOf takes a container, and the least and the greatest duration, not %s, %s "+
				"and %s", printable.Text(name), s.Min, s.Max)
		}
	}
	if o.Delays != "default" {
		set, known := fakeruntime.DelaySet(o.Delays)
		if !known {
			return o, fmt.Errorf("there are no nodes called %s: the names are %s, default", printable.Text(o.Delays),
				strings.Join(fakeruntime.DelaySets(), ", "))
		}
		o.Nodes = set
	}
	return o, nil
}

// manifestOf returns the manifest of the actual value of an assertion.
func manifestOf(actual any) (input.File, error) {
	switch a := actual.(type) {
	case Manifest:
		data, err := scenarios.ReadFile(filepath.ToSlash(string(a)))
		if err != nil {
			err = fmt.Errorf("%s: cannot be read: %w", a, err)
		}
		return input.File{Name: filepath.ToSlash(string(a)), Data: data}, err
	case Workload:
		data, err := manifests.Marshal(a)
		if err != nil {
			return input.File{}, err
		}
		return input.File{Name: nameOf(a), Data: data}, nil
	}
	return input.File{}, fmt.Errorf("expected a probetest.Manifest or an API object such as *appsv1.Deployment, "+
		"got a %T", actual)
}

// nameOf returns the kind and the name of an object.
func nameOf(w Workload) string {
	return strings.TrimSpace(reflect.TypeOf(w).Elem().Name() + " " +
		printable.Text(cmp.Or(w.GetName(), w.GetGenerateName())))
}

func (m *MeetRequirementsMatcher) check(file input.File, o check.Options) (*check.Report, error) {
	if err := o.UnknownContainers([]input.File{file}); err != nil {
		return nil, err
	}
	c, err := check.New([]input.File{file}, o)
	if err != nil {
		return nil, fmt.Errorf("the manifest is invalid\n%w", err)
	}
	return c.Report(), nil
}

// verify collects the results of the requirements. It returns an error for a requirement that no
// setting can break.
func (m *MeetRequirementsMatcher) verify(r *check.Report) (results []verified, err error) {
	var names, about []string
	for _, w := range r.Workloads {
		name := printable.Text(w.Kind + " " + w.Name)
		names = append(names, name)
		if m.kind != "" && (w.Kind != m.kind || w.Name != m.name) {
			continue
		}
		about = append(about, name)
		if w.Problem != "" {
			return nil, fmt.Errorf("%s cannot be checked: %s", name, w.Problem)
		}
		for _, v := range w.Requirements {
			switch {
			case len(v.Missing) > 0:
				return nil, fmt.Errorf("%s, %s: %s%s", name, v.Requirement, v.Reason, m.one(r))
			case v.Reason != "":
				return nil, fmt.Errorf("%s, %s: %s", name, v.Requirement, printable.Text(v.Reason))
			}
			results = append(results, verified{name, v})
		}
	}
	switch {
	case len(names) == 0:
		return nil, fmt.Errorf("there is no workload in the manifest: it needs at least one of %s", manifests.Workloads)
	case len(about) > 0 && len(results) == 0:
		return nil, fmt.Errorf("%s has no container that the requirements name", strings.Join(about, ", "))
	case len(results) == 0:
		return nil, fmt.Errorf("there is no %s %s in the manifest: it has %s",
			printable.Text(m.kind), printable.Text(m.name), strings.Join(names, ", "))
	}
	return results, nil
}

// one says how to select one workload of several.
func (m *MeetRequirementsMatcher) one(r *check.Report) string {
	if m.kind != "" || len(r.Workloads) < 2 {
		return ""
	}
	return `: select a workload, as in MeetRequirements(...).Of("Deployment", "web")`
}

// shell returns the command that checks a file in the same way.
func (m *MeetRequirementsMatcher) shell(file string) string {
	words := []string{"probesim check", simulate.Quote(file), "--require", simulate.Quote(m.requirements)}
	if len(m.kubernetes) > 0 {
		words = append(words, "--kubernetes", strings.Join(m.kubernetes, ","))
	}
	if m.delays != "" {
		words = append(words, "--delays", m.delays)
	}
	if text := m.start.String(); text != "" {
		words = append(words, "--start", simulate.Quote(text))
	}
	return strings.Join(words, " ")
}

// describe lists the results, and how to see more.
func describe(results []verified, command string) string {
	var b strings.Builder
	several := slices.ContainsFunc(results, func(v verified) bool { return v.workload != results[0].workload })
	for _, v := range results {
		b.WriteString(map[bool]string{true: "\n  ok      ", false: "\n  FAILED  "}[v.Met])
		if several {
			b.WriteString(v.workload + ": ")
		}
		b.WriteString(render.Requirement(&v.Verification))
		if margin := render.Margin(&v.Verification); margin != "" {
			b.WriteString(", " + margin)
		}
	}
	if command != "" {
		fmt.Fprintf(&b, "\n\nTo see all limits, execute in the directory of the test:\n  %s", command)
	}
	return b.String()
}
