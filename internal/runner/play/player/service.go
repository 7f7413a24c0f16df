//go:build linux

package player

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"probesim.dev/internal/runner/play/manifest"
	"probesim.dev/trace/traffic"
)

// service is the port on which a program serves the requests to its Service. It is open while the
// program listens.
type service struct {
	server    http.Server
	open      net.Listener
	listenOn  func() (net.Listener, error) // nil: the container serves no requests
	untilExit bool                         // see traffic.Connections
	listens   bool                         // the program does
	stops     bool                         // it got a stop signal
}

// serve makes the container serve requests if the scenario sends it some.
func (s *service) serve(streams []traffic.Entry, container string) {
	for _, e := range streams {
		if e.Container == "" || e.Container == container {
			s.server.Handler, s.untilExit = handler, e.Connections.UntilExit
			s.listenOn = func() (net.Listener, error) {
				return net.Listen("tcp", fmt.Sprintf(":%d", manifest.ServicePort))
			}
		}
	}
}

// update opens or closes the port. A program that stops closes its idle connections too.
func (s *service) update() (err error) {
	switch {
	case s.listenOn == nil || s.listens == (s.open != nil):
	case s.listens:
		if s.open, err = s.listenOn(); err != nil {
			s.open = nil
			return err
		}
		go s.server.Serve(s.open)
	case s.stops && !s.untilExit:
		s.open = nil
		go s.server.Shutdown(context.Background())
	default:
		s.open.Close()
		s.open = nil
	}
	return nil
}

// Headers of a request, which say how long it takes, and of an answer, which name its pod.
const (
	headerTakes = "Takes"
	headerPod   = "Pod"
)

// handler answers the requests.
var handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	takes, _ := time.ParseDuration(r.Header.Get(headerTakes))
	time.Sleep(takes)
	pod, _ := os.Hostname()
	w.Header().Set(headerPod, pod)
})
