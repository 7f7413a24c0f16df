package reconstruct

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/value"
	"probesim.dev/scenarios/format"
)

var notOfNames = regexp.MustCompile(`[^a-z0-9]+`)

// name returns the name of the scenario.
func (m *model) name() string {
	name := strings.Trim(notOfNames.ReplaceAllString(strings.ToLower(m.pod.Name), "-"), "-")
	return "incident-" + name[:min(len(name), 100)]
}

// text returns the scenario file of an attempt.
func (m *model) text(a *attempt) []byte { return m.write(a.zero, a.claims, false) }

// brief returns the scenario file without the manifest, comments and expectations.
func (m *model) brief(zero time.Time) []byte { return m.write(zero, nil, true) }

// manifestLines returns the manifest as a document in a scenario file.
func (m *model) manifestLines() string {
	if m.manifestOf != m.object {
		m.manifestText, m.manifestOf = printable.Lines(document(m.object)), m.object
	}
	return m.manifestText
}

func (m *model) write(zero time.Time, claims []Claim, brief bool) []byte {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	comment := func(indent, text string) {
		if brief {
			return
		}
		for _, l := range wrapped(printable.Text(text), 110) {
			line("%s# %s", indent, l)
		}
	}
	if m.command != "" && !brief {
		line("# Created by: %s", printable.Text(m.command))
	}
	comment("", fmt.Sprintf("What may have happened to pod %s, inferred from what a cluster recorded.", m.pod.Name))
	if !m.rec.Relative {
		comment("", "t=0 is "+zero.UTC().Format(time.RFC3339Nano)+".")
	}
	for _, text := range m.assumed {
		comment("", "Assumed: "+text+".")
	}
	if !brief {
		b.WriteString(m.manifestLines())
		line("---")
	}
	line("apiVersion: %s", format.APIVersion)
	line("kind: Scenario")
	line("metadata: {name: %s}", m.name())
	line("spec:")
	m.wordings(comment)
	line("  kubernetesVersions: [%s]", m.version)
	line("  duration: %s", value.Format(m.duration(zero)))
	resync := ""
	if m.resync > 0 {
		resync = "syncFrequency: " + value.Format(m.resync)
	}
	config := strings.Join(slices.DeleteFunc([]string{m.config, m.backoff, resync}, func(s string) bool { return s == "" }), ", ")
	if m.uptime > 0 || config != "" {
		line("  kubelet:")
	}
	if m.uptime > 0 {
		line("    uptime: %s # decides at which part of a second the kubelet looks for changes", value.Format(m.uptime))
	}
	if config != "" {
		line("    config: {%s}", config)
	}
	m.delays(line)
	line("  pods:")
	line("  - name: %s", m.pod.Name)
	m.behaviors(zero, line, comment, brief)
	steps := m.steps(zero)
	if len(steps) > 0 {
		line("  steps:")
		for _, s := range steps {
			line("  - {%s}", s)
		}
	}
	if len(claims) > 0 {
		line("  expect: # What the recording says, each in the window that its precision allows.")
		place := ""
		for _, c := range claims {
			if p := c.Fact.Place.String(); p != place {
				place = p
				comment("  ", place)
			}
			line("  - {%s}", c.expect)
		}
	}
	return []byte(b.String())
}

// steps returns the steps of a scenario whose t=0 is zero.
func (m *model) steps(zero time.Time) []string {
	var steps []string
	if at := m.deleted.Sub(zero); !m.deleted.IsZero() && at > 0 && at < m.duration(zero) {
		grace := ""
		if m.grace != nil {
			grace = fmt.Sprintf(", gracePeriodSeconds: %d", *m.grace)
		}
		steps = append(steps, fmt.Sprintf("at: %s, delete: {pod: %s%s}", value.Format(round(at)), m.pod.Name, grace))
	}
	for _, p := range m.parts {
		steps = append(steps, p.steps...)
	}
	return steps
}

func (m *model) wordings(comment func(indent, text string)) {
	w := m.pod.Version()
	if w.Says == "" {
		comment("  ", "No message tells the version of the kubelet.")
		return
	}
	says := ""
	switch {
	case w.Since > 0 && w.Before > 0:
		says = fmt.Sprintf("from v1.%d and before v1.%d", w.Since, w.Before)
	case w.Since > 0:
		says = fmt.Sprintf("from v1.%d on", w.Since)
	default:
		says = fmt.Sprintf("before v1.%d", w.Before)
	}
	comment("  ", fmt.Sprintf("The wordings are those of kubelets %s: %s. This is the closest known version.", says, w.Says))
}

func (m *model) delays(line func(string, ...any)) {
	list := []string{fmt.Sprintf("runPodSandbox: %s", value.Format(m.sandbox))}
	if m.mount > 0 {
		list = append(list, fmt.Sprintf("volumeMount: %s", value.Format(m.mount)))
	}
	if m.pull > 0 {
		list = append(list, fmt.Sprintf("imagePull: %s", value.Format(m.pull)))
	}
	line("  delays: {%s} # so that the first start and the probes have their recorded times", strings.Join(list, ", "))
}

func (m *model) behaviors(zero time.Time, line func(string, ...any), comment func(indent, text string), brief bool) {
	var names []string
	for _, p := range m.parts {
		if (len(p.rules) > 0 || p.create > 0 || p.startup > 0) && !slices.Contains(names, p.container) {
			names = append(names, p.container)
		}
	}
	if len(names) == 0 {
		return
	}
	line("    containers:")
	for _, name := range names {
		line("    - name: %s", name)
		var answers []string
		rules := 0
		var list []string
		for _, p := range m.parts {
			if p.container == name && p.create > 0 {
				list = append(list, "createContainer: "+value.Format(p.create))
			}
			if p.container == name && p.startup > 0 {
				list = append(list, "startContainer: "+value.Format(p.startup))
			}
		}
		if len(list) > 0 {
			line("      delays: {%s} # so that its first start has the recorded time", strings.Join(list, ", "))
		}
		for _, p := range m.parts {
			if p.container != name {
				continue
			}
			if rules == 0 && len(p.rules) > 0 {
				line("      behavior:")
			}
			if rules == 0 && len(p.rules) > 0 && !brief {
				for _, w := range m.windows() {
					if w.Container == name {
						comment("      ", fmt.Sprintf("%s, %s probe: %s.", w.Fact.Place, w.Probe, w.String(zero)))
					}
				}
			}
			rules += len(p.rules)
			answers = append(answers, p.answers...)
			for i, r := range p.rules {
				if r.comment != "" && (i == 0 || r.comment != p.rules[i-1].comment) {
					comment("      ", r.comment)
				}
				line("      - {%s}", r.text)
			}
		}
		answers = slices.DeleteFunc(answers, func(a string) bool { return !m.uses(name, a) })
		if len(answers) > 0 {
			line("      answers:")
			seen := map[string]bool{}
			for _, a := range answers {
				if !seen[a] {
					line("      - {%s}", a)
				}
				seen[a] = true
			}
		}
	}
}

// uses reports whether a rule of a container has a named answer.
func (m *model) uses(container, definition string) bool {
	name := answerName.FindStringSubmatch(definition)
	return name == nil || slices.ContainsFunc(m.parts, func(p *part) bool {
		return p.container == container && slices.ContainsFunc(p.rules, func(r rule) bool { return strings.Contains(r.text, name[1]) })
	})
}

var answerName = regexp.MustCompile(`^name: (\w+), `)

func wrapped(text string, width int) []string {
	var lines []string
	var current string
	for _, w := range strings.Fields(text) {
		if current != "" && len(current)+1+len(w) > width {
			lines = append(lines, current)
			current = ""
		}
		if current != "" {
			current += " "
		}
		current += w
	}
	return append(lines, current)
}
