package pool

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Memory is the maximum size of the live heap of a command, in bytes.
type Memory int64

const (
	minMemory Memory = 64_000_000
	maxMemory Memory = 1 << 50
)

func (m Memory) String() string { return Megabytes(int64(m)) }

var sizePattern = regexp.MustCompile(`^([+-]?[0-9.]+(?:[eE][0-9]+)?) ?([a-zA-Z]*)$`)

// ParseMemory reads a size as in Kubernetes, such as 4Gi or 512M, or with a B after the unit, such
// as 4GB.
func ParseMemory(text string) (Memory, error) {
	form := errors.New("must be a size such as 512MB, 4GB or 2Gi")
	parts := sizePattern.FindStringSubmatch(strings.TrimSpace(text))
	if parts == nil {
		return 0, form
	}
	number, unit := parts[1], parts[2]
	if unit == "m" {
		return 0, fmt.Errorf("m stands for thousandths of a byte in Kubernetes: write %sM or %sMi", number, number)
	}
	unit = strings.TrimSuffix(strings.ToLower(unit), "b")
	if unit != "" && unit != "k" { // Kubernetes writes k, M, G, T, Ki, Mi, Gi, Ti
		unit = strings.ToUpper(unit[:1]) + unit[1:]
	}
	q, err := resource.ParseQuantity(number + unit)
	switch {
	case err != nil:
		return 0, form
	case q.CmpInt64(int64(minMemory)) < 0:
		return 0, fmt.Errorf("must be at least %s", minMemory)
	case q.CmpInt64(int64(maxMemory)) > 0:
		return 0, errors.New("must be at most 1Pi")
	}
	return Memory(q.Value()), nil
}

// Megabytes returns a size in MB, or in GB if it is a whole number of them.
func Megabytes(bytes int64) string {
	if bytes%1e9 == 0 {
		return fmt.Sprintf("%dGB", bytes/1e9)
	}
	return fmt.Sprintf("%dMB", bytes/1e6)
}

// Watch returns a context that is done when the live heap of the process exceeds three quarters of
// the memory: the rest is for the reports. Its cause names the flag. The returned function ends the
// watch.
func (m Memory) Watch(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithCancelCause(ctx)
	limit := debug.SetMemoryLimit(-1)
	debug.SetMemoryLimit(min(limit, int64(m-m/16)))
	go func() {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if metrics.Read(live); live[0].Value.Uint64() > uint64(m)/4*3 {
					stop(fmt.Errorf("--max-memory %s is used up", m))
				}
			}
		}
	}()
	return ctx, func() {
		stop(nil)
		debug.SetMemoryLimit(limit)
	}
}
