package main

import "probesim.dev/internal/runner/play/player"

// runPlayer plays the program of a container, if the arguments ask for it. It is no command of the
// help: only the manifests of play use it.
func runPlayer(args []string) (code int, is bool) {
	if len(args) == 0 || args[0] != "player" {
		return 0, false
	}
	return player.Main(args[1:]), true
}
