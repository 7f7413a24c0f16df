// Package manifest turns the pods of a scenario into pods that can be created on a cluster: a
// player in each container plays the program. The player and its client share the package, so it
// does not know how to reach a cluster.
package manifest

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"time"

	"probesim.dev/fakeruntime"
	"probesim.dev/scenarios"
	"probesim.dev/scenarios/plan"
)

// Names of the environment variables of a played container.
const (
	envPart      = "PROBESIM_PART"
	envContainer = "PROBESIM_CONTAINER"
	envPod       = "PROBESIM_POD" // the name of the pod of a Deployment on the cluster
)

// maxPart limits the length of a Part: an environment variable has at most 128 KiB (MAX_ARG_STRLEN
// of Linux), and each container of a pod has one.
const maxPart = 120 << 10

// Part is what the players of a pod have to know. It contains the scenario itself, which the player
// compiles as every other command does.
type Part struct {
	Files   map[string][]byte `json:"files"` // by the path that the scenario uses
	File    string            `json:"file"`
	Run     string            `json:"run"`
	Version string            `json:"version"`
	Seed    *int64            `json:"seed,omitempty"`
	Zero    time.Time         `json:"zero"` // t=0 of the scenario
	Pod     string            `json:"pod"`  // namespace/name in the scenario; of a Deployment, that of the Deployment
	// Set is the number of the ReplicaSet of a Deployment, and Step the number of the step, from 1,
	// that gives its programs; 0: the programs of the scenario.
	Set  int `json:"set,omitempty"`
	Step int `json:"step,omitempty"`
	// Stream is the number of an entry of spec.traffic, from 1, whose requests the container sends
	// to Address; 0: it plays a program.
	Stream  int    `json:"stream,omitempty"`
	Address string `json:"address,omitempty"`
}

// FileOf returns the name of the file of a scenario among the files of a Part.
func FileOf(s *plan.Scenario) string { return path.Base(s.File) }

// Collect returns the files that a scenario consists of.
func Collect(s *plan.Scenario) (map[string][]byte, error) {
	files := map[string][]byte{}
	data, err := scenarios.ReadFile(s.File)
	if err != nil {
		return nil, err
	}
	files[FileOf(s)] = data
	_, err = scenarios.LoadBytes(FileOf(s), data, func(name string) ([]byte, error) {
		text, err := scenarios.ReadFile(path.Join(path.Dir(s.File), name))
		files[name] = text
		return text, err
	})
	return files, err
}

// Text returns the part as the value of an environment variable.
func (p *Part) Text() (string, error) {
	data, _ := json.Marshal(p) // texts and numbers
	var b bytes.Buffer         // which takes all
	z := gzip.NewWriter(&b)
	_, _ = z.Write(data)
	_ = z.Close()
	text := base64.StdEncoding.EncodeToString(b.Bytes())
	if len(text) > maxPart {
		return "", fmt.Errorf("the scenario with its manifests is too large to play: %d bytes when compressed, "+
			"and a container can get %d", len(text), maxPart)
	}
	return text, nil
}

// ReadPart returns the part and the container in the environment of a player.
func ReadPart() (p *Part, container string, err error) {
	packed, err := base64.StdEncoding.DecodeString(os.Getenv(envPart))
	if err != nil || len(packed) == 0 {
		return nil, "", errors.New(envPart + " has no scenario: only probesim play starts a player")
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, "", err
	}
	data, err := io.ReadAll(z)
	if err != nil {
		return nil, "", err
	}
	p = &Part{}
	return p, os.Getenv(envContainer), json.Unmarshal(data, p)
}

// Plan returns the run of the part.
func (p *Part) Plan() (*plan.Plan, error) {
	all, err := scenarios.LoadBytes(p.File, p.Files[p.File], func(name string) ([]byte, error) {
		data, known := p.Files[name]
		if !known {
			return nil, os.ErrNotExist
		}
		return data, nil
	})
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(all, func(s *plan.Scenario) bool { return s.Metadata.Name == p.Run })
	if i < 0 {
		return nil, fmt.Errorf("there is no scenario %s", p.Run)
	}
	return all[i].Plan(p.Version, p.Seed), nil
}

// Planned returns the pod of the part in its run: its name in the scenario, its manifest and its
// programs.
func (p *Part) Planned(run *plan.Plan) (*plan.PlannedPod, error) {
	if p.Set > 0 {
		return p.controlled(run)
	}
	for _, pod := range run.Pods() {
		if pod.Pod.Namespace+"/"+pod.Pod.Name == p.Pod {
			pod.Program.Delays = pod.Program.Delays.Over(run.Delays).Over(noDelays())
			return &pod, nil
		}
	}
	return nil, fmt.Errorf("scenario %s has no pod %s", p.Run, p.Pod)
}

// controlled returns a pod of a Deployment. The cluster names it, so its random values are those of
// this name.
func (p *Part) controlled(run *plan.Plan) (*plan.PlannedPod, error) {
	w := run.Scenario.Deployment(p.Pod)
	if w == nil {
		return nil, fmt.Errorf("scenario %s has no Deployment %s", p.Run, p.Pod)
	}
	programs := w.Containers
	if p.Step > 0 {
		programs = w.Controlled.Containers[run.Scenario.Spec.Steps[p.Step-1]]
	}
	pod := w.Pod.DeepCopy()
	pod.Name, pod.UID = fmt.Sprintf("%s-%d-0", w.Manifest.Name, p.Set), "uid"
	program := w.Program(pod, programs)
	program.Name, program.Delays = os.Getenv(envPod), program.Delays.Over(run.Delays).Over(noDelays())
	return &plan.PlannedPod{Workload: w.Manifest.Name, Pod: pod, Program: program}, nil
}

// noDelays are the delays of a runtime whose answers take no time, because a real node has its own.
func noDelays() fakeruntime.Delays {
	none := new(fakeruntime.Draw)
	return fakeruntime.Delays{Exec: none, HTTPGet: none, TCPSocket: none, GRPC: none}
}
