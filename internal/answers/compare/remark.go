package compare

import (
	"cmp"
	"fmt"
	"strings"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/scenarios/manifests"
)

// Headline is the summary of the report for people: how much got better and worse.
func (r *Report) Headline() string {
	text := fmt.Sprintf("%d better, %d worse", r.Count(Better), r.Count(Worse))
	if n := r.Lost(); n > 0 {
		text = fmt.Sprintf("%s lost, ", printable.Count(n, "probe")) + text
	}
	if better, worse := r.runs(); len(r.Scenarios) > 0 {
		text += fmt.Sprintf("; in runs %d better, %d worse", better, worse)
	}
	if n := r.Replaced(); n > 0 {
		text += fmt.Sprintf(", %s replaced", printable.Count(n, "container"))
	}
	if n := len(r.Excluded); n > 0 {
		text += fmt.Sprintf(", %s excluded", printable.Count(n, "file"))
	}
	return text
}

// runs counts the numbers of scenarios that got better and worse.
func (r *Report) runs() (better, worse int) {
	for i := range r.Scenarios {
		for k := range r.Scenarios[i].Numbers {
			switch r.Scenarios[i].Numbers[k].Judge() {
			case Better:
				better++
			case Worse:
				worse++
			}
		}
	}
	return better, worse
}

// Heading is the name of a workload, and says whether it is added, removed, or had another name or
// kind.
func (w *Workload) Heading() string {
	before := w.RenamedFrom
	if w.KindBefore != "" {
		before = w.titleBefore()
	}
	return w.Title() + heading(w.Change, before, w.Paired)
}

// HeadingOf is the name of a container and of its workload, and says whether they are added,
// removed, or had another name or kind.
func (w *Workload) HeadingOf(c *Container) string {
	name := w.Title()
	if w.Change == Same { // the container says the rest
		name = w.Heading()
	}
	return fmt.Sprintf("%s, container %s%s", name, c.Name, heading(c.Change, c.RenamedFrom, c.Paired))
}

func heading(change Change, before string, p *Pairing) string {
	switch {
	case change == Added || change == Removed:
		return " (" + string(change) + ")"
	case p != nil && p.By == ByName:
		return " (was " + before + ")"
	case p != nil && p.By == LastLeft:
		return " (compared with " + before + ")"
	case before != "":
		return " (renamed from " + before + ")"
	}
	return ""
}

// titleBefore is the name of a workload before the change.
func (w *Workload) titleBefore() string {
	namespace, name := w.Namespace, cmp.Or(w.RenamedFrom, w.Name)
	if old, rest, other := strings.Cut(name, "/"); other {
		namespace, name = old, rest
	}
	return manifests.Title(cmp.Or(w.KindBefore, w.Kind), namespace, name)
}

// Pairings says which things with different names or kinds are compared, and why: the workload with
// one before the change, and its containers. A wrong pair must not look like a fact.
func (w *Workload) Pairings() []string {
	var lines []string
	if p := w.Paired; p != nil {
		lines = append(lines, fmt.Sprintf("%s is compared with %s%s", w.Title(), w.titleBefore(),
			p.because("neither manifest has another workload left")))
	}
	for i := range w.Containers {
		if c := &w.Containers[i]; c.Paired != nil {
			because := c.Paired.because("neither pod has another container")
			lines = append(lines, fmt.Sprintf("Container %s of %s is compared with container %s%s", c.Name, w.Title(),
				c.RenamedFrom, because))
		}
	}
	return lines
}

// because ends a sentence with the reason of a pairing.
func (p *Pairing) because(lastLeft string) string {
	switch p.By {
	case ByName:
		return ", because they have the same name."
	case LastLeft:
		return " only because " + lastLeft + ". They may have nothing in common."
	}
	return ", because both have the " + printable.Plural(len(p.Images), "image") + " " + printable.And(p.Images) + "."
}

// Remark says what the table of a container does not.
type Remark struct {
	Text  string
	Worse bool
}

// String says whether the remark makes the container worse, and why.
func (r *Remark) String() string {
	if r.Worse {
		return "Worse: " + r.Text
	}
	return "Not worse: " + r.Text
}

// Remarks returns the remarks about a container.
func (w *Workload) Remarks(c *Container) []*Remark {
	switch {
	case len(c.Lost) > 0 && w.Change == Removed:
		text := "the manifest no longer has this " + w.Kind + "."
		if w.unsettled {
			text += " If a new workload takes its place, compare does not know which one."
		}
		return []*Remark{{text, true}}
	case len(c.Lost) > 0:
		probes := printable.And(c.Lost) + " " + printable.Plural(len(c.Lost), "probe")
		return []*Remark{{"the container loses its " + probes + ".", true}}
	case c.Replaced:
		return []*Remark{{"the pod has another new container instead, and no limit or time of this one is left to " +
			"compare.", true}}
	case c.Change == Removed && w.Change == Removed:
		return []*Remark{{"the manifest no longer has this " + w.Kind + ".", false}}
	case c.Change == Removed:
		return []*Remark{{"the pod no longer has this container.", false}}
	}
	return nil
}
