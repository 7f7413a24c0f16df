// Package draft writes a first scenario for manifests: a behavior for each container, expectations that hold, and, as
// comments, what somebody may want to try next.
package draft

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"probesim.dev/scenarios"
)

// Options say what a scenario is drafted for.
type Options struct {
	Manifest string // name of the manifest, for messages and the name of the scenario
	Data     []byte // what is in it
	// File is the path of the manifest from the folder that the scenario will be in, with slashes. If it is empty, the
	// workloads are copied into the file of the scenario, before it.
	File string
	// Command is how the draft was asked for, and Run how to run it; both go into its first comment.
	Command, Run string
}

// Schema is the file that drafts name as their schema, for editors.
const Schema = "probesim.schema.json"

// modeline tells the YAML language server. It counts for one document, and is read in each.
const modeline = "# yaml-language-server: $schema=" + Schema + "\n"

// mostWorkloads is how many workloads a draft has, so that somebody may still read it.
const mostWorkloads = 200

// mostReplicas is how many pods of a workload a draft runs. There is one node.
const mostReplicas = 3

// entry is a workload of the draft.
type entry struct {
	scenarios.Workload
	replicas int    // 0: as the workload says
	kind     bool   // another one has the same name
	why      string // it cannot take part; empty if it can
}

// Write returns a scenario file for the manifests. It holds as written: the draft was run, and what it expects was seen.
// The error is of type scenarios.Errors where something is wrong in the manifests.
func Write(o Options) ([]byte, error) {
	m, err := scenarios.ReadManifest(o.Manifest, o.Data)
	if err != nil {
		return nil, err
	}
	if err := fits(o, m); err != nil {
		return nil, err
	}
	d := &draft{Options: o, entries: entries(m)}
	if o.File == "" {
		if d.inline, err = workloadsIn(o.Data); err != nil {
			return nil, err
		}
	}
	if err := d.leaveOut(); err != nil {
		return nil, err
	}
	seen, err := d.try()
	if err != nil {
		return nil, err
	}
	return d.text(seen), nil
}

// fits refuses what no scenario is drafted for.
func fits(o Options, m *scenarios.Manifest) error {
	switch {
	case m.Scenarios > 0:
		return fmt.Errorf("%s has a Scenario already: run it with 'probesim run'", o.Manifest)
	case len(m.Workloads) > mostWorkloads:
		return fmt.Errorf("%s has %d workloads, and a draft at most %d: take them from smaller files", o.Manifest, len(m.Workloads), mostWorkloads)
	case len(m.Workloads) > 0:
		return nil
	}
	has := "it is empty"
	if len(m.Others) > 0 {
		has = "it has " + strings.Join(m.Others[:min(len(m.Others), 10)], ", ")
	}
	return fmt.Errorf("there is no workload in %s: %s, and a scenario is about %s", o.Manifest, has, strings.Join(scenarios.WorkloadKinds(), ", "))
}

func entries(m *scenarios.Manifest) []*entry {
	kinds := map[string]map[string]bool{}
	for _, w := range m.Workloads {
		if kinds[w.Name] == nil {
			kinds[w.Name] = map[string]bool{}
		}
		kinds[w.Name][w.Kind] = true
	}
	var list []*entry
	for _, w := range m.Workloads {
		e := &entry{Workload: w, kind: len(kinds[w.Name]) > 1}
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

// draft is a scenario in the making.
type draft struct {
	Options
	entries  []*entry
	inline   []byte        // documents before the scenario
	duration time.Duration // 0: the first of durations
}

// leaveOut finds the workloads that cannot take part, each for itself, as long as some can.
func (d *draft) leaveOut() error {
	if _, err := d.load(); err == nil {
		return nil
	}
	all := d.entries
	for i, e := range all {
		d.entries = all[:i+1]
		if _, err := d.load(); err != nil {
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

// why returns the first thing that is wrong, and how much more there is.
func why(err error) string {
	first, rest, more := strings.Cut(err.Error(), "\n")
	if more {
		first += fmt.Sprintf(" (and %d more)", strings.Count(rest, "\n")+1)
	}
	return first
}

// load loads the draft as it is so far, without expectations.
func (d *draft) load() (*scenarios.Scenario, error) {
	name := d.Manifest
	if d.File != "" {
		name = "draft.yaml"
	}
	loaded, err := scenarios.LoadBytes(name, d.text(nil), func(file string) ([]byte, error) {
		if file != path.Clean(d.File) {
			return nil, errors.New("it is not what the draft is about")
		}
		return d.Data, nil
	})
	if err != nil {
		return nil, err
	}
	return loaded[0], nil
}
