// Package fakeruntime is a container runtime without containers: it answers the calls that a kubelet
// makes of one (the container runtime interface, CRI), and behind each container stands a Program, a
// script of what the application in it does and when.
//
// # A state machine that is told the time
//
// The package waits for nothing and reads no clock. Whoever drives it, the simulator's kernel or timers
// around the real kubelet, hands it calls and the time, and both get the same answers:
//
//	op := rt.Submit(now, call)      // op.Done already, or later
//	at, ok := rt.Next()             // when something happens next, if nothing else is submitted
//	for _, op := range rt.Advance(at) {
//		// op.Done: hand it back to op.Waiter
//	}
//
// Times are virtual, since t=0 of the scenario; a kubelet that is older than its scenario makes calls at
// negative times. An Op is delivered once: Done when Submit returns it, or else by one Advance.
//
// # Calls
//
// Every call takes the latency of its kind (Delays) and takes effect at its end: a container that
// StartContainer starts runs from the end of that call on, and a list shows what there is when it
// returns. Lists have the newest first. StopContainer sends the stop signal at the end of its latency
// and then returns when the process is gone. ExecSync acts when it is submitted: the program
// answers as it is at that instant, after a latency; a container that is not running refuses at once. So
// do requests over the network, which are no calls of the CRI and go to the instance that runs under the
// IP of the pod.
// Images are always on the node.
//
// # One instant
//
// Virtual time makes many things fall together that a real node keeps apart. What happens at one
// instant happens in this order, whatever the size of the steps in which time is advanced:
//
//  1. processes end, by SIGKILL before by themselves;
//  2. calls that change something take effect, in the order in which they were submitted;
//  3. commands that run in containers and requests time out or are answered;
//  4. calls that only read return;
//  5. what is submitted at this instant begins, having seen all of that.
//
// So what ends something wins over what it ends: an answer due in the instant in which its process ends
// or its timeout is over comes too late. Windows include their opening and exclude their end.
//
// # Draws
//
// With a seed, delays and the numbers of a program are drawn from their ranges. A draw is a hash of the
// seed and of what it is for, never the next number of a stream: one more call, or another order of
// calls, changes no other draw, so both engines and a shrunk scenario draw the same. Without a seed
// every range gives its middle and no chance comes up.
//
// # Programs
//
// An instance is one run of a container, from the end of StartContainer to the exit of the process. Each
// has the rules of its program afresh. The last rule that has an answer for the request and whose
// window is open answers it; a stalled request is put again when the window closes. Rules that exit act
// at the opening of their window, and the earliest counts, also one that does not count from the stop
// signal and opens after it. See Program and the reference of the scenario file.
package fakeruntime
