package fakeruntime

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"net/http"
	"strings"
)

// Response is the response of a program to an HTTP request.
type Response struct {
	Code      int
	Location  string
	Body      string
	BreaksOff bool // the connection closes before the end of the body
	// BodyPending reports that the response has not ended with Body: a call of HTTPBody waits for
	// its end.
	BodyPending bool
	HangsUp     bool // the connection closes without a response
}

// Respond returns the response to a request, which must be a result of Received. It calls the
// Handler of the answer if there is one. A panic of the handler other than http.ErrAbortHandler is
// a bug in the handler and continues to the caller; package probetest guards handlers of tests
// against it.
func (a *Answer) Respond(req *http.Request) Response {
	if a.Handler != nil && a.Word == Answers {
		return serve(a.Handler, req)
	}
	r := Response{Code: int(a.Code), Location: a.Location, Body: a.Body, BreaksOff: a.Word == Breaks}
	if r.Code == 0 {
		r.Code = http.StatusOK
	}
	r.BodyPending = (a.BodyEnd != nil || a.BodyOpen) && HasBody(r.Code)
	return r
}

// HasBody reports whether a response with a status code has a body (RFC 9110, 6.4.1).
func HasBody(code int) bool {
	return code >= 200 && code != http.StatusNoContent && code != http.StatusNotModified
}

// Client is the kind of client that makes a request.
type Client struct {
	Hook  bool // a lifecycle hook; false: a probe
	HTTP2 bool // a probe over HTTP/2 without TLS
}

// Received converts a request of a client to the request that the server receives, with the headers
// that the client's transport adds. The transport of probes does not reuse connections; the
// transport of lifecycle hooks does, and accepts compressed responses (transport.go of Go 1.26).
// The programs of this package close the connection after each response.
func Received(req *http.Request, c Client) (*http.Request, error) {
	out := req.Clone(req.Context())
	switch {
	case c.Hook:
		if out.Header.Get("Accept-Encoding") == "" && out.Header.Get("Range") == "" {
			out.Header.Set("Accept-Encoding", "gzip")
		}
	case !strings.Contains(strings.ToLower(out.Header.Get("Connection")), "close"):
		out.Header.Add("Connection", "close")
	}
	var wire bytes.Buffer
	if err := out.Write(&wire); err != nil {
		return nil, err
	}
	received, err := http.ReadRequest(bufio.NewReader(&wire))
	if err == nil && c.HTTP2 {
		overHTTP2(received, out.Header)
	}
	return received, err
}

// overHTTP2 converts a request that was read as HTTP/1.1 to HTTP/2, which has no headers about the
// connection and transmits the values of other headers unchanged (EncodeHeaders in
// internal/httpcommon of net/http of Go 1.26).
func overHTTP2(req *http.Request, sent http.Header) {
	req.Proto, req.ProtoMajor, req.ProtoMinor, req.Close = "HTTP/2.0", 2, 0, false
	for _, name := range []string{"Connection", "Proxy-Connection", "Transfer-Encoding", "Upgrade", "Keep-Alive"} {
		req.Header.Del(name)
	}
	for name, values := range req.Header {
		if len(values) == len(sent[name]) {
			req.Header[name] = sent[name]
		}
	}
}

// serve returns the response of a handler. http.ErrAbortHandler closes the connection, as in a
// server of net/http.
func serve(h http.Handler, req *http.Request) (r Response) {
	w := responseWriter{header: http.Header{}}
	defer func() {
		switch p := recover(); p {
		case nil:
		case http.ErrAbortHandler:
			r = Response{HangsUp: true}
		default:
			panic(p)
		}
	}()
	h.ServeHTTP(&w, req)
	w.Flush()
	return Response{Code: w.code, Location: w.sent.Get("Location"), Body: w.body.String()}
}

// responseWriter collects the response of a handler.
type responseWriter struct {
	header http.Header
	code   int         // the first one that is not informational; 0: none yet
	sent   http.Header // the header at the time of the code, as clients get it
	body   strings.Builder
}

// maxBody is the part of a body that a response keeps. The kubelet reads 10 KiB (maxRespBodyLength
// in pkg/probe/http/http.go at v1.37.0).
const maxBody = 1 << 20

func (w *responseWriter) Header() http.Header { return w.header }

// WriteHeader panics for an invalid status code, as net/http does.
func (w *responseWriter) WriteHeader(code int) {
	if code < 100 || code > 999 {
		panic(fmt.Sprintf("invalid WriteHeader code %d", code))
	}
	if w.code == 0 && (code >= 200 || code == http.StatusSwitchingProtocols) {
		w.code, w.sent = code, w.header.Clone()
	}
}

func (w *responseWriter) Write(data []byte) (int, error) {
	w.Flush()
	w.body.Write(data[:min(len(data), maxBody-w.body.Len())])
	return len(data), nil
}

// Flush implements http.Flusher. The client gets the response at once when the handler returns.
func (w *responseWriter) Flush() { w.WriteHeader(http.StatusOK) }

// Hijack implements http.Hijacker, as servers of HTTP/1 do. It always fails.
func (w *responseWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return nil, nil, fmt.Errorf("the simulation has no connection to hijack: %w", http.ErrNotSupported)
}

// Health returns the response to a gRPC health check: the status, SERVING unless the answer sets
// another, and the message that a server of google.golang.org/grpc v1.82.1 sends with an error.
func (a *Answer) Health() (status, message string) {
	switch a.Status {
	case "":
		return "SERVING", ""
	case "UNIMPLEMENTED":
		return a.Status, "unknown service grpc.health.v1.Health"
	case "NOT_FOUND":
		return a.Status, "unknown service"
	}
	return a.Status, ""
}
