package main

import (
	"math/rand/v2"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/kubernetes/pkg/util/parsers"

	"probesim.dev/internal/world/apiserver/admission"
)

// TestSchedule checks that package admission accepts the same CronJob schedules as the API server.
func TestSchedule(t *testing.T) {
	const schedules = 200_000
	pieces := []string{"*", "?", "*", "*", "0", "1", "5", "31", "59", "60", "7", "12", "13", "24", "23", "-", "/", ",",
		"jan", "DEC", "mon", "Sat", "x", "+2", "/0", "*/2", "1-5"}
	random := rand.New(rand.NewPCG(1, 2))
	check := func(schedule string) bool {
		_, err := parsers.ParseCronScheduleWithPanicRecovery(schedule)
		errs := admission.ValidateSchedule(schedule, field.NewPath("spec", "schedule"))
		if (err == nil) != (len(errs) == 0) {
			t.Errorf("%q: the API server says %v and admission %v", schedule, err, errs)
		}
		return err == nil
	}
	for _, schedule := range []string{"", "@daily", "@Daily", "@every 5m", "@every 5", "@every", "@reboot", "* * * *",
		"* * * * * *", " * *\t* * * "} {
		check(schedule)
	}
	valid := 0
	for range schedules {
		fields := []string{"*", "*", "*", "*", "*"}
		for range 1 + random.IntN(2) {
			var b strings.Builder
			for range 1 + random.IntN(4) {
				b.WriteString(pieces[random.IntN(len(pieces))])
			}
			fields[random.IntN(5)] = b.String()
		}
		if check(strings.Join(fields, " ")) {
			valid++
		}
	}
	if valid < schedules/20 {
		t.Errorf("only %d schedules are valid", valid)
	}
}
