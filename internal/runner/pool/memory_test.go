package pool

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestParseMemory(t *testing.T) {
	for text, want := range map[string]Memory{
		"4GB": 4e9, "4G": 4e9, "4g": 4e9, "4gb": 4e9, "4e9": 4e9, "4000000000": 4e9, "4000000000B": 4e9, " 4 GB ": 4e9,
		"0.5TB": 5e11, "4000000k": 4e9,
		"2Gi": 2 << 30, "2GiB": 2 << 30, "2gib": 2 << 30, "1.5Gi": 3 << 29, "512MB": 512e6, "512M": 512e6,
		"512Mi": 512 << 20, "65536Ki": 64 << 20, "64MB": 64e6,
	} {
		if m, err := ParseMemory(text); err != nil || m != want {
			t.Errorf("%q: got %d, %v; want %d", text, m, err, want)
		}
	}
	for text, want := range map[string]string{
		"0": "must be at least 64MB", "0GB": "must be at least 64MB", "-4GB": "must be at least 64MB",
		"-0.1": "must be at least 64MB",
		"1MB":  "must be at least 64MB", "63999999": "must be at least 64MB", "512": "must be at least 64MB",
		"512m": "m stands for thousandths of a byte in Kubernetes: write 512M or 512Mi",
		"2Pi":  "must be at most 1Pi", "1e30": "must be at most 1Pi",
		"": "must be a size such as", "much": "must be a size such as", "4 GB of RAM": "must be a size such as",
		"GB": "must be a size such as", "4XB": "must be a size such as",
		"1.2.3GB": "must be a size such as", "1e5GB": "must be a size such as", "Inf": "must be a size such as",
		"0x10G": "must be a size such as", "4BB": "must be a size such as",
	} {
		if m, err := ParseMemory(text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got %d, %v; want %q", text, m, err, want)
		}
	}
	for m, want := range map[Memory]string{4e9: "4GB", 512e6: "512MB", 2 << 30: "2147MB"} {
		if got := m.String(); got != want {
			t.Errorf("%d: got %s, want %s", m, got, want)
		}
	}
}

// TestWatch checks that work ends when the live heap exceeds the memory, and that the cause names
// the flag.
func TestWatch(t *testing.T) {
	ctx, stop := Memory(64e6).Watch(t.Context())
	defer stop()
	kept := make([]byte, 60e6)
	for deadline := time.Now().Add(time.Minute); ctx.Err() == nil && time.Now().Before(deadline); {
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	if runtime.KeepAlive(kept); context.Cause(ctx).Error() != "--max-memory 64MB is used up" {
		t.Errorf("the cause is %v", context.Cause(ctx))
	}
}

// TestParallelIsLimited checks that a large number for Parallel has no effect on memory, and that
// the zero value uses all CPUs.
func TestParallelIsLimited(t *testing.T) {
	cpus := runtime.GOMAXPROCS(0)
	if o := (Options{Parallel: 1_000_000}).limited(); o.Parallel != PerCPU*cpus || o.Ahead != 4*o.Parallel {
		t.Errorf("the options are %+v", o)
	}
	if o := (Options{}).limited(); o.Parallel != cpus {
		t.Errorf("the options of the zero value are %+v", o)
	}
}
