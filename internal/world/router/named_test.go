package router_test

import (
	"testing"
	"time"

	"probesim.dev/internal/world/router"
)

// A load balancer has a name that is known, or says its delays.
func TestNamedLoadBalancer(t *testing.T) {
	own := "gateway: add 30s..40s, remove 5s"
	lb, found := router.NamedLoadBalancer(own)
	if !found || lb.Name != own || router.Short(lb.Name) != "gateway" || lb.AddLeast != 30*time.Second ||
		lb.AddMost != 40*time.Second || lb.RemoveLeast != 5*time.Second || lb.RemoveMost != 5*time.Second {
		t.Errorf("%s is %+v, %t", own, lb, found)
	}
	for name, known := range map[string]bool{
		own: true, "kube-proxy": true, "neg": true, "gateway": false, "": false, ": add 1s": false,
		"add 1s, remove 1s":       false,
		"gateway: add 1s, remove": false, "kube-proxy: add 1s, remove 2s": false, "gateway:add 1s,remove 1s": true,
		"gateway: remove 1s, add 1s": false, "gateway: add 1s.., remove 1s": false,
		"gateway: add -1s, remove 1s": false,
	} {
		if err := router.Check(name); (err == nil) != known {
			t.Errorf("%q: %v", name, err)
		}
	}
}
