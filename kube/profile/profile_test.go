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

// TestTablesCoverFields compares the rows of both tables with the fields, by name and by what a row sets.
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
		if len(c.pulls) == 0 || len(c.since) == 0 {
			t.Errorf("%s names no pull request or no release", c.name)
		}
		rows = append(rows, c.name)
	}
	if want := fields[Changes](); !slices.Equal(rows, want) || !slices.IsSorted(rows) {
		t.Errorf("rows of changes: %q; fields: %q", rows, want)
	}
}

// TestReleases lists what is on in each release: the tables in short.
func TestReleases(t *testing.T) {
	for _, test := range []struct {
		p    Profile
		want string
	}{
		{V1_34_4, "ChangeContainerStatusOnKubeletRestart ManualTrigger ManualTriggerResetsTicker StartupOnHoldAfterSuccess UnknownStateInErrorEvent"},
		{V1_36_3, "ContainerRestartRules KubeletCrashLoopBackOffMax KubeletEnsureSecretPulledImages PLEGOnDemandRelist " +
			"RestartAllContainersOnContainerExits InspectUsesListing ManualTrigger ManualTriggerResetsTicker PodReadyToStartAtSandbox " +
			"RequeueAtBackOffExpiry ShortContainerEvents StartupOnHoldAfterSuccess TerminationCancelsProbes UnknownStateInErrorEvent"},
		{V1_37_0, "ContainerRestartRules KubeletCrashLoopBackOffMax KubeletEnsureSecretPulledImages PLEGOnDemandRelist " +
			"RestartAllContainersOnContainerExits AddPodSkipsOnlyContainer InitializedBySandbox InspectUsesListing ManualTrigger " +
			"ManualTriggerResetsTicker PodReadyToStartAtSandbox RequeueAtBackOffExpiry SandboxReasonInCondition ShortContainerEvents " +
			"StartupOnHoldAfterSuccess UnknownPortNotFound UnknownStateInErrorEvent UpdateNeedsAdmission"},
	} {
		var on []string
		for _, f := range reflect.VisibleFields(reflect.TypeFor[Profile]()) {
			if f.Type.Kind() == reflect.Bool && reflect.ValueOf(test.p).FieldByIndex(f.Index).Bool() {
				on = append(on, f.Name)
			}
		}
		if got := strings.Join(on, " "); got != test.want {
			t.Errorf("%s: on are\n%s\nwant\n%s", test.p.Version, got, test.want)
		}
	}
}

func TestNamed(t *testing.T) {
	for _, name := range Names() {
		if p, ok := Named(name); !ok || p.Version != name {
			t.Errorf("Named(%q) = %+v, %t", name, p, ok)
		}
	}
	if p, ok := Named("v1.0.0"); ok || p != (Profile{}) {
		t.Errorf("an unknown release is %+v, %t", p, ok)
	}
	if Newest() != V1_37_0 {
		t.Errorf("the newest release is %s", Newest().Version)
	}
}
