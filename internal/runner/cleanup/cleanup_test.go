package cleanup

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestEndWaitsForRenames checks that an interrupted process does not end while it replaces files,
// unless that takes too long.
func TestEndWaitsForRenames(t *testing.T) {
	for work, want := range map[time.Duration]time.Duration{50 * time.Millisecond: 50 * time.Millisecond,
		time.Hour: grace} {
		synctest.Test(t, func(t *testing.T) {
			c := New()
			go func() {
				defer c.Hold()()
				time.Sleep(work)
			}()
			synctest.Wait()
			start := time.Now()
			c.Run()
			if got := time.Since(start); got != want {
				t.Errorf("work of %s: the end waits for %s, want %s", work, got, want)
			}
			time.Sleep(work)
		})
	}
}
