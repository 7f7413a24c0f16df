// Package plain tests the probes of the shop with plain Go tests and Gomega, without Ginkgo.
package plain

import (
	"errors"
	"os"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"

	"example.com/shop/health"
	. "probesim.dev/probetest"
)

// TestProbes runs each scenario in the files below the directory as a subtest.
func TestProbes(t *testing.T) {
	RunScenarios(t, "../probes/scenarios")
}

func TestDatabaseOutage(t *testing.T) {
	Expect := NewWithT(t).Expect
	var database error // why the database is unreachable; nil: it is reachable
	ping := func() error { return database }

	n := NewNode(t, NodeOptions{})
	pods := n.AddWorkload(shop(t), Behavior{"shop": {{Handler: health.Handler(ping)}}})
	n.AdvanceTo(30 * time.Second)
	database = errors.New("no route to host")
	n.AdvanceTo(60 * time.Second)
	database = nil
	n.AdvanceTo(2 * time.Minute)

	Expect(pods).To(HaveBecomeReady().Times(2))
	Expect(pods).NotTo(HaveRestarted())
}

// shop returns the Deployment from the manifest of the team.
func shop(t *testing.T) *appsv1.Deployment {
	t.Helper()
	text, err := os.ReadFile("../deploy/shop.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var deployment appsv1.Deployment
	if err := yaml.UnmarshalStrict(text, &deployment); err != nil {
		t.Fatal(err)
	}
	return &deployment
}
