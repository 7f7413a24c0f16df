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
	"probesim.dev/internal/value"
)

// The words of a shell script, with quotes and expansions that have no brackets in them. A script
// with other words is not understood.
const (
	expansionPattern = "`[^`]*`|\\$\\([^()]*\\)|\\$\\(\\([^()]*\\)\\)|\\$\\{[^{}]*\\}|\\$"
	quotedPattern    = `'[^']*'|"(?:\\.|[^"\\$` + "`" + `]|` + expansionPattern + `)*"`
	wordPattern      = `(?:` + quotedPattern + `|` + expansionPattern + `|\\.|[^\s;&|<>(){}'"\\$` + "`" + `])+`
)

var (
	// A token is a comment, a redirection, the end of a command or a word.
	shellToken = regexp.MustCompile(`(?s)^[ \t]*(?:#[^\n]*|[0-9]*(?:>>|>&|<&|>|<)[ \t]*` + wordPattern +
		`|(&&|\|\||[|&;\n])|(` + wordPattern + `))`)
	substitution = regexp.MustCompile("`([^`]*)`|\\$\\(([^()]*)\\)")
	unquoted     = strings.NewReplacer(`'`, "", `"`, "", `\`, "")
)

// shellWord is a word of a command in a shell script.
type shellWord struct {
	text    string   // without quotes
	expands bool     // the text depends on a variable, a pattern or another command
	runs    []string // scripts that the shell runs to expand the word
}

func newShellWord(text string) shellWord {
	w := shellWord{text: unquoted.Replace(text), expands: strings.ContainsAny(text, "$`*?~")}
	for _, m := range substitution.FindAllStringSubmatch(text, -1) {
		w.runs = append(w.runs, m[1]+m[2])
	}
	return w
}

var assignment = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)

func (w *shellWord) isAssignment() bool { return assignment.MatchString(w.text) }

// firstCommand reads the words of the first command of a script, what ends it, ";" (or a new line),
// "&&", "||", "|", "&", or "" at the end of the script, and the rest. It returns false if it does
// not understand the script.
func firstCommand(script string) (words []shellWord, end, rest string, ok bool) {
	for {
		m := shellToken.FindStringSubmatch(script)
		if m == nil {
			return words, "", "", strings.Trim(script, " \t") == ""
		}
		script = script[len(m[0]):]
		switch end, word := m[1], m[2]; {
		case end != "":
			return words, strings.Replace(end, "\n", ";", 1), script, len(words) > 0 || end == "\n"
		case word != "":
			words = append(words, newShellWord(word))
		}
	}
}

// SleepOf returns the time for which a command sleeps: sleep with its times, or a shell that runs
// sleep and other commands one after the other. It returns false if the command does anything else
// that may take time.
func SleepOf(command []string) (slept time.Duration, isAll bool) {
	if len(command) == 0 {
		return 0, false
	}
	if LacksC(command) {
		return 0, true
	}
	if script, isShell := shellScript(command); isShell {
		return sleepOfScript(script, func([]shellWord, time.Duration) {})
	}
	return sleepOfCommand(wordsOf(command))
}

func wordsOf(command []string) []shellWord {
	words := make([]shellWord, len(command))
	for i, text := range command {
		words[i].text = text
	}
	return words
}

// sleepOfScript returns the time for which a script sleeps before its end, or before the first part
// that is more than a sequence of commands, such as a loop. It passes each command that runs after
// a known time to run.
func sleepOfScript(script string, run func([]shellWord, time.Duration)) (slept time.Duration, isAll bool) {
	isAll = true
	for {
		words, end, rest, ok := firstCommand(script)
		for len(words) > 0 && (words[0].text == "exec" || words[0].isAssignment()) {
			words = words[1:]
		}
		name := ""
		if len(words) > 0 {
			name = words[0].text
		}
		if !ok || end == "|" || end == "&" || slices.Contains(control, name) {
			return slept, false
		}
		if isAll {
			run(words, slept)
		}
		d, known := sleepOfWords(words)
		slept, isAll = min(slept+d, value.MaxDuration), isAll && known
		isCondition := slices.Contains(conditions, path.Base(name))
		switch {
		case end == "":
			return slept, isAll
		case end == "||" && known && !isCondition:
			_, end, rest, ok = firstCommand(rest) // which does not run, because the command before it succeeds
			if !ok || end != "" && end != ";" {
				return slept, false
			}
		case end == "||", end == "&&" && isCondition:
			return slept, false
		}
		script = rest
	}
}

// sleepOfWords returns the time for which a command in a script and the commands in its words
// sleep.
func sleepOfWords(words []shellWord) (slept time.Duration, isAll bool) {
	if len(words) == 0 {
		return 0, true
	}
	slept, isAll = sleepOfCommand(words)
	for _, w := range words {
		for _, inner := range w.runs {
			d, known := sleepOfScript(inner, func([]shellWord, time.Duration) {})
			slept, isAll = min(slept+d, value.MaxDuration), isAll && known
		}
	}
	return slept, isAll
}

// control are the words of a shell that make a script more than a sequence of commands.
var control = []string{"if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac",
	"function", "trap", "wait", "return", "!", "{", "}"}

// conditions are commands that take no time and may fail on purpose.
var conditions = []string{"test", "[", "false", "pgrep", "pidof", "grep"}

// instant are other commands that take no time.
var instant = []string{"true", ":", "echo", "printf", "exit", "kill", "pkill", "killall", "touch", "rm", "mkdir", "mv",
	"cat", "cd", "export", "set", "date"}

var shells = []string{"sh", "bash", "ash", "dash"}

// shellScript returns the script that a command passes to a shell, as in sh -c SCRIPT.
func shellScript(command []string) (string, bool) {
	if !slices.Contains(shells, path.Base(command[0])) {
		return "", false
	}
	for i, arg := range command[1:] {
		if strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "--") && strings.HasSuffix(arg, "c") &&
			i+2 < len(command) {
			return command[i+2], true
		}
	}
	return "", false
}

// LacksC reports whether a command passes a script to a shell without -c: the shell looks for a
// file of this name, and fails at once.
func LacksC(command []string) bool {
	return len(command) > 1 && slices.Contains(shells, path.Base(command[0])) &&
		!strings.HasPrefix(command[1], "-") && strings.ContainsAny(command[1], " \t\n;")
}

// sleepOfCommand returns the time for which a command without a shell sleeps, and whether it does
// nothing else that takes time.
func sleepOfCommand(words []shellWord) (slept time.Duration, isAll bool) {
	name := path.Base(words[0].text)
	if name != "sleep" || words[0].expands {
		return 0, !words[0].expands && (slices.Contains(instant, name) || slices.Contains(conditions, name) ||
			stopping.MatchString(textOf(words)))
	}
	for _, arg := range words[1:] {
		d, ok := sleepTime(arg.text)
		if !ok || arg.expands {
			return 0, false
		}
		slept = min(slept+d, value.MaxDuration)
	}
	return slept, len(words) > 1
}

var sleepUnits = map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': 24 * time.Hour}

// sleepTime returns the time of an argument of sleep: a number of seconds, or with a unit.
func sleepTime(arg string) (time.Duration, bool) {
	unit := time.Second
	if arg != "" && sleepUnits[arg[len(arg)-1]] != 0 {
		arg, unit = arg[:len(arg)-1], sleepUnits[arg[len(arg)-1]]
	}
	n, err := strconv.ParseFloat(arg, 64)
	if err != nil || strings.ContainsAny(arg, "+-xXpPiInN_") {
		return 0, false
	}
	return time.Duration(min(n*float64(unit), float64(value.MaxDuration))), true
}

// HookSleep returns the time for which the command of a hook sleeps.
func HookSleep(c *v1.Container, key string) time.Duration {
	hook := podutil.Hook(c, key)
	if hook == nil || hook.Exec == nil {
		return 0
	}
	slept, _ := SleepOf(hook.Exec.Command)
	return slept
}

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
