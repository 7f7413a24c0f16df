package compare

import (
	"testing"

	"probesim.dev/conformance/kubelet/release"
	"probesim.dev/scenarios"
)

// TestHandlers: each record of the real kubelet is explained for everything that programs can answer to the
// handlers of probes.
func TestHandlers(t *testing.T) {
	all, err := scenarios.Load("testdata/http.yaml", "testdata/tcp.yaml", "testdata/grpc.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		t.Run(s.Metadata.Name, func(t *testing.T) {
			o, err := Plan(t, s.Plan(release.Version, nil), Options{})
			if err != nil {
				t.Fatal(err)
			}
			if !o.Equal() {
				t.Error(o.Text())
			}
		})
	}
}
