// Package messages holds what incident reads from the message of a failed probe against sockets:
// the probers of the kubelet, and the programs that commands of probes call, ask sockets that fail
// in different ways. It has only tests.
package messages
