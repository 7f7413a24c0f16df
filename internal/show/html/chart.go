package html

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/show/history"
	"probesim.dev/internal/show/report"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// chart is the data of one run for the script of the page. Times are in nanoseconds.
type chart struct {
	From    virtual.Time   `json:"from"`
	To      virtual.Time   `json:"to"`
	Show    virtual.Time   `json:"show,omitempty"` // the visible part begins here at first
	Zero    *time.Duration `json:"zero,omitempty"` // time of day at t=0
	Open    bool           `json:"open"`           // whether pods start unfolded
	Texts   []string       `json:"texts"`          // texts of records, by number
	Records []point        `json:"records"`
	Lanes   []*lane        `json:"lanes"`
	Down    []span         `json:"down"`  // outages of the kubelet
	Flags   []flag         `json:"flags"` // failures of expectations
}

// point is a record: step, time, cause (a step, or 0 if unknown), duration, and the numbers of its
// texts: glyph, subject, title, message, and the rule that made a probe fail.
type point [9]int64

// lane is a line of the timeline. The first lane of a pod has its name. The user can fold the
// others. Besides those of the text there are lanes of events and exits.
type lane struct {
	*report.Lane
	Steps  []int64  `json:"steps,omitempty"` // records of the marks
	Series []series `json:"series,omitempty"`
}

// span is a stretch of time.
type span struct {
	From virtual.Time `json:"from"`
	To   virtual.Time `json:"to"`
}

// series stands for consecutive equal probe runs or events. The page contains only the first and
// the last.
type series struct {
	First int64 `json:"first"`
	Last  int64 `json:"last"`
	Count int   `json:"count"`
}

// flag is a moment at which an expectation failed.
type flag struct {
	At   virtual.Time `json:"at"`
	Step int64        `json:"step"`
	Text string       `json:"text"`
}

// maxUnfolded is the maximum number of pods for which pods start unfolded.
const maxUnfolded = 8

// newChart returns the chart of a run with room for some marks and bars, and notes about omitted
// records.
func newChart(run *report.Run, room int) (*chart, []string) {
	h := run.Drawn()
	c := &chart{To: max(h.End, virtual.At(time.Millisecond)), Show: run.From, Zero: run.Zero,
		Open: len(h.Pods) <= maxUnfolded && run.From == 0,
		// the script expects lists instead of null
		Records: []point{}, Lanes: []*lane{}, Down: []span{}, Flags: []flag{}}
	if len(run.Records) > 0 {
		c.From = min(c.From, run.Records[0].T)
	}
	for _, l := range report.Lanes(h) {
		c.object(l)
	}
	var lanes []*lane
	for i, p := range h.Pods {
		lanes = append(lanes, podLanes(p, i, h.End)...)
	}
	notes := limit(lanes, room)
	if n := size(lanes); n > room && len(run.Records) > room {
		short := *run
		short.Records = run.Records[:int(int64(len(run.Records))*int64(room)/int64(n))]
		short.Until = short.Records[len(short.Records)-1].T
		c, _ = newChart(&short, room)
		return c, []string{fmt.Sprintf("The timeline ends at %s, because the run is too large for one page. To see "+
			"everything, use a shorter --until, fewer pods, or -o jsonl.", trace.FormatTime(c.To))}
	}
	c.Lanes = append(c.Lanes, lanes...)
	c.flags(run.Expectations)
	c.gather(run.Records, run.Why)
	return c, notes
}

// object adds a lane of the node, or of a Deployment or a Service.
func (c *chart) object(l *report.Lane) {
	switch l.Kind {
	case "kubelet":
		for i := range l.Bars {
			b := &l.Bars[i]
			if b.State = map[string]string{"yes": "up", "no": "down"}[b.State]; b.State == "down" {
				c.Down = append(c.Down, span{b.From, b.To})
			}
		}
	case "set", "wanted", "lost", "level":
		l.Kind = "level"
		l.Bars = slices.DeleteFunc(l.Bars, func(b report.Bar) bool { return b.Part == 0 })
	}
	c.Lanes = append(c.Lanes, &lane{Lane: l})
}

// podLanes returns the lanes of a pod, numbered, and one of the exits of all containers, which a
// folded pod shows.
func podLanes(p *history.Pod, number int, end virtual.Time) []*lane {
	var lanes []*lane
	var exits []*trace.Record
	for _, l := range report.PodLanes(p, number, end) {
		lanes = append(lanes, &lane{Lane: l})
		for _, r := range l.Records {
			if r.Kind == trace.ContainerExited {
				exits = append(exits, r)
			}
		}
	}
	slices.SortFunc(exits, func(a, b *trace.Record) int { return cmp.Compare(a.Step, b.Step) })
	name := lanes[0].Label
	if len(p.Events) > 0 {
		lanes = append(lanes, &lane{Lane: &report.Lane{Label: "events", Of: name, Kind: "events", Depth: 1, Pod: number,
			Records: p.Events}})
	}
	return append(lanes, &lane{Lane: &report.Lane{Label: name, Of: name, Kind: "exits", Pod: number, Records: exits}})
}

// flags adds a flag for each marked record of a failure.
func (c *chart) flags(expectations []report.Expectation) {
	for i := range expectations {
		e := &expectations[i]
		if e.Outcome != report.Failed {
			continue
		}
		for _, f := range e.Failures {
			for _, line := range f.Around {
				if line.Mark {
					c.Flags = append(c.Flags, flag{line.Record.T, line.Record.Step, printable.Text(e.Name)})
				}
			}
		}
	}
	slices.SortStableFunc(c.Flags, func(a, b flag) int { return cmp.Compare(a.At, b.At) })
}
