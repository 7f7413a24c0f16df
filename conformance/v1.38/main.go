// Command kubelet runs scenario files on the real kubelet of the release in the name of its
// directory: see conformance/README.md.
package main

import "probesim.dev/conformance/command"

func main() { command.Main() }
