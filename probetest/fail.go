package probetest

import (
	"fmt"

	"github.com/onsi/gomega"
)

// fail fails the test through Gomega, where the caller of the caller of fail is, or so many callers above.
func fail(callers int, format string, args ...any) {
	gomega.ExpectWithOffset(callers+2, nil).To(refusal(fmt.Sprintf(format, args...)))
}

// refusal is a matcher that fails with its text.
type refusal string

func (refusal) Match(any) (bool, error)            { return false, nil }
func (r refusal) FailureMessage(any) string        { return string(r) }
func (r refusal) NegatedFailureMessage(any) string { return string(r) }
