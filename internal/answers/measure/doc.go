// Package measure says how long programs take to start and to stop, from what a cluster knows about
// its pods: the times at which containers started, became ready and ended.
//
// The kubelet sees a program through the runs of its probes, and the API has whole seconds. So a
// pod does not tell how long a start took, but a range: it ends between the last run that must have
// failed and the first one that succeeded. [Of] turns around the time from up to ready, which
// package bounds computes.
//
//	rec := incident.Read(files)
//	for _, w := range measure.Of(rec, measure.Options{}).Workloads {
//		for _, c := range w.Containers {
//			fmt.Println(w.Name, c.Name, c.Start) // 15s..19s
//		}
//	}
package measure
