package main

import (
	"context"
	"errors"
	"fmt"
	"runtime/metrics"
	"time"

	"github.com/spf13/cobra"

	"probesim.dev/internal/runner/pool"
	"probesim.dev/internal/value"
)

// defaultTime is the wall time that a searching command takes at most, unless --time says so.
const defaultTime = "2m"

func addTime(cmd *cobra.Command, time *string) {
	cmd.Flags().StringVar(time, "time", defaultTime,
		"Maximum wall `time` of the search, for example 10m. What was found until then is the result.")
}

func parseTime(text string) (time.Duration, error) {
	limit, err := value.ParseDuration(text)
	if err == nil && limit == 0 {
		err = errors.New("must be greater than 0s")
	}
	if err != nil {
		return 0, fmt.Errorf("--time: %w", err)
	}
	return limit, nil
}

// within returns a context that is done when the wall time is over. Its cause says so.
func within(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, limit, fmt.Errorf("--time %s is over", value.Format(limit)))
}

// budget returns the context of a search. It is done when the wall time is over, or when the
// process has more live memory than it may have; its cause says which.
func budget(ctx context.Context, limit time.Duration, memory pool.Memory) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithCancelCause(ctx)
	restore := memory.Apply()
	go func() {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		over := time.After(limit)
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-over:
				stop(fmt.Errorf("--time %s", value.Format(limit)))
			case <-tick.C:
				metrics.Read(live)
				if live[0].Value.Uint64() > uint64(memory)*3/4 {
					stop(fmt.Errorf("--max-memory %s", memory.String()))
				}
			}
		}
	}()
	return ctx, func() {
		stop(nil)
		restore()
	}
}
