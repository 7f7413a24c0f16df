package reconstruct

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"probesim.dev/incident"
	"probesim.dev/internal/long"
	"probesim.dev/report"
)

// recordings is a directory next to the project with recordings of real clusters, each with its source. They are not part of the
// project, because some have no license.
const recordings = "../../../shared/recordings"

// together lists the directories whose files are about the same pods.
var together = []string{"k3s-bundle", "aks-liveness-http-pcap", "event-stream-liveness-10s", "minikube-init-crashloop"}

// explains has the least share of the facts, in percent, that the reconstructions of a recording explain. Other recordings are
// excerpts that contradict themselves, or tell too little.
var explains = map[string]int{
	"k3s-bundle": 90, "minikube-failing-liveness/events.json": 100, "event-stream-liveness-10s": 100,
	"orion-liveness-crashloop/pods-condensed.json": 90, "rke-coredns-readiness-503/kubelet.log": 60,
}

// TestRecordings reads, draws and reconstructs the recordings of real clusters. Whatever is not used, and whatever is not
// explained, has a reason.
func TestRecordings(t *testing.T) {
	if _, err := os.Stat(recordings); err != nil {
		t.Skipf("there are no recordings of real clusters in %s: they are not part of the project", recordings)
	}
	groups := map[string][]string{}
	err := filepath.WalkDir(recordings, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, ".md") {
			return err
		}
		name, _ := filepath.Rel(recordings, path)
		dir, _, _ := strings.Cut(filepath.ToSlash(name), "/")
		if slices.Contains(together, dir) {
			name = dir
		}
		groups[name] = append(groups[name], path)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(groups) < 50 {
		t.Errorf("there are %d recordings, want all", len(groups))
	}
	for name, paths := range groups {
		if explains[name] == 0 && !long.Enabled() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			var files []incident.File
			for _, p := range paths {
				data, err := os.ReadFile(p)
				if err != nil {
					t.Fatal(err)
				}
				files = append(files, incident.File{Name: filepath.Base(p), Data: data})
			}
			explain(t, name, incident.Read(files))
		})
	}
	for name := range explains {
		if groups[name] == nil {
			t.Errorf("there is no recording %s", name)
		}
	}
}

func explain(t *testing.T, name string, rec *incident.Recording) {
	for _, p := range rec.Problems {
		t.Logf("%s", p)
	}
	if len(rec.Facts) == 0 {
		if len(rec.Problems) == 0 && len(rec.Pods) == 0 {
			t.Error("nothing was read, without a reason")
		}
		return
	}
	var b strings.Builder
	if err := report.Timeline(&b, rec.RunOf(rec.Pods), report.Options{}); err != nil || b.Len() == 0 {
		t.Errorf("the timeline is not drawn: %v", err)
	}
	held, all := 0, 0
	for _, pod := range rec.Pods {
		if !pod.Troubled() {
			continue
		}
		r, err := Pod(context.Background(), rec, pod, Options{Runs: 500})
		if errors.Is(err, ErrNothing) {
			t.Logf("%s: %v", pod.Name, err)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", pod.Name, err)
			continue
		}
		h, n := r.Explained()
		held, all = held+h, all+n
		t.Logf("%s: %d of %d facts, %d runs", pod.Name, h, n, r.Tried)
		for _, c := range r.Claims {
			if !c.Holds {
				t.Logf("  %s: %s: %s", c.Fact.Place, c.Says, c.Reason)
				if c.Reason == "" {
					t.Errorf("%s: %s has no reason", c.Fact.Place, c.Says)
				}
			}
		}
	}
	if held*100 < all*explains[name] {
		t.Errorf("%d of %d facts are explained, want %d%%", held, all, explains[name])
	}
}
