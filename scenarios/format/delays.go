package format

import (
	"fmt"
	"reflect"
	"strings"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
)

// DelaySet returns the delays of a kind of node: fast, typical or slow. The error lists the names.
func DelaySet(name string) (fakeruntime.Delays, error) {
	set, ok := fakeruntime.DelaySet(name)
	if !ok {
		names := fakeruntime.DelaySets()
		return set, fmt.Errorf("there is no set of delays %s%s: use %s", strict.Quote(name),
			strict.DidYouMean(name, names), strings.Join(names, ", "))
	}
	return set, nil
}

// Delays are the latencies of runtime and API calls, and the usual response times of programs. A
// nil field takes the value of the set, then of the next wider scope (container, pod, scenario),
// and then the default.
type Delays struct {
	Set              string      `json:"set,omitempty"` // a name in fakeruntime.DelaySets
	RunPodSandbox    *value.Draw `json:"runPodSandbox,omitempty"`
	StopPodSandbox   *value.Draw `json:"stopPodSandbox,omitempty"`
	RemovePodSandbox *value.Draw `json:"removePodSandbox,omitempty"`
	CreateContainer  *value.Draw `json:"createContainer,omitempty"`
	StartContainer   *value.Draw `json:"startContainer,omitempty"`
	StopContainer    *value.Draw `json:"stopContainer,omitempty"`
	StopReturn       *value.Draw `json:"stopReturn,omitempty"`
	RemoveContainer  *value.Draw `json:"removeContainer,omitempty"`
	ListPodSandbox   *value.Draw `json:"listPodSandbox,omitempty"`
	ListContainers   *value.Draw `json:"listContainers,omitempty"`
	PodSandboxStatus *value.Draw `json:"podSandboxStatus,omitempty"`
	ContainerStatus  *value.Draw `json:"containerStatus,omitempty"`
	ImageStatus      *value.Draw `json:"imageStatus,omitempty"`
	ImagePull        *value.Draw `json:"imagePull,omitempty"`
	VolumeMount      *value.Draw `json:"volumeMount,omitempty"`
	APIGet           *value.Draw `json:"apiGet,omitempty"`
	APIPatch         *value.Draw `json:"apiPatch,omitempty"`
	APIDelete        *value.Draw `json:"apiDelete,omitempty"`
	Exec             *value.Draw `json:"exec,omitempty"`
	HTTPGet          *value.Draw `json:"httpGet,omitempty"`
	TCPSocket        *value.Draw `json:"tcpSocket,omitempty"`
	GRPC             *value.Draw `json:"grpc,omitempty"`
}

// UnmarshalNode points out the field set to authors who write a word.
func (d *Delays) UnmarshalNode(n *strict.Node) {
	if _, ok := fakeruntime.DelaySet(n.Value); ok && n.Kind == strict.Scalar {
		n.Errorf("must be a mapping: write {set: %s}", n.Value)
		return
	}
	type fields Delays
	strict.Decode(n, (*fields)(d))
}

// Compile returns the delays for the runtime; none if d is nil.
func (d *Delays) Compile() fakeruntime.Delays {
	if d == nil {
		return fakeruntime.Delays{}
	}
	set, _ := fakeruntime.DelaySet(d.Set)
	own := fakeruntime.Delays{}
	from, to := reflect.ValueOf(d).Elem(), reflect.ValueOf(&own).Elem()
	for field, v := range from.Fields() {
		if draw, is := v.Interface().(*value.Draw); is {
			to.FieldByName(field.Name).Set(reflect.ValueOf((*fakeruntime.Draw)(draw)))
		}
	}
	return own.Over(set)
}
