package render

import (
	"testing"
	"time"

	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/value"
)

func seconds(n int) value.Seconds { return value.Seconds(n) * value.Seconds(time.Second) }

// TestAxis checks that an axis has up to 6 steps that people read easily, and room for a value.
func TestAxis(t *testing.T) {
	for most, want := range map[value.Seconds]axis{
		seconds(1): {value.Seconds(1200 * time.Millisecond),
			value.Seconds(200 * time.Millisecond)}, seconds(21): {seconds(25), seconds(5)},
		seconds(42): {seconds(50), seconds(10)}, seconds(100): {seconds(120),
			seconds(20)}, seconds(329): {seconds(360), seconds(60)},
		seconds(3600): {seconds(4800), seconds(1200)}, seconds(30000): {seconds(36000), seconds(7200)},
	} {
		got := axisTo(most)
		if got.end <= most || got.end/got.step > 6 || got.end%got.step != 0 {
			t.Errorf("the axis to %s is %s in steps of %s", time.Duration(most), time.Duration(got.end),
				time.Duration(got.step))
		}
		if got != want {
			t.Errorf("the axis to %s is %s in steps of %s, want %s in steps of %s", time.Duration(most),
				time.Duration(got.end), time.Duration(got.step), time.Duration(want.end), time.Duration(want.step))
		}
	}
}

// TestBars checks where the bars and the marks of a limit and of a time are.
func TestBars(t *testing.T) {
	c := &check.Container{Name: "app",
		Limits: []check.Limit{{Row: check.Stall, Text: "survives", Always: seconds(20), Never: seconds(30)}},
		Times:  []check.Time{{Row: check.Detect, Text: "hung", Best: seconds(20), Worst: seconds(40)}}}
	w := &check.Workload{Requirements: []check.Verification{{Row: check.Stall, Required: seconds(25),
		Containers: []string{"app"}, Requirement: "stall>=25s"}}}
	limits, times := tables(w, c)
	if got := len(limits.Axis); got != 6 {
		t.Errorf("the axis has %d labels: %q", got, limits.Axis)
	}
	var classes []string
	for _, kind := range append(limits.Legend, times.Legend...) {
		classes = append(classes, kind.Class)
	}
	if got := len(classes); got != 5 || classes[3] != "broken" && classes[3] != "required" {
		t.Errorf("the legend has %q", classes)
	}
}
