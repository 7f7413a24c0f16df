// Package coverage says which facts of the kubelet, and which of the choices that it leaves open,
// runs show, and which they never do.
package coverage

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/show/document"
	"probesim.dev/sim/choose"
	"probesim.dev/trace"
	"probesim.dev/trace/match"
)

// Group is a group of things that runs can show, such as the reasons for which the kubelet stops
// containers.
type Group struct {
	Name  string `json:"name"`
	Items []Item `json:"items"`
}

// Item is something that runs can show.
type Item struct {
	Name string `json:"name"`
	Runs int    `json:"runs"`         // runs that show it
	In   string `json:"in,omitempty"` // the first scenario that shows it
	seen bool   // in the present run
}

// Never returns the names of the items that no run shows.
func (g *Group) Never() []string {
	var names []string
	for _, i := range g.Items {
		if i.Runs == 0 {
			names = append(names, i.Name)
		}
	}
	return names
}

// facts are the fields of records that say what the kubelet does, by kind. The table of package
// trace/match has their values.
var facts = []struct {
	kind   trace.Kind
	title  string
	fields []string
}{
	{trace.ContainerStopping, "reasons of stops", []string{"reason"}},
	{trace.ProbeExecuted, "results of probes", []string{"probe", "result"}},
	{trace.HookEnded, "ends of hooks", []string{"reason", "result"}},
	{trace.ImagePullEnded, "ends of image pulls", []string{"result"}},
	{trace.VolumeWaitEnded, "ends of waits for volumes", []string{"reason", "result"}},
	{trace.ProbeSkipped, "reasons why a worker does not probe", []string{"probe", "reason"}},
	{trace.ResultChanged, "changes of results", []string{"probe", "message"}},
	{trace.Event, "events", []string{"type", "reason"}},
	{trace.PodSync, "syncs of pods", []string{"reason"}},
	{trace.SyncLoop, "items of the sync loop", []string{"reason"}},
	{trace.Step, "steps of scenarios", []string{"reason"}},
}

// single are the kinds of records that are facts by themselves.
var single = []trace.Kind{trace.BackOff, trace.ManualTrigger, trace.TriggerTaken, trace.KubeletStopped,
	trace.PodRemoved, trace.ContainerExited}

// points are the points at which the model leaves a choice open, by the beginning of the key of the
// choice. A test compares them with the source.
var points = []struct {
	kind   choose.Kind
	prefix string
}{
	{choose.Preemption, "pod cache refreshed, event not sent"},
	{choose.Preemption, "allocation stored, pod not synced"},
	{choose.Preemption, "pod status stored, not terminated"},
	{choose.Preemption, "pod status read, not written back"},
	{choose.Preemption, "pod synced, work not completed"},
	{choose.Preemption, "pod status generated, not stored"},
	{choose.Preemption, "readiness triggered, status not stored"},
	{choose.Preemption, "result stored, not sent"},
	{choose.Jitter, "requeue of pod "},
	{choose.Jitter, "start of "},
	{choose.Jitter, "connect of "},
	{choose.SelectCase, ""},
	{choose.Next, ""},
	{choose.Order, "relist"},
	{choose.Order, "reinspect"},
	{choose.Order, "sync tick"},
	{choose.Order, "container GC"},
	{choose.Order, "sandbox GC"},
	{choose.Order, "init containers to remove of pod "},
	{choose.Order, "orphaned pods"},
	{choose.Order, "orphaned mirror pods"},
	{choose.Order, "static pods"},
	{choose.Order, "restarted static pods"},
	{choose.Order, "registered static pods"},
	{choose.Order, "active pods"},
	{choose.Order, "containers to kill of pod "},
	{choose.Order, "removed pods"},
	{choose.Order, "status batch"},
	{choose.Race, "timeout or exit: "},
	{choose.Race, "volumes seen in this turn: "},
	{choose.Race, "reconciler after populator"},
	{choose.Race, "volumes polled first: "},
	{choose.Race, "timeout of "},
	{choose.Race, "body at its timeout: "},
}

// Coverage collects what runs show. Create it with New.
type Coverage struct {
	Groups []Group `json:"groups"`
	Runs   int     `json:"runs"`
}

// New returns a coverage without runs.
func New() *Coverage {
	c := &Coverage{}
	for _, f := range facts {
		c.Groups = append(c.Groups, Group{f.title, values(f.kind, f.fields)})
	}
	others := Group{Name: "other facts"}
	for _, k := range single {
		others.Items = append(others.Items, Item{Name: string(k)})
	}
	open := Group{Name: "choices"}
	for _, p := range points {
		open.Items = append(open.Items, Item{Name: pointName(p.kind, p.prefix)})
	}
	c.Groups = append(c.Groups, others, open)
	return c
}

func pointName(kind choose.Kind, prefix string) string {
	return strings.TrimSpace(string(kind) + " " + strings.TrimSuffix(strings.TrimSpace(prefix), ":"))
}

// values returns the combinations of words that the fields of a kind can have.
func values(kind trace.Kind, fields []string) []Item {
	var items []Item
	for _, k := range match.Kinds() {
		if k.Kind != kind {
			continue
		}
		for _, shape := range k.Shapes {
			list := []string{""}
			for _, f := range fields {
				var longer []string
				for _, before := range list {
					for _, word := range shape.Words[f] {
						longer = append(longer, strings.TrimSpace(before+" "+word))
					}
				}
				list = longer
			}
			for _, name := range list {
				if !slices.ContainsFunc(items, func(i Item) bool { return i.Name == name }) {
					items = append(items, Item{Name: name})
				}
			}
		}
	}
	slices.SortFunc(items, func(a, b Item) int { return cmp.Compare(a.Name, b.Name) })
	return items
}

// Add adds a run of a scenario: its records, with the internal ones, and the choices that came up.
func (c *Coverage) Add(scenario string, records []trace.Record, choices []choose.Choice) {
	c.Runs++
	for i := range records {
		c.record(&records[i])
	}
	open := &c.Groups[len(c.Groups)-1]
	for _, choice := range choices {
		for i, p := range points {
			if p.kind == choice.Kind && strings.HasPrefix(choice.Key, p.prefix) {
				open.Items[i].seen = true
				break
			}
		}
	}
	for g := range c.Groups {
		for i := range c.Groups[g].Items {
			if item := &c.Groups[g].Items[i]; item.seen {
				item.seen = false
				item.Runs++
				item.In = cmp.Or(item.In, scenario)
			}
		}
	}
}

func (c *Coverage) record(r *trace.Record) {
	of := map[string]string{"probe": string(r.Probe), "result": string(r.Result), "reason": r.Reason,
		"message": r.Message, "type": r.Type}
	for g, f := range facts {
		if f.kind != r.Kind {
			continue
		}
		var words []string
		for _, field := range f.fields {
			words = append(words, of[field])
		}
		c.Groups[g].see(strings.TrimSpace(strings.Join(words, " ")))
	}
	if slices.Contains(single, r.Kind) {
		c.Groups[len(facts)].see(string(r.Kind))
	}
}

func (g *Group) see(name string) {
	if i := slices.IndexFunc(g.Items, func(i Item) bool { return i.Name == name }); i >= 0 {
		g.Items[i].seen = true
	}
}

// Document says how much of each group the runs exercise, and what they never do.
func (c *Coverage) Document() *document.Document {
	d := document.New("Coverage")
	table := &document.Table{Left: 1, Head: []string{"", "exercised", "of"}}
	for _, g := range c.Groups {
		table.Texts(g.Name, fmt.Sprint(len(g.Items)-len(g.Never())), fmt.Sprint(len(g.Items)))
	}
	d.Table(table)
	for _, g := range c.Groups {
		if never := g.Never(); len(never) > 0 {
			d.Gap()
			d.Text(document.Bold, g.Name+", never:")
			d.Note(document.Plain, strings.Join(never, "; "))
		}
	}
	d.Gap()
	d.Text(document.Plain, printable.Count(c.Runs, "run"))
	return d
}
