package kubelet

// recordPullIntent stores on disk that an image is being pulled (RecordPullIntent in
// pkg/kubelet/images/pullmanager/image_pull_manager.go at v1.37.0).
func (k *Kubelet) recordPullIntent(image string) {
	if k.profile.KubeletEnsureSecretPulledImages {
		k.pulls[image]++
		k.disk.pulls[image] = true
	}
}

// recordPullEnd stores the outcome of a pull, and removes the intent when no pull of the image is
// left (RecordImagePulled and RecordImagePullFailed in
// pkg/kubelet/images/pullmanager/image_pull_manager.go at v1.37.0).
func (k *Kubelet) recordPullEnd(image string, ok bool) {
	if ok {
		k.disk.pulled[image] = true
	}
	if k.pulls[image]--; k.pulls[image] <= 0 {
		delete(k.pulls, image)
		delete(k.disk.pulls, image)
	}
}

// mustAttemptPull reports whether a pull of the image has begun and none has ever succeeded, for
// example because the kubelet was killed during the pull. The pod may have no access to such an
// image, even if it is on the node, and so has to pull it (MustAttemptImagePull in
// pkg/kubelet/images/pullmanager/image_pull_manager.go at v1.37.0).
func (k *Kubelet) mustAttemptPull(image string) bool {
	return k.disk.pulls[image] && !k.disk.pulled[image]
}

// PullUnderWay reports whether the previous kubelet was killed during a pull of an image. The next
// kubelet then lists the images before anything else (initialize in
// pkg/kubelet/images/pullmanager/image_pull_manager.go at v1.37.0).
func (d *Disk) PullUnderWay() bool { return len(d.pulls) > 0 }
