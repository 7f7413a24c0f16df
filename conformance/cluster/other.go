//go:build !linux

package main

import "errors"

func up(options, string) (int, error) {
	return 0, errors.New("a cluster needs Linux: its node is made of Linux namespaces and cgroups")
}

func stage(name string, _ []string) (int, error) {
	return 0, usageError("unknown command " + name)
}
