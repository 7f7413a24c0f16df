package scenarios

import (
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/scenarios/validation"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
	"probesim.dev/kube/profile"
	"probesim.dev/scenarios/format"
	"probesim.dev/scenarios/plan"
)

// CompileOptions describe the node for which Compile compiles pods. The zero value is the newest
// version of Kubernetes, without a seed.
type CompileOptions struct {
	// Profile is the version of Kubernetes with its feature gates. The zero value means
	// profile.Newest.
	Profile profile.Profile
	// Seed determines the times at which the pods of a workload are added, if they are ranges. Nil:
	// the middle of each range.
	Seed *int64
}

// Compile returns the pods that an API object creates, each with the programs in its containers. It
// sets the same defaults as loading a file does, and makes the same checks. The pods of a workload
// are named NAME-0, NAME-1 and so on, and are added 100 ms apart. Compile does not change the
// object.
//
// If the API server would reject the object, or if the behavior does not fit the object, the error
// is of type Errors and lists all errors. The path of each error is a field of the object, as in
// spec.containers[0].image, or of the behavior, as in behavior["app"][0].for.
func Compile(object manifests.APIObject, behavior format.Behavior, o CompileOptions) ([]plan.PlannedPod, error) {
	errs := &strict.Collector{}
	entry := strict.NewMapping(errs)
	return compile(object, behavior.Decode(entry), entry, o, errs)
}

// CompileRules is Compile with the rules of containers. Each error about a rule has the position
// that the rule has.
func CompileRules(
	object manifests.APIObject, containers []format.Container, o CompileOptions,
) ([]plan.PlannedPod, error) {
	errs := &strict.Collector{}
	return compile(object, containers, strict.Encode(&format.Pod{Containers: containers}, errs), o, errs)
}

func compile(
	object manifests.APIObject, containers []format.Container, entry *strict.Node, o CompileOptions,
	errs *strict.Collector,
) ([]plan.PlannedPod, error) {
	if o.Profile.Version == "" {
		o.Profile = profile.Newest()
	}
	m, err := manifests.Of(object, errs)
	if err != nil {
		return nil, err
	}
	entry.Put("replicas", m.Kind.Count, strict.Missing, "")
	pods := format.Pod{Name: m.Name, Containers: containers}
	s := &plan.Scenario{Spec: format.Spec{Duration: value.Duration(value.MaxDuration), Pods: []format.Pod{pods}}}
	validation.CheckWorkload(s, m, entry, o.Profile)
	if err := errs.Err(); err != nil {
		return nil, err
	}
	return s.Plan(o.Profile.Version, o.Seed).Pods(), nil
}
