// Package fakeruntime is a container runtime without containers. It answers the calls that a
// kubelet makes over the container runtime interface (CRI). Behind each container stands a Program,
// a script of what the application does and when it does so.
//
// # A sans-IO state machine
//
// The package does no input or output, starts no goroutine and reads no clock. A driver passes
// calls and the time to it. The simulator drives it from its kernel; the real kubelet drives it
// with timers. Both get the same answers:
//
//	op := rt.Submit(now, call)      // begins a call; op.Done may be true already
//	at, ok := rt.Next()             // when to call Advance next, unless another call comes first
//	for _, op := range rt.Advance(at) {
//		// op.Done is true: return the result to op.Waiter
//	}
//
// A complete call looks like this: Submit begins an ExecSync of a probe at 10 s and returns an Op
// that is not done. Next returns 10.02 s, when the command ends. Advance(10.02 s) returns the Op
// with its exit code. If the container dies at 10.01 s, Next returns 10.01 s instead, and Advance
// returns the Op with the exit code of a killed command.
//
// Times are virtual times since t=0 of the scenario. They are negative while the kubelet starts
// before its scenario. Each Op is delivered once: Submit returns it with Done set, or one Advance
// returns it later.
//
// # Calls
//
// Every call takes the latency of its kind (Delays) and takes effect at its end. A container runs
// from the end of its StartContainer call on, and a list shows the state at its return, newest
// first. StopContainer sends the stop signal at the end of its latency and returns when the process
// has ended.
//
// A call whose caller gives up (Call.Deadline) ends with DeadlineExceeded. Some then go on, as in
// containerd: a container is still created or removed, and its name stays reserved until then. A
// container whose start is given up has exited.
//
// ExecSync acts when it is submitted: the program chooses its answer at that instant and gives it
// after a latency. A container that is not running fails the call immediately. Network requests of
// probes and hooks behave likewise. They are not part of the CRI, and they reach the instance that
// runs under the IP of the pod.
//
// Images are always present on the node.
//
// # One instant
//
// In virtual time, many events share an instant that a real node would keep apart. The events of
// one instant happen in this order, whatever the steps in which the driver advances the time:
//
//  1. processes end; if a program exits at the instant of its SIGKILL, the seed decides which comes
//     first, and without a seed the SIGKILL does;
//  2. calls that change something take effect, in the order of their submission;
//  3. commands in containers and network requests time out or get answers;
//  4. calls that only read return;
//  5. calls that are submitted at this instant begin, and see the effects of all of the above.
//
// So the end of a process or a timeout wins over an answer that is due at the same instant. The
// window of a rule includes its opening and excludes its end.
//
// # Random numbers
//
// With a seed, delays and the numbers of a program are random values from their ranges. Each value
// is a hash of the seed and of its purpose, and not the next number of a stream. An additional
// call, or another order of calls, therefore changes no other value: the simulator and the real
// kubelet see the same values, and so does a shrunk scenario. Without a seed, every range yields
// its middle and chances never come true.
//
// # Programs
//
// An instance is one run of a container, from the end of StartContainer to the exit of the process.
// Each instance starts the rules of its program again. The last rule that has an answer for the
// request, and whose window is open, answers. A request that stalls gets its answer when the window
// closes, from the rules of that instant. A rule with an exit ends the program when its window
// opens; the earliest exit applies. See Program, and the reference of the scenario file
// (docs/format.md).
package fakeruntime
