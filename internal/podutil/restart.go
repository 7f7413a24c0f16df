package podutil

import (
	"encoding/json"
	"reflect"
	"slices"

	v1 "k8s.io/api/core/v1"
)

// RestartRule is a restart rule of a container, as v1.ContainerRestartRule.
type RestartRule struct {
	Action    string
	ExitCodes *ExitCodes
}

// ExitCodes selects exit codes: those in Values, or all others.
type ExitCodes struct {
	Operator string // In or NotIn
	Values   []int32
}

// The actions of restart rules, and the operators of their exit codes.
const (
	Restart              = "Restart"
	RestartAllContainers = "RestartAllContainers"
	In                   = "In"
	NotIn                = "NotIn"
)

// rulesField is the field of the rules in a container, which k8s.io/api has since v0.34. The
// kubelet of 1.33 is built with an older one.
var rulesField, hasRules = reflect.TypeFor[v1.Container]().FieldByName("RestartPolicyRules")

func rulesOf(c *v1.Container) reflect.Value {
	return reflect.ValueOf(c).Elem().FieldByIndex(rulesField.Index)
}

// RestartPolicyRules returns the restart rules of a container.
func RestartPolicyRules(c *v1.Container) []RestartRule {
	if !hasRules || rulesOf(c).Len() == 0 {
		return nil
	}
	var has struct{ RestartPolicyRules []RestartRule }
	data, err := json.Marshal(c)
	if err == nil {
		err = json.Unmarshal(data, &has)
	}
	if err != nil { // a container has the form of an object
		panic(err)
	}
	return has.RestartPolicyRules
}

// RemoveRestartPolicyRules removes the restart rules of a container.
func RemoveRestartPolicyRules(c *v1.Container) {
	if hasRules {
		rulesOf(c).SetZero()
	}
}

// matches reports whether the rule applies to an exit code.
func (r *RestartRule) matches(exitCode int32) bool {
	if r.ExitCodes == nil {
		return false
	}
	listed := slices.Contains(r.ExitCodes.Values, exitCode)
	switch r.ExitCodes.Operator {
	case In:
		return listed
	case NotIn:
		return !listed
	}
	return false
}

// AllContainersRestarting is the condition that all containers of the pod are about to restart,
// because a rule with the action RestartAllContainers says so. Package k8s.io/api has the name
// since 1.35.
const AllContainersRestarting v1.PodConditionType = "AllContainersRestarting"

// AllContainersCouldRestart reports whether a container has a rule with the action
// RestartAllContainers.
func AllContainersCouldRestart(spec *v1.PodSpec) bool {
	for c := range Containers(spec) {
		for _, rule := range RestartPolicyRules(c) {
			if rule.Action == RestartAllContainers {
				return true
			}
		}
	}
	return false
}

// RestartsAllContainers reports whether an exit of the container with this code restarts all
// containers of its pod.
func RestartsAllContainers(c *v1.Container, exitCode int32) bool {
	return actionFor(c, exitCode) == RestartAllContainers
}

// ShouldAllContainersRestart reports whether all containers of a pod must restart: the pod's status
// has the condition AllContainersRestarting, or a restart rule with that action matches an exit.
// exitCode returns the exit code of the newest instance of a container in the runtime; if it
// returns false, the container's status does not count either. If exitCode is nil, only the status
// counts (pkg/kubelet/container/helpers.go at v1.37.0).
func ShouldAllContainersRestart(pod *v1.Pod, status *v1.PodStatus, exitCode func(name string) (int32, bool)) bool {
	for _, c := range status.Conditions {
		if c.Type == AllContainersRestarting && c.Status == v1.ConditionTrue {
			return true
		}
	}
	if !AllContainersCouldRestart(&pod.Spec) {
		return false
	}
	for c := range Containers(&pod.Spec) {
		if exitCode != nil {
			code, ended := exitCode(c.Name)
			if !ended {
				continue
			}
			if RestartsAllContainers(c, code) {
				return true
			}
		}
		if end := endOf(status, c.Name); end != nil && RestartsAllContainers(c, end.ExitCode) {
			return true
		}
	}
	return false
}

// endOf returns the terminated state of a container in a status, or nil.
func endOf(status *v1.PodStatus, name string) *v1.ContainerStateTerminated {
	for _, statuses := range [][]v1.ContainerStatus{status.ContainerStatuses, status.InitContainerStatuses} {
		for i := range statuses {
			if statuses[i].Name == name {
				return statuses[i].State.Terminated
			}
		}
	}
	return nil
}
