package realkubelet

import (
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/volume"
	"k8s.io/kubernetes/pkg/volume/emptydir"

	"probesim.dev/fakeruntime"
	"probesim.dev/sim/virtual"
)

// volumePlugins returns the plugin for emptyDir, whose mounts take the delay of their pod.
func volumePlugins(c *connection) []volume.VolumePlugin {
	plugins := emptydir.ProbeVolumePlugins()
	for i, p := range plugins {
		plugins[i] = &slowPlugin{VolumePlugin: p, conn: c, drawn: map[types.UID]time.Duration{}}
	}
	return plugins
}

// slowPlugin is a plugin whose mounts are delayed. All volumes of a pod have the same delay, which
// is drawn once for each kubelet.
type slowPlugin struct {
	volume.VolumePlugin
	conn  *connection
	mu    sync.Mutex
	drawn map[types.UID]time.Duration
}

func (p *slowPlugin) NewMounter(spec *volume.Spec, pod *v1.Pod) (volume.Mounter, error) {
	m, err := p.VolumePlugin.NewMounter(spec, pod)
	return slowMounter{m, p.delayOf(pod.UID), p.conn}, err
}

func (p *slowPlugin) delayOf(uid types.UID) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	d, ok := p.drawn[uid]
	if !ok {
		d = p.conn.mountDelay(string(uid))
		p.drawn[uid] = d
	}
	return d
}

type slowMounter struct {
	volume.Mounter
	delay time.Duration
	conn  *connection
}

func (m slowMounter) SetUp(args volume.MounterArgs) error {
	if m.delay > 0 {
		time.Sleep(m.delay)
		m.conn.blockIfCut()
	}
	return m.Mounter.SetUp(args)
}

// mountDelay returns how long the volumes of a pod take to mount, in addition to the time of an
// emptyDir.
func (c *connection) mountDelay(podUID string) (delay time.Duration) {
	c.change(func(r *fakeruntime.Runtime, _ virtual.Time) { delay = r.MountDelay(podUID) })
	return delay
}
