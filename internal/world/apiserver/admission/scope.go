package admission

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// scope is a part of an object, and the list of errors about the object.
type scope struct {
	path *field.Path
	errs *field.ErrorList
}

// errorsIn returns the errors that a check finds in a part of an object.
func errorsIn(path *field.Path, check func(scope)) field.ErrorList {
	var errs field.ErrorList
	check(scope{path, &errs})
	return errs
}

func (s scope) at(name string, more ...string) scope {
	return scope{s.path.Child(name, more...), s.errs}
}

func (s scope) index(i int) scope { return scope{s.path.Index(i), s.errs} }

func (s scope) key(name string) scope { return scope{s.path.Key(name), s.errs} }

func (s scope) add(errs ...*field.Error) { *s.errs = append(*s.errs, errs...) }

// invalid adds an error about a value that is wrong.
func (s scope) invalid(wrong bool, value any, detail string) {
	if wrong {
		s.add(field.Invalid(s.path, value, detail))
	}
}

// invalidFor adds an error about a value for each message.
func (s scope) invalidFor(value any, messages []string) {
	for _, m := range messages {
		s.invalid(true, value, m)
	}
}

// forbid adds an error about a part that must not be there.
func (s scope) forbid(there bool, detail string) {
	if there {
		s.add(field.Forbidden(s.path, detail))
	}
}

// require adds an error about a part that is missing.
func (s scope) require(there bool, detail string) {
	if !there {
		s.add(field.Required(s.path, detail))
	}
}

// oneOf adds an error about a value that is not supported.
func oneOf[T ~string](s scope, value T, supported ...T) {
	if !slices.Contains(supported, value) {
		s.add(field.NotSupported(s.path, value, supported))
	}
}

// nonNegative adds an error about a negative number, which may be missing.
func nonNegative[N int32 | int64](s scope, value *N) {
	if value != nil {
		s.add(apivalidation.ValidateNonnegativeField(int64(*value), s.path)...)
	}
}

// eachContainer checks the containers of a pod, the regular ones first.
func eachContainer(s scope, spec *v1.PodSpec, check func(s scope, c *v1.Container, init bool)) {
	for i := range spec.Containers {
		check(s.at("containers").index(i), &spec.Containers[i], false)
	}
	for i := range spec.InitContainers {
		check(s.at("initContainers").index(i), &spec.InitContainers[i], true)
	}
}
