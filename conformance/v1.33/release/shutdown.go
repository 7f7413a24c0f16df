package release

import (
	"time"
	_ "unsafe" // for linkname

	"k8s.io/kubernetes/pkg/kubelet/nodeshutdown/systemd"
)

//go:linkname newSystemBus k8s.io/kubernetes/pkg/kubelet/nodeshutdown.systemDbus
var newSystemBus func() (systemBus, error)

// SetSystemBus sets the channel from which kubelets that are created later receive shutdowns of their node.
func SetSystemBus(shutdowns <-chan bool) {
	newSystemBus = func() (systemBus, error) { return bus{shutdowns}, nil }
}

// bus is a systemd that delays a shutdown for as long as the kubelet asks.
type bus struct{ shutdowns <-chan bool }

func (bus) CurrentInhibitDelay() (time.Duration, error)   { return 1 << 62, nil }
func (bus) InhibitShutdown() (systemd.InhibitLock, error) { return 1, nil }
func (bus) ReleaseInhibitLock(systemd.InhibitLock) error  { return nil }
func (bus) ReloadLogindConf() error                       { return nil }
func (bus) OverrideInhibitDelay(time.Duration) error      { return nil }
