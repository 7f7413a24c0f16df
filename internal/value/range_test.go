package value

import (
	"encoding"
	"testing"
	"time"
)

// notation is a text and the expected result of parsing: a text or an error.
type notation struct{ in, want string }

// check parses each text and formats the result.
func check[T any, P interface {
	*T
	encoding.TextUnmarshaler
	String() string
}](t *testing.T, tests []notation) {
	t.Helper()
	for _, test := range tests {
		v := P(new(T))
		got := ""
		if err := v.UnmarshalText([]byte(test.in)); err != nil {
			got = "error: " + err.Error()
		} else {
			got = v.String()
		}
		if got != test.want {
			t.Errorf("%q is parsed as %s, want %s", test.in, got, test.want)
		}
	}
}

func TestDuration(t *testing.T) {
	check[Duration](t, []notation{
		{"45s", "45s"}, {"1m30s", "1m30s"}, {"150.337s", "2m30.337s"}, {"0s", "0s"}, {"60m", "1h"}, {"720h", "720h"},
		{"1h0m5s", "1h0m5s"},
		{"0", `error: "0" has no unit: write 0s or 0ms`},
		{"4.5", `error: "4.5" has no unit: write 4.5s or 4.5ms`},
		{"", "error: a duration is missing, such as 45s or 1m30s"},
		{"5 s", `error: "5 s" is not a duration such as 45s, 1m30s or 150.337s (did you mean 5s?)`},
		{"2d", `error: "2d" is not a duration such as 45s, 1m30s or 150.337s (did you mean 48h?)`},
		{"soon", `error: "soon" is not a duration such as 45s, 1m30s or 150.337s`},
		{"-1s", `error: "-1s" is negative`},
		{"-0s", `error: "-0s" is negative`},
		{"0.0000000001s", `error: "0.0000000001s" is shorter than 1ns, the unit of virtual time`},
		{"-0.0000000001s", `error: "-0.0000000001s" is shorter than 1ns, the unit of virtual time`},
		{"1e5", `error: "1e5" is not a duration such as 45s, 1m30s or 150.337s`},
		{"720h1ns", `error: "720h1ns" is longer than 720h (30 days)`},
		{"99999999999999999999h", `error: "99999999999999999999h" is longer than 720h (30 days)`},
	})
}

func TestTimeRange(t *testing.T) {
	check[TimeRange](t, []notation{
		{"5s", "5s"}, {"2s..4s", "2s..4s"}, {"2s..", "2s.."}, {"..4s", "..4s"}, {"..", ".."}, {"2s..2s", "2s"},
		{"4s..2s", `error: "4s..2s" is empty: it ends before it begins`},
		{"-0s..4s", `error: "-0s" is negative`},
		{"..0.0000000001s", `error: "0.0000000001s" is shorter than 1ns, the unit of virtual time`},
		{"2..4s", `error: "2" has no unit: write 2s or 2ms`},
		{"2s-4s", `error: "2s-4s" is not a range: write 2s..4s`},
	})
	r := TimeRange{2 * time.Second, 4 * time.Second}
	for at, want := range map[time.Duration]bool{1999: false, 2000: true, 4000: true, 4001: false} {
		if r.Contains(at*time.Millisecond) != want {
			t.Errorf("%s contains %s: %v", r, at*time.Millisecond, !want)
		}
	}
	if !AllTime.Contains(-time.Hour) {
		t.Error("AllTime does not contain a time before the scenario")
	}
}

func TestIntRange(t *testing.T) {
	check[IntRange](t, []notation{
		{"5", "5"}, {"2..4", "2..4"}, {"2..", "2.."}, {"..4", "..4"}, {"..", ".."}, {"0", "0"},
		{"4..2", `error: "4..2" is empty: it ends before it begins`},
		{"-1", `error: "-1" is negative`},
		{"-0..2", `error: "-0" is negative`},
		{"1.5", `error: "1.5" is not a whole number`},
		{"2,4", `error: "2,4" is not a whole number`},
		{"1-10", `error: "1-10" is not a range: write 1..10`},
		{"1-x", `error: "1-x" is not a whole number`},
		{"10000000000", `error: "10000000000" is larger than 1000000000`},
		{"99999999999999999999", `error: "99999999999999999999" is larger than 1000000000`},
	})
	if r := (&IntRange{1, 2}); r.Contains(0) || !r.Contains(1) || !r.Contains(2) || r.Contains(3) {
		t.Error("1..2 does not contain exactly 1 and 2")
	}
	if r := (*IntRange)(nil); !r.Contains(7) || r.String() != ".." {
		t.Error("a nil range does not contain every number")
	}
}

func TestOffset(t *testing.T) {
	check[Offset](t, []notation{
		{"-1m30s", "-1m30s"}, {"45s", "45s"},
		{"-0s", "error: must not be 0s"},
		{"-0.0000000001s", `error: "-0.0000000001s" is shorter than 1ns, the unit of virtual time`},
	})
}

func TestDraw(t *testing.T) {
	check[Draw](t, []notation{
		{"45s", "45s"}, {"40s..50s", "40s..50s"},
		{"40s..", `error: "40s.." has an open end: write both ends, to draw a time between them`},
		{"..", `error: ".." has an open end: write both ends, to draw a time between them`},
		{"24s-32s", `error: "24s-32s" is not a range: write 24s..32s`},
		{"5s..4s", `error: "5s..4s" is empty: it ends before it begins`},
	})
}

func TestPercent(t *testing.T) {
	check[Percent](t, []notation{
		{"5%", "5%"}, {"0.5%", "0.5%"}, {"100%", "100%"},
		{"0%", `error: "0%" is not above 0% and at most 100%`},
		{"100.1%", `error: "100.1%" is not above 0% and at most 100%`},
		{"NaN%", `error: "NaN%" is not above 0% and at most 100%`},
		{"5", `error: "5" is not a percentage such as 5%`},
		{"%", `error: "%" is not a percentage such as 5%`},
	})
}

func TestExit(t *testing.T) {
	check[Exit](t, []notation{
		{"0", "0"}, {"255", "255"}, {"never", "never"},
		{"256", `error: "256" is neither an exit code from 0 to 255 nor never`},
		{"-1", `error: "-1" is neither an exit code from 0 to 255 nor never`},
	})
}

func TestAnswer(t *testing.T) {
	check[Answer](t, []notation{
		{"ok", "ok"}, {"ok in 2s", "ok in 2s"}, {"fail  in 5ms..80ms", "fail in 5ms..80ms"}, {"503", "503"},
		{"NOT_SERVING", "NOT_SERVING"}, {"my-word_2", "my-word_2"},
		{"", `error: "" is not an answer: write a word such as ok, or ok in 2s`},
		{"ok in", `error: "ok in" is not an answer: write a word such as ok, or ok in 2s`},
		{"600", `error: "600" is neither a word such as ok nor a code such as 503`},
		{"007", `error: "007" is neither a word such as ok nor a code such as 503`},
		{"ok!", `error: "ok!" is neither a word such as ok nor a code such as 503`},
		{"5o3", `error: "5o3" is neither a word such as ok nor a code such as 503 (did you mean "503"?)`},
		{"5O0 in 2s", `error: "5O0" is neither a word such as ok nor a code such as 503 (did you mean "500"?)`},
		{"stall in 2s", `error: stall cannot be used with "in": it has no latency`},
	})
}
