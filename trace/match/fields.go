// Package match finds moments in a trace: states of pods and containers as the API server reports them, changes
// of these states, and records.
package match

import (
	"probesim.dev/internal/value"
	"probesim.dev/trace"
)

// field is a field of a T that a matcher can have.
type field[T any] struct {
	name  string
	typ   value.Type
	get   func(*T) value.Scalar
	words []string // the only possible values of a text field; nil: any
}

var podFields = []field[trace.PodStatus]{
	{"phase", value.Text, func(s *trace.PodStatus) value.Scalar { return value.TextOf(s.Phase) },
		[]string{"Pending", "Running", "Succeeded", "Failed", "Unknown"}},
	{"reason", value.Text, func(s *trace.PodStatus) value.Scalar { return value.TextOf(s.Reason) }, nil},
	{"initialized", value.Bool, func(s *trace.PodStatus) value.Scalar { return value.BoolOf(s.Initialized) }, nil},
	{"containersReady", value.Bool, func(s *trace.PodStatus) value.Scalar { return value.BoolOf(s.ContainersReady) }, nil},
	{"ready", value.Bool, func(s *trace.PodStatus) value.Scalar { return value.BoolOf(s.Ready) }, nil},
}

var containerFields = []field[trace.ContainerStatus]{
	{"state", value.Text, func(s *trace.ContainerStatus) value.Scalar { return value.TextOf(s.State) },
		[]string{"waiting", "running", "terminated"}},
	{"reason", value.Text, func(s *trace.ContainerStatus) value.Scalar { return value.TextOf(s.Reason) }, nil},
	{"exitCode", value.Int, func(s *trace.ContainerStatus) value.Scalar { return value.IntOf(int64(s.ExitCode)) }, nil},
	{"started", value.Bool, func(s *trace.ContainerStatus) value.Scalar { return value.BoolOf(s.Started) }, nil},
	{"ready", value.Bool, func(s *trace.ContainerStatus) value.Scalar { return value.BoolOf(s.Ready) }, nil},
	{"restartCount", value.Int, func(s *trace.ContainerStatus) value.Scalar { return value.IntOf(int64(s.RestartCount)) }, nil},
}

var recordFields = []field[trace.Record]{
	{"graceSeconds", value.Int, func(r *trace.Record) value.Scalar { return value.IntOf(r.GraceSeconds) }, nil},
	{"exitCode", value.Int, func(r *trace.Record) value.Scalar { return value.IntOf(int64(r.ExitCode)) }, nil},
	{"probe", value.Text, func(r *trace.Record) value.Scalar { return value.TextOf(string(r.Probe)) },
		[]string{string(trace.Liveness), string(trace.Readiness), string(trace.Startup)}},
	{"result", value.Text, func(r *trace.Record) value.Scalar { return value.TextOf(string(r.Result)) },
		[]string{string(trace.Success), string(trace.Failure), string(trace.Warning), string(trace.Error)}},
	{"took", value.Time, func(r *trace.Record) value.Scalar { return value.TimeOf(r.Took) }, nil},
	{"type", value.Text, func(r *trace.Record) value.Scalar { return value.TextOf(r.Type) }, []string{"Normal", "Warning"}},
	{"reason", value.Text, func(r *trace.Record) value.Scalar { return value.TextOf(r.Reason) }, nil},
	{"message", value.Text, func(r *trace.Record) value.Scalar { return value.TextOf(r.Message) }, nil},
}

// about is the subject of the records of a kind.
type about int

const (
	aboutAnything about = iota // differs between records
	aboutNode
	aboutPod
	aboutContainer
)

// recordKinds are the kinds of records that can be matched, with their subjects and fields. Observable kinds come
// first.
var recordKinds = []struct {
	kind   trace.Kind
	about  about
	fields []string
}{
	{trace.PodAdded, aboutPod, nil},
	{trace.PodDeleteRequested, aboutPod, nil},
	{trace.PodRemoved, aboutPod, nil},
	{trace.ContainerStarted, aboutContainer, nil},
	{trace.ContainerStopping, aboutContainer, []string{"graceSeconds", "reason"}},
	{trace.ContainerExited, aboutContainer, []string{"exitCode"}},
	{trace.ProbeExecuted, aboutContainer, []string{"probe", "result", "message", "took"}},
	{trace.StatusPatched, aboutPod, nil},
	{trace.Event, aboutAnything, []string{"type", "reason", "message"}},
	{trace.KubeletStopped, aboutNode, nil},
	{trace.KubeletStarted, aboutNode, nil},
	{trace.Step, aboutAnything, []string{"reason", "message"}},

	{trace.CRICall, aboutAnything, []string{"reason", "took"}},
	{trace.ResultChanged, aboutContainer, []string{"probe", "message"}},
	{trace.ManualTrigger, aboutContainer, nil},
	{trace.TriggerTaken, aboutContainer, []string{"probe"}},
	{trace.SyncLoop, aboutAnything, []string{"reason"}},
	{trace.PodSync, aboutPod, []string{"reason"}},
	{trace.Relist, aboutAnything, []string{"reason"}},
	{trace.BackOff, aboutContainer, []string{"took"}},
	{trace.ProbeSkipped, aboutContainer, []string{"probe", "reason"}},
	{trace.Choice, aboutAnything, []string{"reason", "message"}},
}

func find[T any](fields []field[T], name string) *field[T] {
	for i := range fields {
		if fields[i].name == name {
			return &fields[i]
		}
	}
	return nil
}
