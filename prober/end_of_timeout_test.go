package prober

import (
	"net/http"
	"strings"
	"testing"

	"probesim.dev/sim"
	"probesim.dev/sim/choose"
)

// silent is a network on which every request reaches its deadline.
type silent struct{}

func (silent) Connect(*sim.Proc, Connection) Reply {
	return Reply{TimedOut: true, HandshakeTimeout: true}
}

// logged is a Guide that knows the end of one timeout.
type logged struct {
	choose.Replay
	end   string
	turns []string
}

func (l *logged) Place(process, point string) (int, bool) {
	return 0, process == "timeout of readiness worker default/web/app" && point == l.end
}
func (l *logged) Walk(string, string, string) ([]string, bool) { return nil, false }
func (l *logged) Turn(process, point string)                   { l.turns = append(l.turns, process+": "+point) }

// The error of an https request at its deadline is the one in the log of a real run. Without a log
// it is the first one.
func TestLogHasTheEndOfATimeout(t *testing.T) {
	for _, end := range []string{errDeadline, "net/http: request canceled" + clientTimeout, errDeadline + clientTimeout,
		errHandshake, "unknown"} {
		l := &logged{Replay: *choose.NewReplay(nil), end: end}
		s := sim.New(sim.Options{Chooser: l})
		var err error
		s.Go("readiness worker default/web/app", func(p *sim.Proc) {
			req, _ := http.NewRequest(http.MethodGet, "https://10.0.0.1:8443/", nil)
			_, err = (&Transport{Network: silent{}, Proc: p}).RoundTrip(req)
		})
		if e := s.RunUntil(0); e != nil {
			t.Fatal(e)
		}
		s.Close()
		want := end
		if end == "unknown" {
			want = errDeadline
		}
		if err == nil || err.Error() != want ||
			strings.Join(l.turns, ", ") != "timeout of readiness worker default/web/app: "+want {
			t.Errorf("with %q in the log: error %v, turns %q", end, err, l.turns)
		}
	}
}
