package release

import (
	"time"

	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/nodeshutdown/systemd"
)

// systemBus is the node shutdown manager's interface to systemd. It has the same methods as dbusInhibiter in
// pkg/kubelet/nodeshutdown/nodeshutdown_manager_linux.go, so both types have the same layout.
type systemBus interface {
	CurrentInhibitDelay() (time.Duration, error)
	InhibitShutdown() (systemd.InhibitLock, error)
	ReleaseInhibitLock(lock systemd.InhibitLock) error
	ReloadLogindConf() error
	MonitorShutdown(klog.Logger) (<-chan bool, error)
	OverrideInhibitDelay(inhibitDelayMax time.Duration) error
}

// MonitorShutdown returns the channel of the shutdowns.
func (b bus) MonitorShutdown(klog.Logger) (<-chan bool, error) { return b.shutdowns, nil }
