package reconstruct

import (
	"strings"
	"testing"

	"probesim.dev/incident"
)

// TestTableOfEvents reconstructs the output of kubectl get events, which has only the last occurrence of each event.
func TestTableOfEvents(t *testing.T) {
	rec := incident.Read([]incident.File{{Name: "events.txt", Data: []byte(`LAST SEEN   TYPE      REASON      OBJECT          MESSAGE
2m10s       Warning   Unhealthy   pod/web-abc     Liveness probe failed: HTTP probe failed with statuscode: 500
2m10s       Normal    Killing     pod/web-abc     Container app failed liveness probe, will be restarted
5m          Normal    Started     pod/web-abc     Started container app
`)}})
	r := reconstructed(t, rec)
	if text := strings.Join(r.Assumed, "; "); !strings.Contains(text, "failureThreshold 3 is the default") {
		t.Errorf("assumed: %s", text)
	}
}
