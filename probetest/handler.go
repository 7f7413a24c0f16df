package probetest

import (
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/value"
)

// asker is a probe or hook of a container: how it asks, and where the answer to it is in a rule.
type asker struct {
	httpGet func(*v1.Container) *v1.HTTPGetAction
	field   func(*Rule) *string
	series  func(*fakeruntime.Rule) *fakeruntime.Series
}

var askers = []asker{
	{func(c *v1.Container) *v1.HTTPGetAction { return ofProbe(c.LivenessProbe) },
		func(r *Rule) *string { return &r.Liveness }, func(r *fakeruntime.Rule) *fakeruntime.Series { return r.Liveness }},
	{func(c *v1.Container) *v1.HTTPGetAction { return ofProbe(c.ReadinessProbe) },
		func(r *Rule) *string { return &r.Readiness }, func(r *fakeruntime.Rule) *fakeruntime.Series { return r.Readiness }},
	{func(c *v1.Container) *v1.HTTPGetAction { return ofProbe(c.StartupProbe) },
		func(r *Rule) *string { return &r.Startup }, func(r *fakeruntime.Rule) *fakeruntime.Series { return r.Startup }},
	{func(c *v1.Container) *v1.HTTPGetAction { return ofHook(hooks(c).PostStart) },
		func(r *Rule) *string { return &r.PostStart }, func(r *fakeruntime.Rule) *fakeruntime.Series { return r.PostStart }},
	{func(c *v1.Container) *v1.HTTPGetAction { return ofHook(hooks(c).PreStop) },
		func(r *Rule) *string { return &r.PreStop }, func(r *fakeruntime.Rule) *fakeruntime.Series { return r.PreStop }},
}

func ofProbe(p *v1.Probe) *v1.HTTPGetAction {
	if p == nil {
		return nil
	}
	return p.HTTPGet
}

func ofHook(h *v1.LifecycleHandler) *v1.HTTPGetAction {
	if h == nil {
		return nil
	}
	return h.HTTPGet
}

func hooks(c *v1.Container) v1.Lifecycle {
	if c.Lifecycle == nil {
		return v1.Lifecycle{}
	}
	return *c.Lifecycle
}

// asked returns the rule with an answer in each place where its handler will answer.
func (r Rule) asked(c *v1.Container) (Rule, error) {
	if r.Handler == nil || c == nil {
		return r, nil
	}
	if r.Liveness+r.Readiness+r.Startup+r.Probes+r.PostStart+r.PreStop+r.Exit != "" {
		return r, errors.New("a rule has a handler, or says itself what it does")
	}
	asks := false
	for _, a := range askers {
		if a.httpGet(c) != nil {
			*a.field(&r), asks = value.OK, true
		}
	}
	if !asks {
		return r, fmt.Errorf("the container %s has no httpGet probe or hook", c.Name)
	}
	return r, nil
}

// attach has the handler give the answers of a rule.
func (r Rule) attach(rule *fakeruntime.Rule, c *v1.Container) {
	for _, a := range askers {
		if a.httpGet(c) != nil {
			a.series(rule).Items[0].Answer.Handler = r.Handler
		}
	}
}
