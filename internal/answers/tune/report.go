package tune

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/inplace"
	"probesim.dev/internal/input"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/scenarios/simulate"
	"probesim.dev/internal/show/document"
	"probesim.dev/internal/show/findings"
	"probesim.dev/internal/value"
	"probesim.dev/internal/workloads"
)

// Report is the result of a search. Its JSON form is stable: fields are only added.
type Report struct {
	Kubernetes []string   `json:"kubernetes"` // versions, oldest first
	Delays     string     `json:"delays"`     // name of the latencies of the nodes
	Workloads  []Workload `json:"workloads"`
}

// Workload is the result for an object that creates pods.
type Workload struct {
	Kind         string   `json:"kind"`
	Namespace    string   `json:"namespace,omitempty"`
	Name         string   `json:"name"`
	File         string   `json:"file"`
	Line         int      `json:"line"`
	Requirements []string `json:"requirements"`
	// Missing lists the requirements that no setting meets because containers have no probe for
	// them.
	Missing    []Missing   `json:"missing,omitempty"`
	Problem    string      `json:"problem,omitempty"` // why the workload could not be checked
	Containers []Container `json:"containers"`        // containers on which the requirements depend
	Grace      *Grace      `json:"grace,omitempty"`   // of the pod, if the programs need more time to exit

	template string // path of the pod template in the object
}

// Title is the name of a workload for people.
func (w *Workload) Title() string { return manifests.Title(w.Kind, w.Namespace, w.Name) }

// Missing is a requirement for which some containers have no probe.
type Missing struct {
	Requirement string   `json:"requirement"`
	Containers  []string `json:"containers"`
	Reason      string   `json:"reason"`
}

func (m Missing) String() string { return m.Requirement + ": " + m.Reason }

// Container is the result for a container.
type Container struct {
	Name string `json:"name"`
	Init bool   `json:"init,omitempty"` // a restartable init container
	// Met reports whether there is a setting that meets the requirements.
	Met     bool     `json:"met"`
	Changes []Change `json:"changes"` // empty if the requirements are met already, or if no setting meets them
	// Margins are those of the setting after the changes.
	Margins []Margin `json:"margins,omitempty"`
	// Costs are the rows that the changes make worse.
	Costs []Cost `json:"costs,omitempty"`
	Note  string `json:"note,omitempty"`  // on what the requirements leave out
	Tight bool   `json:"tight,omitempty"` // no setting has the margin: this one just meets the requirements
	// Why has the reasons why no setting meets the requirements, each in a sentence.
	Why      []string `json:"why,omitempty"`
	Settings int      `json:"settings"` // rows of settings that were computed

	now   setting          // with the changes
	added [kinds]*v1.Probe // new probes
}

// Tuned reports whether there is a result. There is none if the container is the Problem of its
// workload.
func (c *Container) Tuned() bool { return c.Met || len(c.Why) > 0 }

// Change is a field that changes.
type Change struct {
	Field  string `json:"field"`            // of the container
	Before *int32 `json:"before,omitempty"` // nil if the probe is new
	After  int32  `json:"after"`

	place place
}

// From is the value before for people.
func (c Change) From() string {
	if c.Before == nil {
		return "none"
	}
	return fmt.Sprint(*c.Before)
}

// Margin says by how much a requirement is met.
type Margin struct {
	Requirement string        `json:"requirement"`
	Value       value.Seconds `json:"value"`
	Margin      value.Seconds `json:"margin"`
}

// ValueText is the value for people.
func (m Margin) ValueText() string {
	if strings.Contains(m.Requirement, ">=") {
		return check.FormatDown(m.Value)
	}
	return check.FormatTime(m.Value)
}

// Met reports whether all requirements can be met.
func (r *Report) Met() bool {
	return !slices.ContainsFunc(r.Workloads, func(w Workload) bool {
		return len(w.Missing) > 0 || slices.ContainsFunc(w.Containers, func(c Container) bool { return !c.Met })
	})
}

// Problems reports whether a workload could not be checked.
func (r *Report) Problems() bool {
	return slices.ContainsFunc(r.Workloads, func(w Workload) bool { return w.Problem != "" })
}

// Changed reports whether a container changes.
func (r *Report) Changed() bool {
	return slices.ContainsFunc(r.Workloads, func(w Workload) bool {
		return w.Grace != nil || slices.ContainsFunc(w.Containers, func(c Container) bool { return len(c.Changes) > 0 })
	})
}

// Cost is a row that gets worse with the changes: the limit that always holds, or the worst time.
type Cost struct {
	Row    check.RowID   `json:"row"`
	Before value.Seconds `json:"before"`
	After  value.Seconds `json:"after"`
}

// noise is the greatest difference that is no cost.
const noise = value.Seconds(100 * time.Millisecond)

// costs returns the rows that are worse in a setting than in the one of the manifest.
func (s *subject) costs(x setting) (list []Cost) {
	for _, row := range check.Rows() {
		before, after := s.guaranteed(s.now, row), s.guaranteed(x, row)
		worse := after - before
		if row.IsLimit() {
			worse = before - after
		}
		if row.IsLimit() && len(s.values(s.now, row)) == 0 { // what a new probe decides at all is no cost
			continue
		}
		like := row.Like() // a row that another one also stands for is no cost of its own
		if like != "" && before == s.guaranteed(s.now, like) && after == s.guaranteed(x, like) {
			continue
		}
		if worse >= noise {
			list = append(list, Cost{row, before, after})
		}
	}
	return list
}

// named returns the container that a requirement names, or nothing if none does.
func named(list check.Requirements) string {
	for _, q := range list {
		if q.Container != "" {
			return q.Container
		}
	}
	return ""
}

// note returns a note if a start after a restart may take less time than the required one.
func (s *subject) note(x setting, asked check.Requirements) string {
	required := func(row check.RowID) int {
		return slices.IndexFunc(asked, func(q check.Requirement) bool { return q.Row == row })
	}
	at, always := required(check.Start), s.guaranteed(x, check.Restart)
	if at < 0 || required(check.Restart) >= 0 || always >= value.Seconds(asked[at].Duration) {
		return ""
	}
	return fmt.Sprintf("%s is about the first start. After a kill or a crash, a start may take up to %s: to allow as "+
		"much, require %s too.",
		asked[at], check.FormatDown(always),
		check.Requirement{Container: named(asked), Row: check.Restart, Duration: asked[at].Duration})
}

// Notes says for people what the changes cost, and what the requirements leave out.
func (c *Container) Notes() []string {
	var list []string
	if c.Tight {
		list = append(list, "No setting has the margin of --margin. This one just meets the requirements.")
	}
	if len(c.Costs) > 0 {
		list = append(list, "Costs: "+strings.Join(printable.Words(c.Costs,
			func(x Cost) string { return x.Row.Worse(x.Before, x.After) }), "; "))
	}
	if c.Note != "" {
		list = append(list, c.Note)
	}
	return list
}

// Patches returns a strategic merge patch for each workload that changes, as 'kubectl patch' takes
// it.
func (r *Report) Patches() (all [][]byte, err error) {
	for i := range r.Workloads {
		w := &r.Workloads[i]
		if patch := w.patch(); patch != nil {
			text, err := PatchFile(w.command(), patch)
			if err != nil {
				return nil, err
			}
			all = append(all, text)
		}
	}
	return all, nil
}

// Edit returns a file of manifests with the patches made in place, as workloads.Edit does.
func (r *Report) Edit(f input.File) (edited []byte, comments []inplace.Comment, err error) {
	return workloads.Edit(f, func(m *manifests.Object) map[string]any {
		if of := r.of(f.Name, m.Node.Pos.Line, m.Name); of != nil {
			return of.patch()
		}
		return nil
	})
}

// patch returns the patch of a workload, or nil if it does not change.
func (w *Workload) patch() map[string]any {
	spec := w.fields()
	if len(spec) == 0 {
		return nil
	}
	return workloads.Patch(w.template, spec)
}

// fields returns the fields of the pod spec that change, as in a patch.
func (w *Workload) fields() map[string]any {
	lists, spec := map[string][]any{}, map[string]any{}
	if w.Grace != nil {
		spec[graceField] = int(w.Grace.After)
	}
	for i := range w.Containers {
		c := &w.Containers[i]
		if len(c.Changes) == 0 {
			continue
		}
		field := "containers"
		if c.Init {
			field = "initContainers"
		}
		item := map[string]any{"name": c.Name}
		for _, change := range c.Changes {
			probe := change.place.kind.String()
			if item[probe] == nil {
				item[probe] = map[string]any{}
			}
			item[probe].(map[string]any)[fieldNames[change.place.field]] = int(change.After)
		}
		for k, added := range c.added {
			if added != nil {
				item[kind(k).String()] = written(added)
			}
		}
		lists[field] = append(lists[field], item)
		spec[field] = lists[field]
	}
	return spec
}

// written returns a probe as a person writes it: without defaults.
func written(p *v1.Probe) map[string]any {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(p)
	if err != nil { // a probe has the form of an object
		panic(err)
	}
	for _, name := range []string{"timeoutSeconds", "successThreshold"} {
		if fields[name] == int64(1) {
			delete(fields, name)
		}
	}
	if get, ok := fields["httpGet"].(map[string]any); ok && get["scheme"] == "HTTP" {
		delete(get, "scheme")
	}
	return fields
}

// PatchFile returns a patch as YAML, below a comment with the command that applies it.
func PatchFile(command string, patch any) ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\n", strings.ReplaceAll(command, "\n", " "))
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	err := e.Encode(patch)
	return b.Bytes(), err
}

// command is the command that applies the patch.
func (w *Workload) command() string {
	if w.template == "" {
		return "Kubernetes does not change the probes of a Pod: change its manifest, and create it again"
	}
	return PatchCommand(w.Kind, w.Namespace, w.Name)
}

// PatchCommand is the command that applies a patch to an object.
func PatchCommand(kind, namespace, name string) string {
	words := []string{"kubectl patch", simulate.Quote(strings.ToLower(kind)), simulate.Quote(name)}
	if namespace != "" && namespace != "default" {
		words = append(words, "-n", simulate.Quote(namespace))
	}
	return strings.Join(append(words, "--patch-file PATCH"), " ")
}

// Document returns the report: for each container the changes, which requirements they meet, and
// what gets worse. A comparison of the check before and after the changes may follow.
func Document(r *Report, comparison *document.Document) *document.Document {
	d := document.New("Settings that meet the requirements")
	switch {
	case r.Problems():
		d.Title = "A workload could not be tuned"
	case !r.Met():
		d.Title = "No setting meets all requirements"
	case !r.Changed():
		d.Title = "The requirements are met already"
	}
	nodes := fmt.Sprintf("Kubernetes %s, %s nodes", strings.Join(r.Kubernetes, ", "), r.Delays)
	for i := range r.Workloads {
		workload(d, &r.Workloads[i], nodes)
	}
	if comparison != nil {
		d.Section(document.Section{Title: "The check before and after", Body: comparison.Body, Details: true})
	}
	return d
}

func workload(d *document.Document, w *Workload, nodes string) {
	title := w.Title()
	d.Gap()
	if w.Problem != "" {
		d.Section(document.Section{Title: title}).Text(document.Bad, "not tuned: "+w.Problem)
	}
	for _, m := range w.Missing {
		d.Text(document.Bad, title+", "+m.String())
	}
	if g := w.Grace; g != nil {
		s := d.Section(document.Section{Title: title, Facts: nodes})
		s.Note(document.Good, g.String())
		s.Text(document.Plain, g.Why())
	} else if len(w.Requirements) == 0 && w.Problem == "" {
		d.Text(document.Good, title+": the requirements are met already.")
	}
	for i := range w.Containers {
		if c := &w.Containers[i]; c.Tuned() {
			c.addTo(d.Section(document.Section{Title: title + ", container " + c.Name, Facts: nodes}))
		}
	}
}

func (c *Container) addTo(s *document.Section) {
	if len(c.Why) > 0 {
		s.Text(document.Bad, "No setting was found that meets the requirements.")
		for _, reason := range c.Why {
			s.Note(document.Plain, reason)
		}
		return
	}
	if len(c.Changes) == 0 {
		s.Text(document.Good, "The requirements are met already.")
	}
	for _, x := range c.changed() {
		s.Note(document.Good, x)
	}
	s.Text(document.Plain, c.margins())
	for _, note := range c.Notes() {
		s.Text(document.Plain, note)
	}
}

// changed returns the changes for people. A new probe is one.
func (c *Container) changed() (list []string) {
	for k, p := range c.added {
		if p != nil {
			list = append(list, fmt.Sprintf("%s: none -> %s", kind(k), workloads.Describe(p)))
		}
	}
	for _, x := range c.Changes {
		if c.added[x.place.kind] == nil {
			list = append(list, fmt.Sprintf("%s: %s -> %d", x.Field, x.From(), x.After))
		}
	}
	return list
}

// margins says in a line by how much the requirements are met.
func (c *Container) margins() string {
	var list []string
	for _, m := range c.Margins {
		text := m.Requirement + ": " + m.ValueText()
		if margin := check.FormatDown(m.Margin); !m.Margin.IsNever() {
			text += " (margin " + margin + ")"
		}
		list = append(list, text)
	}
	return strings.Join(list, ", ")
}

// Findings returns the requirements that no setting meets.
func Findings(r *Report) *findings.List {
	list := &findings.List{Command: "probesim tune", Rules: []findings.Rule{
		{ID: findings.Unmet.ID, Text: "No setting meets a requirement.",
			Help: "The message says what contradicts it, or which probe is missing."},
	}}
	for i := range r.Workloads {
		w := &r.Workloads[i]
		one := findings.Case{Name: w.Title(), File: w.File, Line: w.Line, Problem: w.Problem}
		for _, m := range w.Missing {
			one.Add(findings.Unmet.ID, findings.Error, m.String(), true)
		}
		for _, c := range w.Containers {
			for _, reason := range c.Why {
				one.Add(findings.Unmet.ID, findings.Error, "container "+c.Name+": "+reason, true)
			}
		}
		list.Cases = append(list.Cases, one)
	}
	return list
}
