package scenarios

import (
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/value"
)

// SleepOf returns the time for which a command sleeps: sleep with its times, or a shell that runs sleep and other commands one
// after the other. It returns false if the command does anything else that may take time.
func SleepOf(command []string) (slept time.Duration, isAll bool) {
	if len(command) == 0 {
		return 0, false
	}
	script, isShell := shellScript(command)
	if !isShell {
		return simpleCommand(command)
	}
	script = strings.ReplaceAll(script, "&&", ";")
	if strings.ContainsAny(script, "|&`$(){}<>\\*?[") {
		return 0, false
	}
	isAll = true
	for _, part := range strings.FieldsFunc(script, func(r rune) bool { return r == ';' || r == '\n' }) {
		words := strings.Fields(strings.NewReplacer(`"`, "", "'", "").Replace(part))
		if len(words) > 0 && words[0] == "exec" {
			words = words[1:]
		}
		if len(words) == 0 {
			continue
		}
		if slices.Contains(control, words[0]) {
			return 0, false
		}
		d, known := simpleCommand(words)
		slept, isAll = min(slept+d, value.MaxDuration), isAll && known
	}
	return slept, isAll
}

// control are the words of a shell that make a script more than a sequence of commands.
var control = []string{"if", "then", "else", "elif", "fi", "for", "while", "until", "do", "done", "case", "esac", "function", "trap", "wait", "return", "!"}

// instant are commands that take no time.
var instant = []string{"true", "false", ":", "echo", "printf", "exit", "kill", "touch", "rm", "set", "date", "test"}

var shells = []string{"sh", "bash", "ash", "dash"}

// shellScript returns the script that a command passes to a shell, as in sh -c SCRIPT.
func shellScript(command []string) (string, bool) {
	if !slices.Contains(shells, path.Base(command[0])) {
		return "", false
	}
	for i, arg := range command[1:] {
		if strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "--") && strings.HasSuffix(arg, "c") && i+2 < len(command) {
			return command[i+2], true
		}
	}
	return "", false
}

// simpleCommand returns the time for which a command without a shell sleeps, and whether it does nothing else that takes time.
func simpleCommand(words []string) (slept time.Duration, isAll bool) {
	name := path.Base(words[0])
	if name != "sleep" {
		return 0, slices.Contains(instant, name)
	}
	for _, arg := range words[1:] {
		d, ok := sleepTime(arg)
		if !ok {
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

// hookSleep returns the time for which the command of a hook sleeps.
func hookSleep(c *v1.Container, key string) time.Duration {
	hook := hookOf(c, key)
	if hook == nil || hook.Exec == nil {
		return 0
	}
	slept, _ := SleepOf(hook.Exec.Command)
	return slept
}
