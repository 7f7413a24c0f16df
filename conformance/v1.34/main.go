// Command kubelet runs scenario files on the real kubelet of Kubernetes v1.34.4 under virtual time:
//
//	go run . timeline PATH...    the runs, drawn
//	go run . trace PATH...       their traces, as the simulator writes them with -o jsonl
//	go run . compare PATH...     does the simulator do the same?
//	go run . random              and with random scenarios?
package main

import "probesim.dev/conformance/command"

func main() { command.Main() }
