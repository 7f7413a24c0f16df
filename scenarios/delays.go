package scenarios

import (
	"slices"
	"time"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/strict"
	"probesim.dev/internal/value"
)

// Delays are the latencies of runtime and API calls, and the usual times to answer; nil for the default
// or that of the next wider scope.
type Delays struct {
	RunPodSandbox    *value.Draw `json:"runPodSandbox,omitempty"`
	StopPodSandbox   *value.Draw `json:"stopPodSandbox,omitempty"`
	RemovePodSandbox *value.Draw `json:"removePodSandbox,omitempty"`
	CreateContainer  *value.Draw `json:"createContainer,omitempty"`
	StartContainer   *value.Draw `json:"startContainer,omitempty"`
	StopContainer    *value.Draw `json:"stopContainer,omitempty"`
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

// maxDelay is the longest that one call may take.
const maxDelay = time.Hour

// podDelays are the delays of calls that do not name a container. Those about images name the pod.
var podDelays = []string{"runPodSandbox", "stopPodSandbox", "removePodSandbox", "listPodSandbox", "podSandboxStatus",
	"listContainers", "imageStatus", "imagePull", "volumeMount", "apiGet", "apiPatch", "apiDelete"}

// checkDelays refuses delays that are too long.
func checkDelays(n *strict.Node, delays *Delays) {
	if delays == nil {
		return
	}
	for i := range n.Keys {
		var d value.Draw
		if err := d.UnmarshalText([]byte(n.Items[i].Value)); err == nil && d.Max > maxDelay {
			n.Items[i].Errorf("%s is longer than %s, the most that a call may take", d, value.Format(maxDelay))
		}
	}
}

// checkContainerDelays also refuses delays of calls that do not name a container.
func checkContainerDelays(n *strict.Node, delays *Delays) {
	checkDelays(n, delays)
	for i, key := range n.Keys {
		if slices.Contains(podDelays, key.Name) {
			n.Items[i].Errorf("is not a delay of a container: write it in the delays of the pod or of the scenario")
		}
	}
}

// compile returns the delays as the runtime takes them; of nil, none.
func (d *Delays) compile() fakeruntime.Delays {
	if d == nil {
		return fakeruntime.Delays{}
	}
	draw := func(v *value.Draw) *fakeruntime.Draw { return (*fakeruntime.Draw)(v) }
	return fakeruntime.Delays{
		RunPodSandbox: draw(d.RunPodSandbox), StopPodSandbox: draw(d.StopPodSandbox),
		RemovePodSandbox: draw(d.RemovePodSandbox), PodSandboxStatus: draw(d.PodSandboxStatus),
		ListPodSandbox: draw(d.ListPodSandbox), CreateContainer: draw(d.CreateContainer),
		StartContainer: draw(d.StartContainer), StopContainer: draw(d.StopContainer),
		RemoveContainer: draw(d.RemoveContainer), ListContainers: draw(d.ListContainers),
		ContainerStatus: draw(d.ContainerStatus), ImageStatus: draw(d.ImageStatus),
		ImagePull: draw(d.ImagePull), VolumeMount: draw(d.VolumeMount),
		APIGet: draw(d.APIGet), APIPatch: draw(d.APIPatch), APIDelete: draw(d.APIDelete),
		Exec: draw(d.Exec), HTTPGet: draw(d.HTTPGet), TCPSocket: draw(d.TCPSocket), GRPC: draw(d.GRPC),
	}
}
