package scenarios

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/scenarios/strict"
	"probesim.dev/scenarios/value"
)

// hookKeys are the lifecycle hooks as rules and containers name them.
var hookKeys = []string{"postStart", "preStop"}

// hookOf returns a lifecycle hook of a container, or nil.
func hookOf(c *v1.Container, key string) *v1.LifecycleHandler {
	switch {
	case c.Lifecycle == nil:
		return nil
	case key == "postStart":
		return c.Lifecycle.PostStart
	}
	return c.Lifecycle.PreStop
}

// runsHook reports whether a hook of the container is a command.
func runsHook(c *v1.Container) bool {
	return slices.ContainsFunc(hookKeys, func(key string) bool {
		hook := hookOf(c, key)
		return hook != nil && hook.Exec != nil
	})
}

// checkHooks refuses answers to hooks that there are none of, and returns how many answers there are.
func (b *behavior) checkHooks(n *strict.Node) int {
	answers := 0
	for _, key := range hookKeys {
		field := n.Field(key)
		if !field.Written() {
			continue
		}
		answers++
		switch hook := hookOf(b.container, key); {
		case hook == nil:
			field.Errorf("the container %s has no %s hook", b.spec.Name, key)
		case hook.Sleep != nil:
			field.Errorf("the %s hook of %s sleeps: it asks the program nothing", key, b.spec.Name)
		}
	}
	return answers
}

// compileHook checks the answer to a hook, which is asked once an instance.
func (b *behavior) compileHook(a *value.Answer, r *Rule, n *strict.Node) *fakeruntime.Series {
	if a == nil || n.Bad() {
		return nil
	}
	return b.compileItems(execHandler, &value.Series{Items: []value.Item{{Answer: *a, Count: 1}}}, r, n)
}
