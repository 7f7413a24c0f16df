package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

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

// within returns a context that is done when the wall time is over. Its cause names the flag.
func within(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, limit, fmt.Errorf("--time %s is over", value.Format(limit)))
}
