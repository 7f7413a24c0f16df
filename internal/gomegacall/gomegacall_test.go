package gomegacall

import (
	"testing"
	"time"

	"github.com/onsi/gomega"
	"github.com/onsi/gomega/gcustom"
	"github.com/onsi/gomega/matchers"
	"github.com/onsi/gomega/types"
)

func TestOf(t *testing.T) {
	even := func(n int) bool { return n%2 == 0 }
	for want, m := range map[string]types.GomegaMatcher{
		`BeNumerically("~", 1m10s, 1s)`:         gomega.BeNumerically("~", 70*time.Second, time.Second),
		`BeNumerically(">", 0.5)`:               gomega.BeNumerically(">", 0.5),
		`Equal("a\nb")`:                         gomega.Equal("a\nb"),
		`HaveLen(0)`:                            gomega.HaveLen(0),
		`BeEmpty()`:                             gomega.BeEmpty(),
		`HavePrefix("Liveness")`:                gomega.HavePrefix("Liveness"),
		`ContainElement(Or(Equal(1), BeNil()))`: gomega.ContainElement(gomega.Or(gomega.Equal(1), gomega.BeNil())),
		`Not(And(HaveSuffix("x"), BeZero()))`:   gomega.Not(gomega.And(gomega.HaveSuffix("x"), gomega.BeZero())),
		`Satisfy(func(int) bool)`:               gomega.Satisfy(even),
		`ConsistOf(1, 2)`:                       gomega.ConsistOf(1, 2),
		`BeIdenticalTo(*int)`:                   gomega.BeIdenticalTo(new(3)),
		`a gcustom.CustomGomegaMatcher`:         gcustom.MakeMatcher(func(int) (bool, error) { return true, nil }),
		`a *matchers.BeNilMatcher`:              (*matchers.BeNilMatcher)(nil),
		`a <nil>`:                               nil,
		`as it says`:                            says{},
	} {
		if got := Of(m); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// says is a matcher that describes itself.
type says struct{ types.GomegaMatcher }

func (says) GomegaString() string { return "as it says" }
