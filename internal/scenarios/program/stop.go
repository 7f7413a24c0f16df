package program

import (
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/podutil"
)

// HookStop returns how long after its begin the preStop hook of a container stops the program in
// the container, and false if it does not do so, or only after something that takes an unknown
// time. The program then ends as at its stop signal, whatever the hook does afterwards.
func HookStop(c *v1.Container) (after time.Duration, stops bool) {
	hook := podutil.Hook(c, "preStop")
	switch {
	case hook == nil:
		return 0, false
	case hook.HTTPGet != nil:
		return 0, strings.TrimSuffix(hook.HTTPGet.Path, "/") == quitPath
	case hook.Exec == nil || len(hook.Exec.Command) == 0:
		return 0, false
	}
	run := func(words []shellWord, slept time.Duration) {
		if !stops && len(words) > 0 && stopsProgram(c, words) {
			after, stops = slept, true
		}
	}
	if script, isShell := shellScript(hook.Exec.Command); isShell {
		sleepOfScript(script, run)
	} else {
		run(wordsOf(hook.Exec.Command), 0)
	}
	return after, stops
}

// stopSignals are those at which servers end.
var stopSignals = []string{"TERM", "INT", "QUIT", "2", "3", "15"}

// stopsProgram reports whether a command stops the program in a container.
func stopsProgram(c *v1.Container, words []shellWord) bool {
	switch name := path.Base(words[0].text); name {
	case "kill", "pkill", "killall":
		return signals(name, words[1:])
	case "curl", "wget":
		return slices.ContainsFunc(words, func(w shellWord) bool { return asksToQuit(c, w.text) })
	default:
		return stopsServer(name, words[1:])
	}
}

// signals reports whether a command sends a stop signal to the first process of its container, or
// to one that it looks up by its name or its file. Process 1 gets no SIGKILL from inside its
// container.
func signals(name string, args []shellWord) bool {
	signal, target := "TERM", name != "kill"
	for i, arg := range args {
		text := strings.TrimPrefix(arg.text, "-")
		switch {
		case i > 0 && (args[i-1].text == "-s" || args[i-1].text == "--signal"):
			signal = arg.text
		case text == "s" || text == "-signal":
		case strings.HasPrefix(arg.text, "-") && i == 0 && text != "f":
			if _, err := strconv.Atoi(text); err == nil || strings.ToUpper(text) == text {
				signal = text
			}
		default:
			target = target || arg.text == "1" || arg.expands
		}
	}
	return target && slices.Contains(stopSignals, strings.TrimPrefix(strings.ToUpper(signal), "SIG"))
}

// stopsServer reports whether a command is one with which people stop a server.
func stopsServer(name string, args []shellWord) bool {
	option := map[string]string{"nginx": "-s", "openresty": "-s", "apachectl": "-k", "apache2ctl": "-k", "httpd": "-k",
		"apache2": "-k"}[name]
	for i, arg := range args {
		if !slices.Contains([]string{"quit", "stop", "graceful-stop"}, arg.text) {
			continue
		}
		if i > 0 && args[i-1].text == option || strings.HasSuffix(name, "ctl") && len(args) == 1 {
			return option != ""
		}
	}
	return false
}

// quitPath is the path with which Envoy, and many programs after it, are asked to end.
const quitPath = "/quitquitquit"

// asksToQuit reports whether a URL asks the program in a container to end: it names a port of the
// container, or the container names none.
func asksToQuit(c *v1.Container, text string) bool {
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil || strings.TrimSuffix(u.Path, "/") != quitPath ||
		!slices.Contains([]string{"localhost", "127.0.0.1", "0.0.0.0", "::1"}, u.Hostname()) {
		return false
	}
	return len(c.Ports) == 0 || slices.ContainsFunc(c.Ports,
		func(p v1.ContainerPort) bool { return strconv.Itoa(int(p.ContainerPort)) == u.Port() })
}
