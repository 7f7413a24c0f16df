package realkubelet

import (
	"slices"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/scenarios/drive"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// runDeletion runs a pod that takes 5 s to stop. It deletes the pod at 10 s, and again every second
// after that, with the given grace periods.
func runDeletion(t *testing.T, grace ...*int64) *Result {
	stops := fakeruntime.Rule{Clock: fakeruntime.AfterSigterm, From: seconds(5), Exit: &fakeruntime.Exit{Code: 143}}
	return mustRun(t, Options{Duration: 60 * time.Second},
		addAt0(newPod("p", v1.Container{}), program(stops), func(w drive.World) {
			for i, g := range grace {
				w.At(virtual.At(time.Duration(10+i)*time.Second), func() { w.DeletePod("default", "p", g) })
			}
		}))
}

// times returns the times of all records of a kind, in milliseconds.
func times(r *Result, k trace.Kind) []float64 {
	var all []float64
	for _, rec := range recordsOf(r, k) {
		all = append(all, ms(rec))
	}
	return all
}

func TestGracefulDeletion(t *testing.T) {
	r := runDeletion(t, nil)
	stop := recordsOf(r, trace.ContainerStopping)
	if len(stop) != 1 || ms(stop[0]) != 10007 || stop[0].GraceSeconds != 30 || stop[0].Reason != "Deleted" {
		t.Errorf("stop %+v", stop)
	}
	if got := times(r, trace.ContainerExited); !slices.Equal(got, []float64{15007}) {
		t.Errorf("exits at %v", got)
	}
	// The kubelet removes the pod after the next global relist that starts after it has seen the
	// containers exited: up to 1 s later.
	if removed := times(r, trace.PodRemoved); len(removed) != 1 || removed[0] < 15056 || removed[0] > 16100 {
		t.Errorf("removed at %v", removed)
	}
	last := recordsOf(r, trace.StatusPatched)
	if s := last[len(last)-1].Status; s.Phase != "Failed" || s.Containers[0].State != "terminated" ||
		s.Containers[0].ExitCode != 143 {
		t.Errorf("last status %+v", s)
	}
}

func TestForcedDeletion(t *testing.T) {
	r := runDeletion(t, new(int64(0)))
	if r := times(r, trace.PodRemoved); !slices.Equal(r, []float64{10000}) {
		t.Errorf("removed at %v", r)
	}
	// The kubelet then stops the running container itself.
	if stop := recordsOf(r, trace.ContainerStopping); len(stop) != 1 || stop[0].Reason != "Deleted" {
		t.Errorf("stop %+v", stop)
	}
}

func TestSecondDeletionOnlyShortens(t *testing.T) {
	r := runDeletion(t, nil, new(int64(60)))
	if got := times(r, trace.ContainerExited); !slices.Equal(got, []float64{15007}) {
		t.Errorf("longer: exits at %v", got)
	}
	r = runDeletion(t, nil, new(int64(0)))
	if got := times(r, trace.PodRemoved); !slices.Equal(got, []float64{11000}) {
		t.Errorf("0: removed at %v", got)
	}
}
