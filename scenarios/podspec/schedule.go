package podspec

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// scheduleField is a field of a schedule: its name, its limits, and names for numbers from the lower one on.
type scheduleField struct {
	name     string
	min, max int
	words    []string
}

var scheduleFields = []scheduleField{
	{"minute", 0, 59, nil},
	{"hour", 0, 23, nil},
	{"day of the month", 1, 31, nil},
	{"month", 1, 12, []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
	{"day of the week", 0, 6, []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
}

var scheduleWords = []string{"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"}

// ValidateSchedule returns why the API server would not create a CronJob with a schedule, for which path is
// given. (validateScheduleFormat in pkg/apis/batch/validation at v1.37.0, and the standard parser of
// github.com/robfig/cron v3.0.1 that it calls)
func ValidateSchedule(schedule string, path *field.Path) field.ErrorList {
	if schedule == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	if strings.Contains(schedule, "TZ") {
		return field.ErrorList{field.Invalid(path, schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead")}
	}
	if err := checkSchedule(schedule); err != nil {
		return field.ErrorList{field.Invalid(path, schedule, err.Error())}
	}
	return nil
}

func checkSchedule(schedule string) error {
	if strings.HasPrefix(schedule, "@") {
		return checkScheduleWord(schedule)
	}
	fields := strings.Fields(schedule)
	if len(fields) != len(scheduleFields) {
		return fmt.Errorf("must have 5 fields (minute, hour, day of the month, month, day of the week) and not %d", len(fields))
	}
	for i, f := range scheduleFields {
		for _, part := range strings.FieldsFunc(fields[i], func(r rune) bool { return r == ',' }) {
			if err := f.check(part); err != nil {
				return fmt.Errorf("%s %q: %w", f.name, part, err)
			}
		}
	}
	return nil
}

func checkScheduleWord(schedule string) error {
	if every, ok := strings.CutPrefix(schedule, "@every "); ok {
		if _, err := time.ParseDuration(every); err != nil {
			return fmt.Errorf("%q is not a duration", every)
		}
		return nil
	}
	if !slices.Contains(scheduleWords, schedule) {
		return fmt.Errorf("must be one of %s and @every DURATION", strings.Join(scheduleWords, ", "))
	}
	return nil
}

// check checks a part of a field: a star or question mark, a number, a range of numbers, each with a step or
// without. After a star the end of a range is not looked at.
func (f scheduleField) check(part string) error {
	span, step, hasStep := strings.Cut(part, "/")
	ends := strings.Split(span, "-")
	first, last := f.min, f.max
	if ends[0] != "*" && ends[0] != "?" {
		if len(ends) > 2 {
			return errors.New("must be a range with two ends")
		}
		var err error
		if first, err = f.number(ends[0]); err != nil {
			return err
		}
		if end := ends[len(ends)-1]; len(ends) == 2 || !hasStep {
			if last, err = f.number(end); err != nil {
				return err
			}
		}
	}
	if hasStep {
		if n, err := strconv.Atoi(step); err != nil || n <= 0 {
			return errors.New("the step must be a positive number")
		}
	}
	switch {
	case first < f.min || last > f.max:
		return fmt.Errorf("must be from %d to %d", f.min, f.max)
	case first > last:
		return errors.New("ends before it begins")
	}
	return nil
}

// number reads a number, or the word for one.
func (f scheduleField) number(s string) (int, error) {
	if i := slices.Index(f.words, strings.ToLower(s)); i >= 0 {
		return f.min + i, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%q is not a number", s)
	}
	return n, nil
}
