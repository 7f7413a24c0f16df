package release

import (
	"time"
	_ "unsafe" // for linkname

	_ "k8s.io/client-go/tools/cache"
)

// neverExitWatch is a channel on which the reflectors of client-go up to v0.34 wait (tools/cache/reflector.go). A
// goroutine that waits on a channel from outside its bubble does not count as durably blocked, so each bubble
// needs its own channel.
//
//go:linkname neverExitWatch k8s.io/client-go/tools/cache.neverExitWatch
var neverExitWatch <-chan time.Time

// EnterBubble prepares the process for a bubble. Call it first in each bubble, and call leave after the bubble.
func EnterBubble() (leave func()) {
	outside := neverExitWatch
	neverExitWatch = make(chan time.Time)
	return func() { neverExitWatch = outside }
}
