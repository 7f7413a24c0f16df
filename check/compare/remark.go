package compare

import (
	"fmt"
	"strings"
)

// Headline is the summary of the report for people: how much got better and worse.
func (r *Report) Headline() string {
	text := fmt.Sprintf("%d better, %d worse", r.Count(Better), r.Count(Worse))
	switch lost := r.Lost(); lost {
	case 0:
	case 1:
		text += ", 1 probe lost"
	default:
		text += fmt.Sprintf(", %d probes lost", lost)
	}
	return text
}

// Heading is the name of a workload, and says whether it is added, removed or renamed.
func (w *Workload) Heading() string { return w.Title() + heading(w.Change, w.RenamedFrom) }

// HeadingOf is the name of a container and of its workload, and says whether they are added, removed or renamed.
func (w *Workload) HeadingOf(c *Container) string {
	name := w.Title()
	if w.RenamedFrom != "" { // the container says the rest
		name = w.Heading()
	}
	return fmt.Sprintf("%s, container %s%s", name, c.Name, heading(c.Change, c.RenamedFrom))
}

func heading(change Change, renamedFrom string) string {
	switch {
	case change == Added || change == Removed:
		return " (" + string(change) + ")"
	case renamedFrom != "":
		return " (renamed from " + renamedFrom + ")"
	}
	return ""
}

// Remark says what the table of a container does not.
type Remark struct {
	Text  string
	Worse bool
}

// Judgement says whether the remark makes the container worse.
func (r *Remark) Judgement() string {
	if r.Worse {
		return "Worse"
	}
	return "Not worse"
}

func (r *Remark) String() string { return r.Judgement() + ": " + r.Text }

// Remarks returns the remarks about a container.
func (w *Workload) Remarks(c *Container) []*Remark {
	switch {
	case len(c.Lost) == 1:
		return []*Remark{{"the container loses its " + c.Lost[0] + " probe.", true}}
	case len(c.Lost) > 1:
		last := len(c.Lost) - 1
		return []*Remark{{"the container loses its " + strings.Join(c.Lost[:last], ", ") + " and " + c.Lost[last] + " probes.", true}}
	case c.Replaced:
		return []*Remark{{"the pod has another new container instead, and no limit or time of this one is left to compare.", true}}
	case c.Change == Removed && w.Change == Removed:
		return []*Remark{{"the manifest no longer has this " + w.Kind + ".", false}}
	case c.Change == Removed:
		return []*Remark{{"the pod no longer has this container.", false}}
	}
	return nil
}
