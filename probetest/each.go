package probetest

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/onsi/gomega/types"

	"probesim.dev/internal/printable"
)

// examiner is a matcher M that examines one pod or container.
type examiner[M any] interface {
	*M
	types.GomegaMatcher
	match(actual any) (bool, error)
	wording() string    // what it expects, such as "have become ready within 30s after the pod was added"
	happened() string   // what the last match found, such as "It did not"
	examined() *subject // of the last match; nil: none
	list() *settled
}

// matchedEach examines a pod, a container, or each element of a list of them. All must match. If
// only some of them do, that is an error, so that NotTo fails too: it expects that none matches.
func matchedEach[M any, P examiner[M]](matcher string, m P, actual any) (bool, error) {
	elements, isList := elementsOf(actual)
	if m == nil || !isList {
		if m != nil {
			m.list().others = ""
		}
		return matched(matcher, m == nil, func(actual any) (bool, error) { return m.match(actual) }, actual)
	}
	if len(elements) == 0 {
		return false, fmt.Errorf("%s: the list is empty: every assertion about it would hold", matcher)
	}
	all := make([]M, len(elements))
	ok := make([]bool, len(elements))
	first := 0 // the element that the message is about: the first that does not match, or the first
	for i, element := range elements {
		all[i] = *m
		var err error
		if ok[i], err = P(&all[i]).match(element); err != nil {
			m.list().polled = false
			return false, fmt.Errorf("%s: element %d of the list: %w", matcher, i, err)
		}
		if !ok[i] && ok[first] {
			first = i
		}
	}
	*m = all[first]
	var others strings.Builder
	matching := 0
	for i := range all {
		if ok[i] {
			matching++
		}
		if i != first {
			fmt.Fprintf(&others, "\n    %s", found[M, P](&all[i]))
		}
	}
	if others.Len() > 0 {
		m.list().others = "\n\nThe others:" + printable.Lines(others.String())
	}
	if matching > 0 && matching < len(all) {
		return false, errors.New(fmt.Sprintf("%s: %d of %d match. To expects that all do, NotTo that none does.\n\n",
			matcher, matching, len(all)) + m.FailureMessage(actual))
	}
	return ok[0], nil
}

// elementsOf returns the elements of a list of pods or containers.
func elementsOf(actual any) (elements []any, isList bool) {
	switch actual.(type) {
	case []*Pod, []Pod, []*Container, []Container:
	default:
		return nil, false
	}
	list := reflect.ValueOf(actual)
	for i := range list.Len() {
		elements = append(elements, list.Index(i).Interface())
	}
	return elements, true
}

// described says what a matcher expects and what its last match found. Gomega prints it in messages
// such as that of HaveEach, which ends at the first element that does not match.
func described[M any, P examiner[M]](m P) string {
	if m.examined() == nil {
		return m.wording()
	}
	return printable.Lines(m.wording() + "; the last one examined is " + found[M, P](m))
}

// found says in a line what a matcher found in its last match.
func found[M any, P examiner[M]](m P) string {
	text, _, _ := strings.Cut(m.happened(), "\n")
	return m.examined().String() + ": " + text
}
