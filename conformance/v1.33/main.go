// Command kubelet runs scenario files on the real kubelet of the release in the name of its directory under virtual time:
//
//	go run . timeline PATH...    draw the runs
//	go run . trace PATH...       print the traces, in the format of probesim run -o jsonl
//	go run . compare PATH...     compare the simulator with the kubelet
//	go run . random              compare random scenarios
package main

import "probesim.dev/conformance/command"

func main() { command.Main() }
