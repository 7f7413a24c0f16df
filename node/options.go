package node

import (
	"errors"
	"fmt"
	"time"

	"probesim.dev/kube/profile"
)

// maxUptime is the highest Uptime. The node simulates this time before t=0.
const maxUptime = 365 * 24 * time.Hour

// Validate returns an error that lists all invalid options, or nil.
func (o Options) Validate() error {
	var errs []error
	report := func(field, format string, args ...any) {
		errs = append(errs, fmt.Errorf("Options."+field+" "+format, args...))
	}
	if _, known := profile.Named(o.Profile.Version); !known && o.Profile != (profile.Profile{}) {
		report("Profile", "has the unknown version %q: begin with profile.Newest or profile.Named", o.Profile.Version)
	}
	if o.Uptime != nil && (*o.Uptime < 0 || *o.Uptime > maxUptime) {
		report("Uptime", "is %s: use a duration from 0s to %s", *o.Uptime, maxUptime)
	}
	if err := o.Delays.Validate(); err != nil {
		report("Delays", "are invalid: %w", err)
	}
	if err := o.Config.Validate(); err != nil {
		report("Config", "is invalid: %w", err)
	}
	return errors.Join(errs...)
}
