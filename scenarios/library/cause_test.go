package library

import "probesim.dev/trace"

// external are the kinds of records without a cause: actions from outside.
var external = map[trace.Kind]bool{
	trace.PodAdded: true, trace.PodDeleteRequested: true, trace.KubeletStopped: true, trace.Step: true,
}

// uncaused follows the causes of each record of a trace back to an action from outside, and
// describes those that lead to none.
func uncaused(records []trace.Record) (wrong []string) {
	begun := make([]bool, len(records)+1) // by step: whether the causes lead to an action from outside
	for i := range records {
		r := &records[i]
		switch {
		case r.Cause < 0 || r.Cause >= r.Step:
			wrong = append(wrong, "the cause is not older than the record: "+describe(r))
		case r.Cause == 0 && (external[r.Kind] || isCreation(r)):
			begun[r.Step] = true
		case begun[r.Cause]:
			begun[r.Step] = true
		case r.Kind.Observable():
			wrong = append(wrong, "no action from outside led to the record: "+describe(r))
		}
	}
	return wrong
}

// isCreation reports whether a record is the first about a Deployment or about a Service: their
// creation has no record of its own.
func isCreation(r *trace.Record) bool {
	return r.Kind == trace.WorkloadChanged && r.Reason == "spec" ||
		r.Kind == trace.EndpointsWritten && len(r.Object.Endpoints) == 0
}

func describe(r *trace.Record) string {
	return trace.FormatTime(r.T) + " " + r.Subject() + " " + r.Summary()
}
