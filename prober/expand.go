package prober

import (
	"strings"

	v1 "k8s.io/api/core/v1"
)

// expandCommand replaces each reference $(NAME) in the arguments by the value of NAME in the
// container's env. $$ is an escaped $, and a reference to an undefined name stays unchanged. A
// value from another source (valueFrom) is empty (ExpandContainerCommandOnlyStatic in
// pkg/kubelet/container/helpers.go at v1.37.0).
func expandCommand(args []string, env []v1.EnvVar) []string {
	values := make(map[string]string, len(env))
	for _, e := range env {
		values[e.Name] = e.Value
	}
	expanded := make([]string, len(args))
	for i, arg := range args {
		expanded[i] = expand(arg, values)
	}
	return expanded
}

func expand(s string, values map[string]string) string {
	var b strings.Builder
	for {
		i := strings.IndexByte(s, '$')
		if i < 0 || i+1 == len(s) {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:i])
		s = s[i+1:]
		end := strings.IndexByte(s, ')')
		switch {
		case s[0] == '$':
			b.WriteByte('$')
			s = s[1:]
		case s[0] != '(' || end < 0:
			b.WriteString("$" + s[:1])
			s = s[1:]
		default:
			value, ok := values[s[1:end]]
			if !ok {
				value = "$" + s[:end+1]
			}
			b.WriteString(value)
			s = s[end+1:]
		}
	}
}
