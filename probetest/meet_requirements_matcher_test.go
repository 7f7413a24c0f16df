package probetest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/onsi/gomega"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// watched returns a pod with a liveness probe whose limits are a few seconds, which the matcher
// finds fast.
func watched(name string) *v1.Pod {
	p := probe()
	p.PeriodSeconds, p.FailureThreshold = 1, 2
	return pod(name, v1.Container{Name: "app", Image: "a", LivenessProbe: p})
}

const watchedYAML = `apiVersion: v1
kind: Pod
metadata: {name: web, annotations: {probesim.dev/require: stall>=1h}}
spec: {containers: [{name: app, image: a, livenessProbe: {exec: {command: [healthy]}, periodSeconds: 1, failureThreshold: 2}}]}
`

// manifest writes a file with manifests.
func manifest(t *testing.T, documents ...string) Manifest {
	t.Helper()
	file := filepath.Join(t.TempDir(), "web.yaml")
	if err := os.WriteFile(file, []byte(strings.Join(documents, "---\n")), 0o666); err != nil {
		t.Fatal(err)
	}
	return Manifest(file)
}

func TestMeetRequirementsManifest(t *testing.T) {
	g := gomega.NewWithT(t)
	file := manifest(t, watchedYAML)
	m := MeetRequirements("stall>=1s, detect<=1s").WithDelays("default").OnKubernetes("v1.37")
	ok, err := m.Match(file)
	g.Expect(err).NotTo(gomega.HaveOccurred())
	g.Expect(ok).To(gomega.BeFalse())
	g.Expect(m.FailureMessage(file)).To(gomega.Equal(`Expected
    ` + string(file) + `
to meet stall>=1s, detect<=1s.

  ok      stall>=1s: 1.9s in container app (v1.37), margin 0.9s
  FAILED  detect<=1s: 4.1s in container app (v1.37), 3.1s short of it

To see all limits, execute in the directory of the test:
  probesim check ` + string(file) + ` --require 'stall>=1s, detect<=1s' --kubernetes v1.37 --delays default`))
	g.Expect(m.NegatedFailureMessage(file)).To(gomega.ContainSubstring("\nnot to meet stall>=1s, detect<=1s.\n"))
}

// TestMeetRequirementsObject checks that an object has the limits of its manifest.
func TestMeetRequirementsObject(t *testing.T) {
	g := gomega.NewWithT(t)
	d := deployment(3)
	d.Spec.Template.Spec = watched("web").Spec
	m := MeetRequirements("stall>=1s, detect<=1s").WithDelays("default")
	g.Expect(d).NotTo(m)
	g.Expect(m.FailureMessage(d)).To(gomega.Equal(`Expected
    Deployment web
to meet stall>=1s, detect<=1s.

  ok      stall>=1s: 1.9s in container app (v1.37), margin 0.9s
  FAILED  detect<=1s: 4.1s in container app (v1.37), 3.1s short of it`))
	g.Expect(d.Kind).To(gomega.BeEmpty(), "the matcher changed the object")
}

// TestMeetRequirementsOf checks that a workload without the probe for a requirement does not pass
// unnoticed.
func TestMeetRequirementsOf(t *testing.T) {
	g := gomega.NewWithT(t)
	job := "apiVersion: batch/v1\nkind: Job\nmetadata: {name: migrate}\nspec: {template: {spec: {restartPolicy: " +
		"Never, containers: [{name: m, image: m}]}}}\n"
	file := manifest(t, watchedYAML, job)
	_, err := MeetRequirements("stall>=1s").WithDelays("default").Match(file)
	g.Expect(err).To(gomega.MatchError(`MeetRequirements: Job migrate, stall>=1s: container m has no liveness probe: ` +
		`select a workload, as in MeetRequirements(...).Of("Deployment", "web")`))
	g.Expect(file).To(MeetRequirements("stall>=1s").WithDelays("default").Of("Pod", "web"))
	broken := watched("web")
	broken.Spec.Containers[0].LivenessProbe.ProbeHandler = v1.ProbeHandler{
		HTTPGet: &v1.HTTPGetAction{Port: intstr.FromString("managment")}}
	_, err = MeetRequirements("stall>=1s").WithDelays("default").Match(broken)
	g.Expect(err).To(gomega.MatchError(gomega.HavePrefix(`MeetRequirements: Pod web, stall>=1s: the livenessProbe of ` +
		`container app can never run: the container has no port named "managment"`)))
	_, err = MeetRequirements("ready<=1m").WithDelays("default").Match(broken)
	g.Expect(err).To(gomega.MatchError("MeetRequirements: Pod web, ready<=1m: container app has no readiness or "+
		"startup probe"), "the liveness probe does not matter")
	broken.Spec.RestartPolicy, broken.Spec.Containers[0].LivenessProbe = v1.RestartPolicyNever,
		watched("web").Spec.Containers[0].LivenessProbe
	_, err = MeetRequirements("recover<=1m").WithDelays("default").Match(broken)
	g.Expect(err).To(gomega.MatchError("MeetRequirements: Pod web, recover<=1m: container app never restarts"))
	_, err = MeetRequirements("stall>=1s").WithDelays("default").Of("Pod", "wep").Match(manifest(t, job))
	g.Expect(err).To(gomega.MatchError("MeetRequirements: there is no Pod wep in the manifest: it has Job migrate"))
}

// TestMeetRequirementsMisuse checks that assertions that say nothing fail, also with NotTo.
func TestMeetRequirementsMisuse(t *testing.T) {
	polled := MeetRequirements("stall>=1s")
	polled.MatchMayChangeInTheFuture(nil)
	for _, test := range []struct {
		matcher *MeetRequirementsMatcher
		actual  any
		want    string
	}{
		{MeetRequirements(" "), watched("web"), "there are no requirements: name one or more, such as start>=70s"},
		{MeetRequirements("start>=70"), watched("web"), "start: "},
		{MeetRequirements("stall<=15s"), watched("web"),
			"stall takes >=, because a container survives a stall of this length"},
		{MeetRequirements("stall>=15s").OnKubernetes("v1.2"), watched("web"),
			"there is no Kubernetes v1.2: the versions are v1.33, "},
		{MeetRequirements("stall>=15s").WithDelays("quick"), watched("web"),
			"there are no nodes called quick: the names are fast, typical, slow, default"},
		{MeetRequirements("stall>=15s").WithStart(2*time.Second, time.Second), watched("web"),
			"WithStart takes the least and the greatest duration, not 2s and 1s"},
		{MeetRequirements("stall>=15s").WithStartOf("app", 2*time.Second, time.Second), watched("web"),
			"WithStartOf takes a container, and the least and the greatest duration, not app, 2s and 1s"},
		{MeetRequirements("stall>=15s"), Manifest("none.yaml"), "none.yaml: cannot be read: "},
		{MeetRequirements("stall>=15s"), "deploy.yaml",
			"expected a probetest.Manifest or an API object such as *appsv1.Deployment, got a string"},
		{MeetRequirements("stall>=15s"), (*v1.Pod)(nil), "there is no object: it is nil"},
		{MeetRequirements("stall>=15s"), &v1.Service{}, "a *v1.Service creates no pods: the kinds that do are Pod, "},
		{MeetRequirements("stall>=15s"), nil, "expected a probetest.Manifest"},
		{MeetRequirements("stall>=15s"), &v1.Pod{}, "the manifest is invalid\nPod:"},
		{MeetRequirements("stall>=15s"), manifest(t, "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n"),
			"there is no workload in the manifest: it needs at least one of Pod, "},
		{polled, watched("web"), "real time changes neither a run nor a manifest, "},
	} {
		ok, err := test.matcher.Match(test.actual)
		if err == nil || ok || !strings.HasPrefix(err.Error(), "MeetRequirements: "+test.want) {
			t.Errorf("%v, %v, want an error that begins with %q", ok, err, test.want)
		}
	}
}

// TestMeetRequirementsOfContainers checks that a requirement is about all containers but sidecars,
// or about the one that it names.
func TestMeetRequirementsOfContainers(t *testing.T) {
	g := gomega.NewWithT(t)
	two := watched("web")
	two.Spec.Containers = append(two.Spec.Containers, v1.Container{Name: "helper", Image: "h"})
	_, err := MeetRequirements("stall>=1s").WithDelays("default").Match(two)
	g.Expect(err).To(gomega.MatchError("MeetRequirements: Pod web, stall>=1s: container helper has no liveness probe"))
	g.Expect(two).To(MeetRequirements("app/stall>=1s").WithDelays("default"))
	g.Expect(two).NotTo(MeetRequirements("app/stall>=5s").WithDelays("default"))
	two.Spec.Containers[1].Name = "linkerd-proxy"
	g.Expect(two).To(MeetRequirements("stall>=1s").WithDelays("default"))
	_, err = MeetRequirements("ap/stall>=1s").Match(two)
	g.Expect(err).To(gomega.MatchError(`MeetRequirements: no workload has a container "ap" (did you mean "app"?)`))
	file := manifest(t, watchedYAML, strings.NewReplacer("name: web", "name: job", "name: app", "name: main").
		Replace(watchedYAML))
	g.Expect(file).To(MeetRequirements("app/stall>=1s").WithDelays("default"))
	_, err = MeetRequirements("app/stall>=1s").Of("Pod", "job").Match(file)
	g.Expect(err).To(gomega.MatchError("MeetRequirements: Pod job has no container that the requirements name"))
}

// TestMeetRequirementsStartOf checks that the start of a container counts for it, in place of the
// start of all.
func TestMeetRequirementsStartOf(t *testing.T) {
	g := gomega.NewWithT(t)
	p := watched("web")
	p.Spec.Containers[0].LivenessProbe.FailureThreshold = 9
	g.Expect(p).To(MeetRequirements("recover<=1m").WithDelays("default").WithStart(time.Second, time.Minute).
		WithStartOf("app", time.Second, 2*time.Second))
	m := MeetRequirements("recover<=1m").WithDelays("default").WithStart(time.Second, 2*time.Second).
		WithStartOf("app", time.Second, time.Minute)
	g.Expect(p).NotTo(m)
	g.Expect(m.shell("web.yaml")).To(gomega.HaveSuffix(" --start 1s..2s,app=1s..1m"))
}
