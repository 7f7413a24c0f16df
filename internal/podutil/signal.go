package podutil

import (
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
)

// signals has the numbers of the Linux signals on x86 and ARM, by their names in the API
// (signal(7)).
var signals = func() map[v1.Signal]int {
	numbers := map[v1.Signal]int{
		"SIGHUP": 1, "SIGINT": 2, "SIGQUIT": 3, "SIGILL": 4, "SIGTRAP": 5, "SIGABRT": 6, "SIGIOT": 6, "SIGBUS": 7,
		"SIGFPE":  8,
		"SIGKILL": 9, "SIGUSR1": 10, "SIGSEGV": 11, "SIGUSR2": 12, "SIGPIPE": 13, "SIGALRM": 14, "SIGTERM": 15,
		"SIGSTKFLT": 16,
		"SIGCHLD":   17, "SIGCLD": 17, "SIGCONT": 18, "SIGSTOP": 19, "SIGTSTP": 20, "SIGTTIN": 21, "SIGTTOU": 22,
		"SIGURG":  23,
		"SIGXCPU": 24, "SIGXFSZ": 25, "SIGVTALRM": 26, "SIGPROF": 27, "SIGWINCH": 28, "SIGIO": 29, "SIGPOLL": 29,
		"SIGPWR": 30,
		"SIGSYS": 31, "SIGRTMIN": 34, "SIGRTMAX": 64,
	}
	for i := 1; i <= 15; i++ {
		numbers[v1.Signal(fmt.Sprint("SIGRTMIN+", i))] = 34 + i
	}
	for i := 1; i <= 14; i++ {
		numbers[v1.Signal(fmt.Sprint("SIGRTMAX-", i))] = 64 - i
	}
	return numbers
}()

// Signals returns the valid stop signals in alphabetical order.
func Signals() []v1.Signal { return slices.Sorted(maps.Keys(signals)) }

// StopSignal returns the name and the number of the signal that stops a container. The default is
// SIGTERM, as for an image without a stop signal (getContainerConfigStopSignal in
// pkg/kubelet/kuberuntime/helpers.go at v1.37.0). The number is 0 if the name is not a signal.
func StopSignal(c *v1.Container) (v1.Signal, int) {
	name := v1.SIGTERM
	if c.Lifecycle != nil && c.Lifecycle.StopSignal != nil {
		name = *c.Lifecycle.StopSignal
	}
	return name, signals[name]
}
