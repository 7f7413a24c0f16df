package profile

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// fields returns the names of the fields of a struct of bools.
func fields[T any]() []string {
	var names []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		names = append(names, f.Name)
	}
	return names
}

// TestTablesCoverFields compares the rows of both tables with the fields, by their names and by the
// fields that they set.
func TestTablesCoverFields(t *testing.T) {
	var rows []string
	for _, g := range gates {
		var set FeatureGates
		if *g.field(&set) = true; !reflect.ValueOf(set).FieldByName(g.name).Bool() {
			t.Errorf("the row %s sets another gate: %+v", g.name, set)
		}
		if len(g.stages) == 0 {
			t.Errorf("%s has no stages", g.name)
		}
		rows = append(rows, g.name)
	}
	if want := fields[FeatureGates](); !slices.Equal(rows, want) || !slices.IsSorted(rows) {
		t.Errorf("rows of gates: %q; fields: %q", rows, want)
	}
	rows = nil
	for _, c := range changes {
		var set Changes
		if *c.field(&set) = true; !reflect.ValueOf(set).FieldByName(c.name).Bool() {
			t.Errorf("the row %s sets another change: %+v", c.name, set)
		}
		// Of some changes in the newest release, profile.go knows the file but not the pull
		// request.
		if len(c.since) == 0 || len(c.pulls) == 0 && c.since[0].from != V1_38.Version {
			t.Errorf("%s names no pull request or no release", c.name)
		}
		rows = append(rows, c.name)
	}
	if want := fields[Changes](); !slices.Equal(rows, want) || !slices.IsSorted(rows) {
		t.Errorf("rows of changes: %q; fields: %q", rows, want)
	}
}

// changesOf1_38 are the changes without a gate that 1.38 has, and its preview too.
const changesOf1_38 = "ActuatedAtEachSync AddPodSkipsOnlyContainer " +
	"AvailabilityChecksOnTime EachUpdateRetriesResizes EndpointsFollowPhase FailureIsKept GRPCConnectsOnce " +
	"InitializedBySandbox InspectReadsResources InspectUsesListing KillsAtOnce ManualTrigger " +
	"ManualTriggerResetsTicker PodLimitsOfAll PodMemoryRequestFollows PodReadyToStartAtSandbox ProbeStateOfInstance " +
	"ProxyWithoutBurst RecreateSyncsOnEachDeletion ReinspectionEventAlone RequestsInUseOfPod " +
	"RequeueAtBackOffExpiry ResizeEvents ResizeReasonOfAdmission ResizesAreQueued ResizesRetriedWhenPodsEnd " +
	"ResizesWithStarts SandboxReasonInCondition SandboxesByAttempt ScaleDownErrorsAreRetried " +
	"ShortContainerEvents StartedOfInstance StartupOnHoldAfterSuccess TerminationEndsResizes " +
	"TerminationStopsSidecarProbes UnknownPortNotFound UnknownStateInErrorEvent UpdateNeedsAdmission"

// TestReleases lists the gates and changes that are on in each release, as a summary of the tables.
func TestReleases(t *testing.T) {
	for _, test := range []struct {
		p    Profile
		want string
	}{
		{V1_34, "ChangeContainerStatusOnKubeletRestart PodObservedGenerationTracking AvailabilityChecksOnTime " +
			"ManualTrigger ManualTriggerResetsTicker ProxyWithoutBurst ResizesAreQueued StartupOnHoldAfterSuccess " +
			"UnknownStateInErrorEvent"},
		{V1_33, "ChangeContainerStatusOnKubeletRestart ManualTrigger ManualTriggerResetsTicker " +
			"StartupOnHoldAfterSuccess UnknownStateInErrorEvent"},
		{V1_35, "ContainerRestartRules DeploymentReplicaSetTerminatingReplicas KubeletCrashLoopBackOffMax " +
			"KubeletEnsureSecretPulledImages PodObservedGenerationTracking AvailabilityChecksOnTime " +
			"InspectReadsResources ManualTrigger ManualTriggerResetsTicker " +
			"ProxyWithoutBurst RequeueAtBackOffExpiry ResizeEvents ResizesAreQueued SandboxesByAttempt " +
			"ShortContainerEvents StartupOnHoldAfterSuccess TerminationCancelsProbes UnknownStateInErrorEvent"},
		{V1_36, "ContainerRestartRules DeploymentReplicaSetTerminatingReplicas " +
			"InPlacePodLevelResourcesVerticalScaling InPlacePodVerticalScalingInitContainers " +
			"KubeletCrashLoopBackOffMax KubeletEnsureSecretPulledImages PLEGOnDemandRelist " +
			"PodObservedGenerationTracking " +
			"RestartAllContainersOnContainerExits StaleControllerConsistencyReplicaSet AvailabilityChecksOnTime " +
			"InspectReadsResources InspectUsesListing ManualTrigger ManualTriggerResetsTicker " +
			"PodReadyToStartAtSandbox ProxyWithoutBurst ReinspectionEventAlone " +
			"RequeueAtBackOffExpiry ResizeEvents ResizeReasonOfAdmission ResizesAreQueued ResizesRetriedWhenPodsEnd " +
			"ResizesWithStarts SandboxesByAttempt ShortContainerEvents StartupOnHoldAfterSuccess " +
			"TerminationCancelsProbes UnknownStateInErrorEvent"},
		{V1_37, "ContainerRestartRules DeploymentReplicaSetTerminatingReplicas " +
			"InPlacePodLevelResourcesVerticalScaling InPlacePodVerticalScalingInitContainers " +
			"KubeletCrashLoopBackOffMax KubeletEnsureSecretPulledImages PLEGOnDemandRelist " +
			"PodObservedGenerationTracking " +
			"RestartAllContainersOnContainerExits StaleControllerConsistencyReplicaSet ActuatedAtEachSync " +
			"AddPodSkipsOnlyContainer AvailabilityChecksOnTime InitializedBySandbox InspectReadsResources " +
			"InspectUsesListing ManualTrigger ManualTriggerResetsTicker " +
			"PodMemoryRequestFollows PodReadyToStartAtSandbox ProxyWithoutBurst " +
			"RecreateSyncsOnEachDeletion ReinspectionEventAlone RequestsInUseOfPod RequeueAtBackOffExpiry " +
			"ResizeEvents ResizeReasonOfAdmission ResizesAreQueued ResizesRetriedWhenPodsEnd ResizesWithStarts " +
			"SandboxReasonInCondition SandboxesByAttempt ShortContainerEvents " +
			"StartupOnHoldAfterSuccess UnknownPortNotFound UnknownStateInErrorEvent UpdateNeedsAdmission"},
		{V1_38, "ContainerRestartRules DeploymentReplicaSetTerminatingReplicas " +
			"InPlacePodLevelResourcesVerticalScaling InPlacePodVerticalScalingInitContainers " +
			"KubeletCrashLoopBackOffMax KubeletEnsureSecretPulledImages PLEGOnDemandRelist " +
			"PodObservedGenerationTracking RestartAllContainersOnContainerExits " +
			"StaleControllerConsistencyReplicaSet " + changesOf1_38},
		{V1_38_preview, "ContainerRestartRules ContainerScopedProbes DeploymentReplicaSetTerminatingReplicas " +
			"GRPCContainerProbeTLS H2CContainerProbe InPlacePodLevelResourcesVerticalScaling " +
			"InPlacePodVerticalScalingInitContainers KubeletCrashLoopBackOffMax " +
			"KubeletEnsureSecretPulledImages PLEGOnDemandRelist PodObservedGenerationTracking " +
			"RestartAllContainersOnContainerExits StaleControllerConsistencyReplicaSet " + changesOf1_38},
	} {
		var on []string
		for _, f := range reflect.VisibleFields(reflect.TypeFor[Profile]()) {
			if f.Type.Kind() == reflect.Bool && reflect.ValueOf(test.p).FieldByIndex(f.Index).Bool() {
				on = append(on, f.Name)
			}
		}
		if got := strings.Join(on, " "); got != test.want {
			t.Errorf("%s: these are on:\n%s\nwant\n%s", test.p.Version, got, test.want)
		}
	}
}

func TestNamed(t *testing.T) {
	for _, name := range NamesWithPreviews() {
		if p, ok := Named(name); !ok || p.Version != name || p.Preview() == slices.Contains(Names(), name) {
			t.Errorf("Named(%q) = %+v, %t", name, p, ok)
		}
	}
	for _, name := range []string{"v1.37.0", V1_37.Patch, "v1.37.99"} {
		if p, ok := Named(name); !ok || p != V1_37 {
			t.Errorf("Named(%q) = %+v, %t", name, p, ok)
		}
	}
	if p, ok := Named("v1.0.0"); ok || p != (Profile{}) {
		t.Errorf("an unknown release is %+v, %t", p, ok)
	}
	if p, err := V1_37.SetGate("ContainerStopSignals", true); err != nil || p.Preview() {
		t.Errorf("v1.37 with another gate is a preview: %v", err)
	}
	if Newest() != V1_37 {
		t.Errorf("the newest release is %s", Newest().Version)
	}
}

func TestParseRelease(t *testing.T) {
	for text, want := range map[string]release{"v1.37.0": {1, 37, 0}, "v1.36": {1, 36, 0}, "v1.36.3": {1, 36, 3},
		"v1.38.0-beta.0": {1, 38, 0}, "v1.38-preview": {1, 38, 0, 1}} {
		if r, ok := parseRelease(text); !ok || r != want {
			t.Errorf("parseRelease(%q) = %v, %t", text, r, ok)
		}
	}
	for _, text := range []string{"", "1.37.0", "v1", "v1.x", "v1.37.0.1", "another"} {
		if r, ok := parseRelease(text); ok {
			t.Errorf("parseRelease(%q) = %v", text, r)
		}
	}
	for _, test := range []struct {
		a, b string
		want bool
	}{{"v1.37.0", "v1.36.3", true}, {"v1.36.3", "v1.36.3", true}, {"v1.36.2", "v1.36.3", false},
		{"v1.9.0", "v1.10", false}} {
		if a, _ := parseRelease(test.a); a.atLeast(test.b) != test.want {
			t.Errorf("%s at least %s: want %t", test.a, test.b, test.want)
		}
	}
}

// Every release in the tables is valid.
func TestTableReleases(t *testing.T) {
	for _, g := range gates {
		for _, s := range g.stages {
			if _, ok := parseRelease(s.from); !ok {
				t.Errorf("%s has a stage from %q", g.name, s.from)
			}
		}
	}
	for _, c := range changes {
		for _, s := range c.since {
			_, from := parseRelease(s.from)
			if _, before := parseRelease(s.before); !from || s.before != "" && !before {
				t.Errorf("%s holds from %q to %q", c.name, s.from, s.before)
			}
		}
	}
}
