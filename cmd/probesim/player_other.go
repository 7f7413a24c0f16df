//go:build !linux

package main

// runPlayer does nothing: containers with players run on Linux.
func runPlayer([]string) (code int, is bool) { return 0, false }
