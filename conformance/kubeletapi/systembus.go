package kubeletapi

import (
	"time"
	"unsafe"

	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/kubelet/nodeshutdown/systemd"

	"probesim.dev/conformance/kubelet/release"
)

// SetSystemBus sets the channel from which kubelets that are created later receive shutdowns of
// their node.
func SetSystemBus(shutdowns <-chan bool) {
	switch b := (bus{shutdowns}); {
	case release.Version < "v1.34":
		setSystemBus[busUntil133](loglessBus{b})
	case release.Version < "v1.37":
		setSystemBus[busUntil136](b)
	default:
		setSystemBus[busSince137](b)
	}
}

//go:linkname newSystemBus k8s.io/kubernetes/pkg/kubelet/nodeshutdown.systemDbus
var newSystemBus func()

// setSystemBus sets the function from which the node shutdown manager gets its interface to
// systemd. B has the same methods as dbusInhibiter in
// pkg/kubelet/nodeshutdown/nodeshutdown_manager_linux.go, so both types have the same layout.
func setSystemBus[B any](b B) {
	*(*func() (B, error))(unsafe.Pointer(&newSystemBus)) = func() (B, error) { return b, nil }
}

type busUntil133 interface {
	inhibitor
	MonitorShutdown() (<-chan bool, error)
}

type busUntil136 interface {
	inhibitor
	MonitorShutdown(klog.Logger) (<-chan bool, error)
}

type busSince137 interface {
	busUntil136
	Close() error
}

type inhibitor interface {
	CurrentInhibitDelay() (time.Duration, error)
	InhibitShutdown() (systemd.InhibitLock, error)
	ReleaseInhibitLock(lock systemd.InhibitLock) error
	ReloadLogindConf() error
	OverrideInhibitDelay(inhibitDelayMax time.Duration) error
}

// bus is a systemd that delays a shutdown for as long as the kubelet asks.
type bus struct{ shutdowns <-chan bool }

func (bus) CurrentInhibitDelay() (time.Duration, error)        { return 1 << 62, nil }
func (bus) InhibitShutdown() (systemd.InhibitLock, error)      { return 1, nil }
func (bus) ReleaseInhibitLock(systemd.InhibitLock) error       { return nil }
func (bus) ReloadLogindConf() error                            { return nil }
func (bus) OverrideInhibitDelay(time.Duration) error           { return nil }
func (b bus) MonitorShutdown(klog.Logger) (<-chan bool, error) { return b.shutdowns, nil }
func (bus) Close() error                                       { return nil }

type loglessBus struct{ bus }

func (b loglessBus) MonitorShutdown() (<-chan bool, error) { return b.shutdowns, nil }
