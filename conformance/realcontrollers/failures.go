package realcontrollers

import (
	"context"
	"fmt"
	"strings"

	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"probesim.dev/internal/world/controller"
	"probesim.dev/trace"
)

// failures records the syncs of the real controllers that fail and are tried again. No call shows
// them, but they decide when the next sync is. The Deployment and EndpointSlice controllers log
// them, and the ReplicaSet controller reports them as errors.
type failures struct{ api *Server }

// failed records that a sync of a key failed.
func (f failures) failed(queue, key string) {
	f.api.locked(func() {
		f.api.Record(trace.Record{Kind: trace.SyncFailed, Reason: queue, Object: &trace.Object{Name: key}})
	})
}

// handleErrors takes the errors that controllers report.
func (f failures) handleErrors() {
	utilruntime.ErrorHandlers = []utilruntime.ErrorHandler{func(_ context.Context, err error, _ string, _ ...any) {
		var key string
		if _, scanErr := fmt.Sscanf(err.Error(), "sync %q failed with", &key); scanErr == nil {
			f.failed("replicaset", key)
			if strings.Contains(err.Error(), "read version: ") { // it has read nothing before it failed
				f.api.turns.Add("replicaset "+key, controller.TurnSync)
			}
		}
	}}
}

// The methods of a logr.LogSink.

func (failures) Init(logr.RuntimeInfo)            {}
func (failures) Enabled(level int) bool           { return level <= 2 }
func (failures) Error(error, string, ...any)      {}
func (f failures) WithValues(...any) logr.LogSink { return f }
func (f failures) WithName(string) logr.LogSink   { return f }
func (f failures) Info(_ int, text string, kv ...any) {
	for i := 0; i+1 < len(kv); i += 2 {
		switch {
		case strings.HasPrefix(text, "Error syncing deployment") && kv[i] == "deployment":
			f.failed("deployment", fmt.Sprint(kv[i+1]))
		case strings.HasPrefix(text, "Error syncing endpoint slices") && kv[i] == "key":
			f.failed("endpointslice", fmt.Sprint(kv[i+1]))
		}
	}
}
