package incident

import (
	"fmt"
	"slices"

	"probesim.dev/report/history"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// sighting is a container or sandbox of which a log tells only the ID: the relists of the kubelet first see it run, and then ended.
type sighting struct {
	id         string
	from, to   virtual.Time
	seen, dies bool // the log has its beginning, its end
}

// maxSightings limits the IDs that are drawn for a pod.
const maxSightings = 1000

// pleg draws the containers of which a log has only the IDs. IDs that follow each other share a lane: those of the instances of a
// container. The sandbox of the pod has an ID, too.
func (d *drawn) pleg(h *history.Pod, p *Pod) []*history.Container {
	var list []sighting
	for _, f := range p.Facts {
		if f.Kind != Lifecycle || !f.When.Known() || f.Message == "" {
			continue
		}
		at := d.at(f.When.Best())
		i := slices.IndexFunc(list, func(s sighting) bool { return s.id == f.Message })
		if i < 0 {
			if len(list) == maxSightings {
				continue
			}
			i = len(list)
			list = append(list, sighting{id: f.Message, from: at, to: history.Forever})
		}
		switch f.Reason {
		case "ContainerStarted":
			list[i].seen = true
		case "ContainerDied":
			list[i].to, list[i].dies = min(list[i].to, at), true
			if !list[i].seen {
				list[i].from = h.Added
			}
		}
		d.changes = append(d.changes, at)
	}
	slices.SortStableFunc(list, func(a, b sighting) int { return int(a.from.Sub(b.from)) })
	var lanes []*history.Container
	for _, s := range list {
		c := freeLane(lanes, s.from)
		if c == nil {
			c = &history.Container{Name: fmt.Sprintf("ID %.8s", s.id), Probes: map[trace.Probe][]*trace.Record{}, Unknown: map[string][]history.Span{}}
			c.States = []history.State{{At: h.Added, Name: "waiting"}}
			lanes = append(lanes, c)
		}
		run := history.Instance{Number: len(c.Runs), Started: s.from, Killing: history.Forever, Stopping: history.Forever, Exited: s.to, Vague: true}
		if n := len(c.Runs); n > 0 {
			c.States = append(c.States, history.State{At: c.Runs[n-1].Exited, Name: "waiting"})
		}
		c.Runs = append(c.Runs, run)
		if !s.seen && s.dies {
			c.Unknown[history.LaneLife] = append(c.Unknown[history.LaneLife], history.Span{From: h.Added, To: s.to})
		}
	}
	return lanes
}

// freeLane returns the first lane whose last container has ended, or nil.
func freeLane(lanes []*history.Container, at virtual.Time) *history.Container {
	for _, c := range lanes {
		if c.Runs[len(c.Runs)-1].Exited <= at {
			return c
		}
	}
	return nil
}
