package realcontrollers

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"probesim.dev/internal/world/apiserver/store"
	"probesim.dev/sim/virtual"
)

// watcher is a watch. It receives each change when it is due. A change never overtakes the one
// before it.
type watcher struct {
	server  *Server
	name    string // as in controller.Delays
	kind    store.Kind
	last    virtual.Time // when the last change is due
	queue   []store.Change
	receive func(store.Change)
}

func watchName(component string, kind store.Kind) string {
	return component + " watch of " + string(kind)
}

// follow starts a watch of a component. The caller holds the lock.
func (s *Server) follow(component string, kind store.Kind, receive func(store.Change)) {
	s.watchers = append(s.watchers, &watcher{server: s, name: watchName(component, kind), kind: kind, receive: receive})
}

func (w *watcher) send(c store.Change) {
	s := w.server
	w.last = max(w.last, s.Now().Add(s.Delays.Watch(w.name, c)))
	w.queue = append(w.queue, c)
	s.later(w.last.Sub(s.Now()), func() {
		first := w.queue[0]
		w.queue = w.queue[1:]
		w.receive(first)
	})
}

// watch serves a watch of a component: it sends the objects that exist, a bookmark, and then each
// change.
func (s *Server) watch(component string, r *http.Request, kind store.Kind) *http.Response {
	b := &body{ctx: r.Context(), filled: make(chan struct{}, 1)}
	s.locked(func() {
		if kind == nodes {
			b.send("ADDED", kind, node())
		}
		for _, o := range s.Store.List(kind) {
			b.send("ADDED", kind, o)
		}
		empty, _ := scheme.Scheme.New(kinds[kind])
		mark := empty.(store.Object)
		mark.SetResourceVersion(strconv.FormatInt(s.Store.Version()+1, 10))
		mark.SetAnnotations(map[string]string{v1.InitialEventsAnnotationKey: "true"})
		b.send("BOOKMARK", kind, mark)
		s.follow(component, kind, func(c store.Change) { b.send(string(c.Type), kind, c.New) })
	})
	return &http.Response{
		StatusCode: http.StatusOK, Status: "OK", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: b, ContentLength: -1,
	}
}

// body is the response to a watch.
type body struct {
	ctx    context.Context
	filled chan struct{}
	rest   []byte // of the reader

	mu   sync.Mutex
	text []byte
}

func (b *body) send(event string, kind store.Kind, o store.Object) {
	b.mu.Lock()
	b.text = append(append(b.text, encode(map[string]any{"type": event, "object": typed(kind, o)})...), '\n')
	b.mu.Unlock()
	select {
	case b.filled <- struct{}{}:
	default:
	}
}

func (b *body) Read(to []byte) (int, error) {
	for len(b.rest) == 0 {
		select {
		case <-b.filled:
		case <-b.ctx.Done():
			return 0, io.EOF
		}
		b.mu.Lock()
		b.rest, b.text = b.text, nil
		b.mu.Unlock()
	}
	n := copy(to, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

func (b *body) Close() error { return nil }
