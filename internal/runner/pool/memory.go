package pool

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Memory is the size of memory for all runs together, in bytes. 0 means DefaultMemory. It is the
// value of a flag.
type Memory int64

const (
	DefaultMemory Memory = 1_000_000_000
	minMemory     Memory = 64_000_000
	maxMemory     Memory = 1 << 50
)

// Type returns the placeholder for the value in help texts.
func (m *Memory) Type() string { return "size" }

func (m *Memory) String() string { return Megabytes(int64(*m)) }

var sizePattern = regexp.MustCompile(`^([+-]?[0-9.]+(?:[eE][0-9]+)?) ?([a-zA-Z]*)$`)

// Set parses a size as in Kubernetes, such as 4Gi or 512M, or with a B after the unit, such as 4GB.
func (m *Memory) Set(text string) error {
	parts := sizePattern.FindStringSubmatch(strings.TrimSpace(text))
	if parts == nil {
		return errors.New("must be a size such as 512MB, 4GB or 2Gi")
	}
	number, unit := parts[1], parts[2]
	if unit == "m" {
		return fmt.Errorf("m stands for thousandths of a byte in Kubernetes: write %sM or %sMi", number, number)
	}
	unit = strings.TrimSuffix(strings.ToLower(unit), "b")
	if unit != "" && unit != "k" { // Kubernetes writes k, M, G, T, Ki, Mi, Gi, Ti
		unit = strings.ToUpper(unit[:1]) + unit[1:]
	}
	q, err := resource.ParseQuantity(number + unit)
	if err != nil {
		return errors.New("must be a size such as 512MB, 4GB or 2Gi")
	}
	switch {
	case q.Sign() <= 0:
		return errors.New("must be greater than 0")
	case q.CmpInt64(int64(minMemory)) < 0:
		return fmt.Errorf("must be at least %s", Megabytes(int64(minMemory)))
	case q.CmpInt64(int64(maxMemory)) > 0:
		return errors.New("must be at most 1Pi")
	}
	*m = Memory(q.Value())
	return nil
}

// Megabytes returns a size in MB, or in GB if it is a whole number of them.
func Megabytes(bytes int64) string {
	if bytes%1e9 == 0 {
		return fmt.Sprintf("%dGB", bytes/1e9)
	}
	return fmt.Sprintf("%dMB", bytes/1e6)
}

// Results returns the memory for failures until a report with them is written. The text of the
// report takes several times as much.
func (m Memory) Results() int64 { return int64(cmp.Or(m, DefaultMemory)) / 32 }

// Apply makes the garbage collector keep the process within the memory, and lets it wait while
// there is enough. It returns a function that restores the limit.
func (m Memory) Apply() (restore func()) {
	m = cmp.Or(m, DefaultMemory)
	old := debug.SetMemoryLimit(-1)
	debug.SetMemoryLimit(min(old, int64(m-m/16)))
	percent := debug.SetGCPercent(collectRunsAfter)
	untouched := make([]byte, m/500)
	return func() {
		runtime.KeepAlive(untouched)
		debug.SetMemoryLimit(old)
		debug.SetGCPercent(percent)
	}
}

// collectRunsAfter is the growth of memory, in percent, after which garbage is collected between
// and in runs. A run leaves little of what it allocates, and a collection costs more than the
// memory that it would save. Short runs have so little memory that they would still have a
// collection every few runs, so 8 MB that nothing touches count too, or less if the limit is low.
const collectRunsAfter = 400

// CollectRarely lets the heap grow to 80 MB before garbage is collected: memory that nothing
// touches counts too. Most runs of a search leave nothing in memory, so a collection would follow
// every few of them. It returns a function that ends this.
func CollectRarely() (restore func()) {
	untouched := make([]byte, 40_000_000)
	return func() { runtime.KeepAlive(untouched) }
}
