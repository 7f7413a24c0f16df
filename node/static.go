package node

import (
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/podutil"
	"probesim.dev/internal/world/apiserver/admission"
	"probesim.dev/trace"
)

// ErrNoStaticPods is the error of SetManifest and RemoveManifest if Options.Config.StaticPodPath is
// empty.
var ErrNoStaticPods = errors.New("the kubelet has no directory for static pods: set StaticPodPath in Options.Config")

// SetManifest writes the manifest of a static pod to the directory that the kubelet watches now, in
// place of the manifest with the same name. The kubelet starts the pod, and creates a mirror pod in
// the API, which shows its status. The name of the pod is the name in the manifest with "-" and
// admission.NodeName. A pod with another content has another UID, and starts when the pod with the
// previous content has terminated. While the kubelet is stopped, nothing happens.
//
// The program says how the containers behave; see AddPod. A pod with the same content as an earlier
// one keeps the program of that pod. A manifest that admission.Static has already made into a pod
// is used as it is.
//
// SetManifest returns ErrNoStaticPods, an Invalid error for fields that the kubelet rejects or that
// are not supported, and the other errors of AddPod. If it returns an error, it has not changed the
// manifest.
func (n *Node) SetManifest(manifest *v1.Pod, program fakeruntime.Pod) error {
	return n.change(func() error {
		switch {
		case manifest == nil:
			return errors.New("SetManifest: the manifest is nil")
		case n.options.Config.StaticPodPath == "":
			return ErrNoStaticPods
		}
		if errs := admission.ValidateStatic(manifest); len(errs) > 0 {
			return apierrors.NewInvalid(v1.SchemeGroupVersion.WithKind("Pod").GroupKind(), manifest.Name, errs)
		}
		pod := manifest
		if !podutil.IsStatic(pod) {
			pod = admission.Static(manifest)
		}
		if err := n.checkProgram(pod, program); err != nil {
			return err
		}
		pod, err := admission.Admit(n.options.Profile, pod)
		if err != nil {
			return err
		}
		n.addProgram(pod, program)
		n.options.Disk.SetManifest(pod,
			n.step(trace.Record{Pod: pod.Namespace + "/" + pod.Name, Reason: "setManifest"}))
		n.manifestsChanged()
		return nil
	})
}

// RemoveManifest removes the manifest of a static pod now; the kubelet terminates the pod and
// deletes its mirror pod. The name is that of the pod, not of the manifest. RemoveManifest returns
// ErrNoStaticPods, or a NotFound error if there is no manifest of this pod.
func (n *Node) RemoveManifest(namespace, name string) error {
	return n.change(func() error {
		switch {
		case n.options.Config.StaticPodPath == "":
			return ErrNoStaticPods
		case !n.options.Disk.HasManifest(namespace, name):
			return fmt.Errorf("there is no manifest: %w", apierrors.NewNotFound(v1.Resource("pods"), name))
		}
		n.options.Disk.RemoveManifest(namespace, name,
			n.step(trace.Record{Pod: namespace + "/" + name, Reason: "removeManifest"}))
		n.manifestsChanged()
		return nil
	})
}

func (n *Node) manifestsChanged() {
	if n.kubelet != nil {
		n.sim.In(n.group, n.kubelet.ManifestsChanged)
	}
}
