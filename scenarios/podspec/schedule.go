package podspec

import (
	"fmt"
	"strings"

	"github.com/robfig/cron/v3"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ValidateSchedule returns why the API server would not create a CronJob with a schedule, for which path is
// given. (validateScheduleFormat in pkg/apis/batch/validation at v1.37.0)
func ValidateSchedule(schedule string, path *field.Path) field.ErrorList {
	if schedule == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	if strings.Contains(schedule, "TZ") {
		return field.ErrorList{field.Invalid(path, schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead")}
	}
	if err := parseSchedule(schedule); err != nil {
		return field.ErrorList{field.Invalid(path, schedule, err.Error())}
	}
	return nil
}

// parseSchedule goes on where the parser panics, as the API server does
// (ParseCronScheduleWithPanicRecovery in pkg/util/parsers at v1.37.0).
func parseSchedule(schedule string) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("not a schedule: %v", r)
		}
	}()
	_, err = cron.ParseStandard(schedule)
	return err
}
