package check

import (
	"fmt"
	"time"

	"probesim.dev/internal/answers/bounds"
	"probesim.dev/internal/value"
	"probesim.dev/trace"
)

// app returns a word for the flag --app of 'probesim run' about the container.
func (r *result) app(format string, args ...any) string {
	return r.container.workload.Ref + "/" + r.container.spec.Name + "=" + fmt.Sprintf(format, args...)
}

// appRestart returns the words for a start that takes some time after the instance before has
// ended.
func (r *result) appRestart(which bounds.StartCase, start time.Duration) []string {
	app := []string{r.app("start %s", value.Format(start.Truncate(tenth)))}
	at := value.Format(r.warm())
	switch which {
	case bounds.AfterLivenessKill:
		return append(app, r.app("hang %s at %s", seconds(r.UntilStopped(bounds.Hang).Greatest), at))
	case bounds.AfterCrash:
		return append(app, r.app("exit 1 at %s", at))
	case bounds.AfterCrashWhileStarting:
		return append(app, r.app("exit 1 at 5s"))
	}
	return app
}

// appDeleted returns the words for the deletion of a pod whose program takes some time to exit.
func (r *result) appDeleted(stop time.Duration) []string {
	return []string{r.app("stop %s", seconds(stop)),
		r.container.workload.Ref + "=delete at " + value.Format(r.warm())}
}

// lasting returns a time in which something happens that takes some time at most, or a long one if
// it never does.
func lasting(atMost time.Duration) time.Duration {
	if atMost == bounds.Never {
		return time.Hour
	}
	return (atMost + time.Minute).Truncate(time.Minute)
}

// appMissing returns the words for the runs that show why the container does not meet a requirement
// on a row in some case: what the requirement allows happens to a program that is healthy
// otherwise.
func (r *result) appMissing(q Requirement, which string) []string {
	misfortune := func(name string, d time.Duration) []string {
		return []string{r.app("%s %s at %s", name, seconds(d), value.Format(r.warm()))}
	}
	answers := func(p trace.Probe) []string {
		return []string{r.app("%s ok in %s at %s", r.asked(p), seconds(q.Duration), value.Format(r.warm()))}
	}
	switch q.Row {
	case Start, Restart, Retry:
		return r.appRestart(bounds.StartCase(which), q.Duration)
	case Stall, Serving:
		return misfortune("stall", q.Duration)
	case Silence, ServingSilence:
		return misfortune("hang", q.Duration)
	case Errors, ServingErrors:
		if which == Failures {
			return misfortune("fail", q.Duration)
		}
		return misfortune("down", q.Duration)
	case Answer:
		if which == string(trace.Startup)+" probe" {
			return []string{r.app("startup ok in %s at 0s", seconds(q.Duration))}
		}
		return answers(trace.Liveness)
	case ServingAnswer:
		return answers(trace.Readiness)
	case Unready:
		return misfortune("down", lasting(r.all(Unready).Greatest))
	case HungUnready, Detect:
		return misfortune("hang", lasting(r.all(q.Row).Greatest))
	case Recover:
		app := misfortune("hang", r.UntilStopped(bounds.Hang).Greatest)
		if start := r.container.start(); start != nil {
			app = append(app, r.app("start %s", start))
		}
		grace := time.Duration(*r.simulation.Pod.Spec.TerminationGracePeriodSeconds) * time.Second
		return append(app, r.app("stop %s", seconds(lasting(grace)))) // it ignores SIGTERM
	}
	return nil // Ready: it is healthy
}
