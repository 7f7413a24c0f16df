package program

import (
	"path"
	"regexp"
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
		return 0, strings.TrimSuffix(hook.HTTPGet.Path, "/") == "/quitquitquit"
	case hook.Exec == nil || len(hook.Exec.Command) == 0:
		return 0, false
	}
	run := func(words []shellWord, slept time.Duration) {
		if text := textOf(words); !stops && (stopping.MatchString(text) || asksToQuit(c, text)) {
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

// textOf returns the words of a command, the first without its directory.
func textOf(words []shellWord) string {
	var list []string
	for i, w := range words {
		if i == 0 {
			w.text = path.Base(w.text)
		}
		list = append(list, w.text)
	}
	return strings.Join(list, " ")
}

// stopping matches commands that stop the program in their container: a stop signal to its first
// process, which gets no SIGKILL from inside the container, or to one that they look up; and those
// with which people stop a server.
var stopping = regexp.MustCompile("^(?:kill" + stopSignal + " (?:1(?: .*)?|[$`].*)" +
	"|(?:pkill|killall)" + stopSignal + "(?: -f)? [^-].*" +
	"|(?:nginx|openresty)(?: .*)? -s (?:quit|stop)(?: .*)?" +
	"|(?:(?:apachectl|apache2ctl)|(?:apachectl|apache2ctl|httpd|apache2)(?: .*)? -k) (?:graceful-)?stop(?: .*)?)$")

// stopSignal matches one of the signals at which servers end, or none, which is SIGTERM.
const stopSignal = "(?: -(?:s |-signal )?(?:SIG)?(?:TERM|INT|QUIT|2|3|15))?"

// quit matches a request for the end of a program at a port of the container. Envoy has this path,
// and many programs after it.
var quit = regexp.MustCompile(`^(?:curl|wget) .*(?:localhost|127\.0\.0\.1):(\d+)/quitquitquit/?(?: .*)?$`)

// asksToQuit reports whether a command asks the program in a container to end: it names a port of
// the container, or the container names none.
func asksToQuit(c *v1.Container, command string) bool {
	asked := quit.FindStringSubmatch(command)
	return asked != nil && (len(c.Ports) == 0 || slices.ContainsFunc(c.Ports,
		func(p v1.ContainerPort) bool { return strconv.Itoa(int(p.ContainerPort)) == asked[1] }))
}
