package outcomes

import (
	"strconv"
	"time"

	"probesim.dev/internal/value"
)

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

func quoted(s string) string { return strconv.Quote(s) }

func percent(f float64) string { return strconv.FormatFloat(100*f, 'f', -1, 64) + "%" }

// offset describes a shift, such as "0.5s later".
func offset(d time.Duration) string {
	if d < 0 {
		return value.Format(-d) + " earlier"
	}
	return value.Format(d) + " later"
}
