package rollout

import (
	"fmt"
	"strings"
	"time"

	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
)

// App says how programs start and stop. It is about the containers that are not sidecars, or about
// one by its name.
type App struct {
	Start value.Durations // until the program is up; not known: at once
	Stop  value.Durations // from SIGTERM to the exit; not known: DefaultStop in the container that serves
	// Refuse is how long after SIGTERM the program goes on to accept connections; nil: not at all;
	// Never: until it exits.
	Refuse *value.Interval
}

// DefaultStop is how long the program that serves takes from SIGTERM to its exit, if nobody knows.
const DefaultStop = 100 * time.Millisecond

// Never is longer than any run.
const Never = 1000 * time.Hour

// neverStarts reports whether the new pods never come up.
func (a *App) neverStarts() bool { return a.Start.Ordinary != nil && a.Start.Ordinary.Min >= Never }

// refuse returns how long after SIGTERM the program goes on to accept connections.
func (a *App) refuse() value.Interval {
	if a.Refuse == nil {
		return value.Interval{}
	}
	return *a.Refuse
}

// ParseApp adds words such as "refuse 0s, stop 3s", "start 8s..15s" or "start never" to an App.
func ParseApp(text string, to *App) error {
	for _, part := range strings.Split(text, ",") {
		word, d, _ := strings.Cut(strings.TrimSpace(part), " ")
		of := map[string]**value.Interval{"refuse": &to.Refuse, "stop": &to.Stop.Ordinary,
			"start": &to.Start.Ordinary}[word]
		if of == nil {
			return fmt.Errorf("%s is no word: write refuse, stop or start and a duration, such as 'refuse 0s, stop 3s'",
				strict.Quote(word))
		}
		draw := value.Draw{Min: Never, Max: Never}
		if d = strings.TrimSpace(d); d != "never" || word == "stop" {
			if err := draw.UnmarshalText([]byte(d)); err != nil {
				return fmt.Errorf("%s: %w", word, err)
			}
		}
		if *of != nil {
			return fmt.Errorf("%s is there twice", word)
		}
		*of = (*value.Interval)(&draw)
	}
	return nil
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
	switch i := a.refuse(); {
	case i.Min >= Never:
		refuse = "accepts connections until it exits"
	case i.Max > 0:
		refuse = "refuses connections " + i.String() + " after SIGTERM"
	}
	if text := words(a.Stop); text != "" {
		stop = text + " after SIGTERM"
	} else if a.refuse().Max > 0 {
		stop = value.Format(DefaultStop) + " after SIGTERM"
	}
	return "The program " + start + ", " + refuse + ", and exits " + stop + "."
}

// words returns what is known of some containers.
func words(d value.Durations) string {
	var list []string
	if d.Ordinary != nil {
		list = append(list, d.Ordinary.String())
	}
	for _, name := range d.Names() {
		list = append(list, d.Of[name].String()+" in container "+name)
	}
	return strings.Join(list, ", ")
}
