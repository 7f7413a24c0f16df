// Package gomegacall names matchers of Gomega in messages.
package gomegacall

import (
	"fmt"
	"reflect"
	"strings"
	"time"

	"github.com/onsi/gomega/format"
	"github.com/onsi/gomega/matchers"
	"github.com/onsi/gomega/types"

	"probesim.dev/internal/value"
)

// Of returns the call that makes a matcher, such as BeNumerically("<", 20). A type of
// Gomega has the name of the function, and its exported fields have the arguments. Other matchers
// describe themselves with GomegaString, or have the name of their type.
func Of(m types.GomegaMatcher) string {
	v := reflect.Indirect(reflect.ValueOf(m))
	if named, is := m.(format.GomegaStringer); is && v.IsValid() {
		return named.GomegaString()
	}
	if v.Kind() != reflect.Struct || v.Type().PkgPath() != reflect.TypeFor[matchers.OrMatcher]().PkgPath() {
		return fmt.Sprintf("a %T", m)
	}
	var args []string
	for field, f := range v.Fields() {
		if field.IsExported() {
			args = append(args, arguments(f)...)
		}
	}
	return strings.TrimSuffix(v.Type().Name(), "Matcher") + "(" + strings.Join(args, ", ") + ")"
}

// arguments returns the arguments that a field of a matcher has: several if it is a list. Of values
// that have no short notation, it returns the type.
func arguments(v reflect.Value) (args []string) {
	if v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if !v.IsValid() {
		return nil
	}
	if v.Kind() == reflect.Slice {
		for i := range v.Len() {
			args = append(args, arguments(v.Index(i))...)
		}
		return args
	}
	switch a := v.Interface().(type) {
	case types.GomegaMatcher:
		return []string{Of(a)}
	case time.Duration:
		return []string{value.Format(a)}
	}
	switch {
	case v.Kind() == reflect.String:
		return []string{fmt.Sprintf("%q", v.String())}
	case v.CanInt(), v.CanUint(), v.CanFloat(), v.Kind() == reflect.Bool:
		return []string{fmt.Sprint(v.Interface())}
	}
	return []string{v.Type().String()}
}
