package kubelet

// recordPullIntent notes on the disk that an image is pulled (RecordPullIntent in
// pkg/kubelet/images/pullmanager/image_pull_manager.go at v1.37.0).
func (k *Kubelet) recordPullIntent(image string) {
	if k.profile.KubeletEnsureSecretPulledImages {
		k.pulls[image]++
		k.disk.pulls[image] = true
	}
}

// recordPullEnd takes the note away once no pull of the image is under way, and keeps that one has succeeded (RecordImagePulled
// and RecordImagePullFailed there).
func (k *Kubelet) recordPullEnd(image string, ok bool) {
	if ok {
		k.disk.pulled[image] = true
	}
	if k.pulls[image]--; k.pulls[image] <= 0 {
		delete(k.pulls, image)
		delete(k.disk.pulls, image)
	}
}

// mustAttemptPull reports whether the kubelet pulls an image, or was killed when it did, and never has to the end. An image
// that is there all the same may then be one that the pod has no right to, and so the pod has to pull it too
// (MustAttemptImagePull there).
func (k *Kubelet) mustAttemptPull(image string) bool {
	return k.disk.pulls[image] && !k.disk.pulled[image]
}

// PullUnderWay reports whether a kubelet was killed while it pulled an image that has not been pulled since. The next one
// lists the images before it does anything else (initialize there).
func (d *Disk) PullUnderWay() bool { return len(d.pulls) > 0 }
