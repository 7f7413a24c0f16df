package command

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"probesim.dev/scenarios"
)

// nodesBudget is the default number of simulated runs to spend on following a whole node.
const nodesBudget = 50

// newNodes returns the command nodes.
func newNodes(common *flags) *cobra.Command {
	f := &compareFlags{flags: common, whole: true}
	var pods []int
	var kinds []string
	var duration time.Duration
	c := &cobra.Command{
		Use: "nodes", Short: "Compare whole nodes, with many pods that come at once", Args: cobra.NoArgs,
		Long: `Nodes compares scenarios in which many pods come at t=0, each with a startup, a liveness and a readiness
probe of period 10 s:

  plain      nothing else happens
  volumes    each pod mounts a volume
  exits      each container exits 20 s after its start
  failing    all probes fail from 40 s to 85 s after the start
  deletions  each pod mounts a volume, and all are deleted at 60 s

All runs must be explained, including the times at which pods are synced, which no record shows.

Exit codes: 0 all runs are equal, 1 a run differs, 2 invalid flags, 3 a run failed, 130 interrupted.`,
		Example: `  kubelet nodes --pods 20,50,110,250 --repeat 5`,
		RunE: func(c *cobra.Command, _ []string) error {
			if slices.Min(pods) < 1 || slices.Max(pods) > maxNodePods || duration < time.Second {
				return fmt.Errorf("--pods must be from 1 to %d, --duration at least 1s", maxNodePods)
			}
			if err := f.check(); err != nil {
				return err
			}
			var plans []*scenarios.Plan
			for _, n := range pods {
				for _, kind := range kinds {
					if !slices.Contains(nodeKinds, kind) {
						return fmt.Errorf("--kinds: %q is unknown; there are %s", kind, strings.Join(nodeKinds, ", "))
					}
					p, err := firstPlan(nodeScenario(kind, n, duration))
					if err != nil {
						return err
					}
					plans = append(plans, p)
				}
			}
			return f.compare(c, plans)
		},
	}
	c.Flags().IntSliceVar(&pods, "pods", []int{20}, "numbers of pods")
	c.Flags().StringSliceVar(&kinds, "kinds", nodeKinds, "kinds of nodes")
	c.Flags().DurationVar(&duration, "duration", 10*time.Minute, "virtual time of a run")
	f.addTo(c, nodesBudget, "compare this many runs of each node")
	return c
}

// maxNodePods is the maximum number of pods of a node.
const maxNodePods = 1000

var nodeKinds = []string{"plain", "volumes", "exits", "failing", "deletions"}

func nodeName(kind string, pods int) string { return kind + "-" + strconv.Itoa(pods) }

// nodeScenario returns the scenario file of a node.
func nodeScenario(kind string, pods int, duration time.Duration) []byte {
	volumes, mounts, behavior, steps := "", "", "", ""
	switch kind {
	case "volumes", "deletions":
		volumes, mounts = "volumes: [{name: cache, emptyDir: {}}], ", "volumeMounts: [{name: cache, mountPath: /cache}], "
	case "exits":
		behavior = "{after: 20s, exit: 1}"
	case "failing":
		behavior = "{after: 40s, for: 45s, probes: fail}"
	}
	if kind == "deletions" {
		steps = "{at: 60s, delete: {pod: w}}"
	}
	const probe = "{exec: {command: [up]}, periodSeconds: 10, failureThreshold: "
	return fmt.Appendf(nil, `apiVersion: apps/v1
kind: Deployment
metadata: {name: w}
spec:
  selector: {matchLabels: {app: w}}
  template:
    metadata: {labels: {app: w}}
    spec: {%scontainers: [{name: app, image: 'web:1', %sstartupProbe: %s6}, livenessProbe: %[3]s3}, readinessProbe: %[3]s3}}]}
---
apiVersion: probesim.dev/v1alpha1
kind: Scenario
metadata: {name: %[4]s}
spec:
  duration: %[5]s
  pods: [{name: w, replicas: %[6]d, stagger: 0s, containers: [{name: app, behavior: [%[7]s]}]}]
  steps: [%[8]s]
`, volumes, mounts, probe, nodeName(kind, pods), duration, pods, behavior, steps)
}
