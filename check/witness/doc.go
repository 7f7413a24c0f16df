// Package witness finds runs that come close to the ends of the rows of a check, and writes them as scenario files. The ends are computed (package bounds); a
// run only shows them.
//
// A case is one node and one program on it: the latencies, the phases of the kubelet and of the events, and a seed for the choices of the kubelet. A [Figure]
// draws cases and reads their runs. A search draws some hundred cases, and goes on around the closest one.
package witness
