package scenarios

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
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

// hookHandler returns the handler of a hook that asks the program, nil if it asks nothing. The kubelet takes the
// first, and knows no TCP sockets (pkg/kubelet/lifecycle/handlers.go at v1.37.0).
func hookHandler(h *v1.LifecycleHandler) *handler {
	switch {
	case h == nil:
		return nil
	case h.Exec != nil:
		return execHandler
	case h.HTTPGet != nil:
		return httpHandler
	}
	return nil
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
		case hook.TCPSocket != nil:
			field.Errorf("the %s hook of %s is a tcpSocket, which the kubelet does not run: it asks the program nothing", key, b.spec.Name)
		case hook.Sleep != nil:
			field.Errorf("the %s hook of %s sleeps: it asks the program nothing", key, b.spec.Name)
		}
	}
	return answers
}

// compileHook checks the answer to a hook, which is asked once an instance.
func (b *behavior) compileHook(key string, a *value.Answer, r *Rule, n *strict.Node) *fakeruntime.Series {
	h := hookHandler(hookOf(b.container, key))
	if a == nil || h == nil || n.Bad() {
		return nil
	}
	return b.compileItems(h, &value.Series{Items: []value.Item{{Answer: *a, Count: 1}}}, r, n)
}

// asksAgain reports whether an answer is that of a server of plain HTTP to a hook that means HTTPS, with what it answers
// when the hook asks again.
func (b *behavior) asksAgain(a *namedAnswer) bool {
	secure := slices.ContainsFunc(hookKeys, func(key string) bool {
		h := hookOf(b.container, key)
		return h != nil && h.HTTPGet != nil && h.HTTPGet.Scheme == v1.URISchemeHTTPS
	})
	return secure && slices.Equal(a.fields(), []string{"then", "transportError"}) && strings.Contains(a.spec.TransportError, fakeruntime.HTTPToHTTPS)
}
