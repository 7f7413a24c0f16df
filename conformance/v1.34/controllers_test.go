package main

// The comparison of the controllers belongs to this module: its requirements are those of the release.
import _ "probesim.dev/conformance/realcontrollers"
