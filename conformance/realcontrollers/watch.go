package realcontrollers

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"probesim.dev/apiserver/store"
)

// watcher is a watch. Its events wait in a queue until they are due.
type watcher struct {
	name  string
	kind  store.Kind
	queue chan timed
	ready chan []byte // due events
}

type timed struct {
	at   time.Time
	text []byte
}

// watch starts a watch: it sends the objects that exist, a bookmark, and then each change.
func (s *server) watch(r *http.Request, component string, kind store.Kind) *http.Response {
	w := &watcher{name: watchName(component, kind), kind: kind, queue: make(chan timed, 1<<16), ready: make(chan []byte, 1<<16)}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watchers = append(s.watchers, w)
	if kind == nodes {
		w.send("ADDED", node(), 0)
	}
	for _, o := range s.store.List(kind) {
		w.send("ADDED", o, 0)
	}
	empty, _ := scheme.Scheme.New(kinds[kind])
	mark := empty.(store.Object)
	mark.SetResourceVersion(strconv.FormatInt(s.store.Version()+1, 10))
	mark.SetAnnotations(map[string]string{v1.InitialEventsAnnotationKey: "true"})
	w.send("BOOKMARK", mark, 0)
	go w.run(r.Context())
	return &http.Response{
		StatusCode: http.StatusOK, Status: "OK", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: &body{ctx: r.Context(), ready: w.ready}, ContentLength: -1,
	}
}

func (w *watcher) send(event string, o store.Object, lag time.Duration) {
	text := encode(map[string]any{"type": event, "object": typed(w.kind, o)})
	w.queue <- timed{time.Now().Add(lag), append(text, '\n')}
}

// run passes events on when they are due.
func (w *watcher) run(ctx context.Context) {
	for {
		select {
		case e := <-w.queue:
			time.Sleep(time.Until(e.at))
			w.ready <- e.text
		case <-ctx.Done():
			return
		}
	}
}

// body is the response to a watch.
type body struct {
	ctx   context.Context
	ready chan []byte
	rest  []byte
}

func (b *body) Read(to []byte) (int, error) {
	if len(b.rest) == 0 {
		select {
		case b.rest = <-b.ready:
		case <-b.ctx.Done():
			return 0, io.EOF
		}
	}
	n := copy(to, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

func (b *body) Close() error { return nil }
