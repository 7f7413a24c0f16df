// Package draft writes a first scenario for manifests: a behavior for each container, expectations
// that hold, and suggestions, as comments, of what to try next.
package draft

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/scenarios/text"
	"probesim.dev/scenarios"
)

// Options describe the manifest of a draft.
type Options struct {
	Manifest string // the file name of the manifest, for messages and for the name of the scenario
	Data     []byte // the content of the manifest
	// File is the slash-separated path of the manifest, relative to the directory of the scenario
	// file. If File is empty, Write copies the workloads into the scenario file, before the
	// scenario.
	File string
	// Command is the command that made the draft, and Run the command that runs it. Both appear in
	// its first comment.
	Command, Run string
	// Start returns how long a start of a container is known to take, or 0; nil: nothing is known.
	Start func(w *manifests.Workload, container string) time.Duration
}

// mostWorkloads is the maximum number of workloads in a draft. A longer draft is hard to read.
const mostWorkloads = 200

// mostReplicas is the maximum number of pods of a workload in a draft, because all pods run on one
// node.
const mostReplicas = 3

// entry is a workload of the draft.
type entry struct {
	manifests.Workload
	replicas int    // 0: as in the manifest
	why      string // the reason why the workload cannot be simulated; empty if it can
}

// Write returns a scenario file for the manifests, and warnings about them. It runs the draft and
// adds expectations that hold in this run. A pod that can never become Ready, because a probe asks
// a port that does not exist, has an expectation that fails. The error is of type scenarios.Errors
// if the manifests are invalid.
func Write(o Options) (file []byte, warnings []string, err error) {
	m, err := manifests.Read(o.Manifest, o.Data)
	if err != nil {
		return nil, nil, err
	}
	if err := checkManifest(o, m); err != nil {
		return nil, nil, err
	}
	d := &draft{Options: o, name: text.NameOf(o.Manifest, m.Workloads, "scenario"), entries: entries(m)}
	if o.File == "" {
		if d.inline, err = text.Copy(o.Manifest, o.Data); err != nil {
			return nil, nil, err
		}
	}
	if err := d.leaveOut(); err != nil {
		return nil, nil, err
	}
	seen, err := d.try()
	if err != nil {
		return nil, nil, err
	}
	for _, w := range m.Workloads {
		warnings = append(warnings, w.Notes...)
		if len(w.NotSimulated) > 0 {
			warnings = append(warnings, "not simulated for "+w.Kind+" "+w.Name+": "+strings.Join(w.NotSimulated, ", "))
		}
	}
	return d.text(seen).Bytes(), warnings, nil
}

// checkManifest rejects manifests without workloads, with too many workloads, and with scenarios.
func checkManifest(o Options, m *manifests.File) error {
	file := printable.Text(o.Manifest)
	switch {
	case m.Scenarios > 0:
		return fmt.Errorf("%s already has a Scenario: run it with 'probesim run'", file)
	case len(m.Workloads) > mostWorkloads:
		return fmt.Errorf("%s has %d workloads, but a draft can have at most %d: split the file", file,
			len(m.Workloads), mostWorkloads)
	case len(m.Workloads) > 0:
		return nil
	}
	has := "the file is empty"
	if len(m.Unchecked) > 0 {
		has = "the file has only " + printable.Some(manifests.KindsOf(m.Unchecked), 10)
	}
	return fmt.Errorf("no workload in %s: %s. A scenario needs at least one of %s", file, printable.Text(has),
		manifests.Workloads)
}

func entries(m *manifests.File) []*entry {
	var list []*entry
	for _, w := range m.Workloads {
		e := &entry{Workload: w}
		switch {
		case w.Kind == "Pod" || w.Replicas >= 1 && w.Replicas <= mostReplicas:
		case w.Replicas < 1:
			e.replicas = 1
		default:
			e.replicas = mostReplicas
		}
		list = append(list, e)
	}
	return list
}

// draft is an unfinished scenario.
type draft struct {
	Options
	name     string
	entries  []*entry
	inline   []byte        // copies of the workloads, before the scenario
	duration time.Duration // 0 means the first of durations
}

// leaveOut finds the workloads that cannot be simulated, and stores the reason in each. It returns
// an error if none of the workloads can be simulated.
func (d *draft) leaveOut() error {
	if _, err := d.load(d.text(nil)); err == nil {
		return nil
	}
	all := d.entries
	for i, e := range all {
		d.entries = all[:i+1]
		if _, err := d.load(d.text(nil)); err != nil {
			e.why = why(err)
		}
	}
	var errs []string
	for _, e := range all {
		if e.why == "" {
			return nil
		}
		errs = append(errs, e.why)
	}
	return errors.New("none of the workloads can be simulated\n" + strings.Join(errs, "\n"))
}

// why returns the first line of an error, and the number of further lines.
func why(err error) string {
	first, rest, more := strings.Cut(err.Error(), "\n")
	if more {
		first += fmt.Sprintf(" (and %d more)", strings.Count(rest, "\n")+1)
	}
	return first
}

// load loads a file that refers to no other file than the manifest.
func (o *Options) load(f *text.File) (*scenarios.Scenario, error) {
	name := o.Manifest
	if o.File != "" {
		name = "draft.yaml"
	}
	loaded, err := scenarios.LoadBytes(name, f.Bytes(), func(file string) ([]byte, error) {
		if file != path.Clean(o.File) {
			return nil, errors.New("the draft refers to another file")
		}
		return o.Data, nil
	})
	if err != nil {
		return nil, err
	}
	return loaded[0], nil
}

// comments returns the comments at the head of a file. explains is a field that the file shows.
func (o *Options) comments(explains string) []string {
	explain := "Fields:     probesim explain " + explains
	return []string{text.Modeline, "Created by: " + o.Command, "Run it:     " + o.Run, explain}
}
