package realkubelet

import v1 "k8s.io/api/core/v1"

// provideReferences replaces the objects that a pod refers to. The API server has only pods and the
// node, and there are no storage drivers. Every volume therefore becomes an emptyDir, whose mount
// takes as long as the simulator assumes for any volume, and the sources of environment variables
// become optional.
func provideReferences(pod *v1.Pod) {
	for i := range pod.Spec.Volumes {
		pod.Spec.Volumes[i].VolumeSource = v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}}
	}
	for _, containers := range [][]v1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			provideVariables(&containers[i])
		}
	}
}

func provideVariables(c *v1.Container) {
	for i := range c.Env {
		if from := c.Env[i].ValueFrom; from != nil && from.ConfigMapKeyRef != nil {
			from.ConfigMapKeyRef.Optional = new(true)
		} else if from != nil && from.SecretKeyRef != nil {
			from.SecretKeyRef.Optional = new(true)
		}
	}
	for i := range c.EnvFrom {
		if from := c.EnvFrom[i].ConfigMapRef; from != nil {
			from.Optional = new(true)
		}
		if from := c.EnvFrom[i].SecretRef; from != nil {
			from.Optional = new(true)
		}
	}
}
