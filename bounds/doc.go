// Package bounds finds the limits of a container's probe settings: how long its start may take, how long a stall it survives,
// how long the kubelet needs to act. Each limit is the least or the greatest over everything that varies from run to run.
//
// A limit is read from a run, not computed from a formula. In this run the misfortune, such as a stall, lasts for ever. The
// probe run that reaches the failure threshold decides; a misfortune that ends before that run changes nothing up to then. So
// one run gives the exact limit for one case, and a search over cases gives the range.
//
// Too many times decide some ends: those of a start, those of the time until a container is ready or is no longer
// ready, and the latest stop signal. They are derived from the rules of the kubelet, and the search gives a run that comes close. See
// [Bound].
//
// The limit of a start jumps where a time that moves with the start, such as the sync that shows it to the probes, meets a tick of
// a probe or a relist. A run shows these times. So the search goes directly to the cases where they meet.
//
//	s, err := bounds.NewSubject(pod, "app", profile.Newest())
//	...
//	limit, err := s.Start(bounds.Nodes{Delays: typical}, bounds.FirstInstance)
//	fmt.Println(limit.Least, limit.Greatest) // a start of up to 54.9s always succeeds, and one of over 59.9s never does
//
// A [Bound] names the cases in which its ends are reached. A [Case] can be written as a scenario file, with the rules of its
// program and the delays of its node.
package bounds
