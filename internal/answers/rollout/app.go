package rollout

import (
	"fmt"
	"strings"
	"time"

	"probesim.dev/internal/scenarios/whatif"
	"probesim.dev/internal/value"
)

// App says how programs start and stop, and what else happens. It is about the containers that are
// not sidecars, or about one by its name.
type App struct {
	Start value.Durations // until the program accepts connections; not known: at once
	Stop  value.Durations // from SIGTERM to the exit; not known: DefaultStop in the container that serves
	// Refuse is how long after SIGTERM the program goes on to accept connections; not known: not at
	// all; Never: until it exits.
	Refuse value.Durations
	// Others are events in the programs and on the node. Their times with at count from the change.
	Others []*whatif.Event
}

// DefaultStop is how long the program that serves takes from SIGTERM to its exit, if nobody knows.
const DefaultStop = 100 * time.Millisecond

// Never is longer than any run.
const Never = 1000 * time.Hour

// Add adds an event. The changes of a Deployment are no part of an App.
func (a *App) Add(e *whatif.Event) error {
	to := map[string]*value.Durations{whatif.Start: &a.Start, whatif.Stop: &a.Stop, whatif.Refuse: &a.Refuse}[e.What]
	if to == nil {
		a.Others = append(a.Others, e)
		return nil
	}
	takes := value.Interval{Min: Never, Max: Never}
	if !e.Never {
		takes = value.Interval(*e.Length)
	}
	if !to.Set(e.Container, takes) {
		return fmt.Errorf("%s is there twice", e.What)
	}
	return nil
}

// in returns what is known of the programs of a workload.
func (a App) in(namespace, name string) App {
	for _, known := range []*value.Durations{&a.Start, &a.Stop, &a.Refuse} {
		*known = known.Within(namespace, name)
	}
	return a
}

// neverStarts reports whether the new pods are never Ready.
func (a *App) neverStarts() bool { return a.Start.Ordinary != nil && a.Start.Ordinary.Min >= Never }

// refuse returns how long after SIGTERM the program in a container goes on to accept connections.
func (a *App) refuse(container string) value.Interval {
	if known := a.Refuse.In(container, true); known != nil {
		return *known
	}
	return value.Interval{}
}

// String says in words how the program starts and stops.
func (a *App) String() string {
	start, refuse, stop := "is up at once", "refuses connections at SIGTERM", value.Format(DefaultStop)+" later"
	if text := words(a.Start); text != "" {
		start = "is up after " + text
	}
	if a.neverStarts() {
		start = "is never up in new pods"
	}
	switch i := a.refuse(""); {
	case i.Min >= Never:
		refuse = "accepts connections until it exits"
	case i.Max > 0:
		refuse = "refuses connections " + i.String() + " after SIGTERM"
	}
	if text := words(a.Stop); text != "" {
		stop = text + " after SIGTERM"
	} else if a.refuse("").Max > 0 {
		stop = value.Format(DefaultStop) + " after SIGTERM"
	}
	text := "The program " + start + ", " + refuse + ", and exits " + stop + "."
	for _, e := range a.Others {
		text += " " + e.Text + "."
	}
	return text
}

// words returns what is known of some containers.
func words(d value.Durations) string {
	var list []string
	written := func(i value.Interval) string {
		if i.Min >= Never {
			return "no time"
		}
		return value.Draw(i).String()
	}
	if d.Ordinary != nil {
		list = append(list, written(*d.Ordinary))
	}
	for _, name := range d.Names() {
		list = append(list, written(d.Of[name])+" in container "+name)
	}
	return strings.Join(list, ", ")
}
