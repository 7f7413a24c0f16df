package inplace

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// plain matches a string that YAML needs no quotes for.
var plain = regexp.MustCompile(`^[A-Za-z/][A-Za-z0-9/._-]*$`)

// flow returns a value in the style {path: /ready, port: 80}.
func flow(value any) string {
	switch v := value.(type) {
	case map[string]any:
		var list []string
		for _, key := range slices.Sorted(maps.Keys(v)) {
			list = append(list, key+": "+flow(v[key]))
		}
		return "{" + strings.Join(list, ", ") + "}"
	case []any:
		var list []string
		for _, item := range v {
			list = append(list, flow(item))
		}
		return "[" + strings.Join(list, ", ") + "]"
	}
	return scalar(value)
}

func scalar(value any) string {
	if text, is := value.(string); is && plain.MatchString(text) &&
		!slices.Contains([]string{"true", "false", "yes", "no", "on", "off", "null"}, strings.ToLower(text)) {
		return text
	} else if is {
		return jsonOf(value)
	}
	return fmt.Sprint(value)
}

func jsonOf(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("inplace: %v", err)) // values of a patch come from JSON
	}
	return string(text)
}
