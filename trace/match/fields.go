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
		[]string{"Pending", "Running", "Succeeded", "Failed"}},
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

var (
	probes  = []string{string(trace.Liveness), string(trace.Readiness), string(trace.Startup)}
	results = []string{string(trace.Success), string(trace.Failure), string(trace.Warning), string(trace.Error)}
)

var recordFields = []field[trace.Record]{
	{"graceSeconds", value.Int, func(r *trace.Record) value.Scalar { return value.IntOf(r.GraceSeconds) }, nil},
	{"exitCode", value.Int, func(r *trace.Record) value.Scalar { return value.IntOf(int64(r.ExitCode)) }, nil},
	{"probe", value.Text, func(r *trace.Record) value.Scalar { return value.TextOf(string(r.Probe)) }, probes},
	{"result", value.Text, func(r *trace.Record) value.Scalar { return value.TextOf(string(r.Result)) }, results},
	{"took", value.Time, func(r *trace.Record) value.Scalar { return value.TimeOf(r.Took) }, nil},
	{"type", value.Text, func(r *trace.Record) value.Scalar { return value.TextOf(r.Type) }, []string{"Normal", "Warning"}},
	{"reason", value.Text, func(r *trace.Record) value.Scalar { return value.TextOf(r.Reason) }, nil},
	{"message", value.Text, func(r *trace.Record) value.Scalar { return value.TextOf(r.Message) }, nil},
}

func find[T any](fields []field[T], name string) *field[T] {
	for i := range fields {
		if fields[i].name == name {
			return &fields[i]
		}
	}
	return nil
}
