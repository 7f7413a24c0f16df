package compare

import (
	"testing"

	"probesim.dev/conformance/kubelet/release"
	"probesim.dev/scenarios"
)

// TestHandlers checks that the simulator explains each record of the real kubelet for every answer
// that a program can give to HTTP, TCP and gRPC probes.
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
