package fakeruntime

import (
	"bufio"
	"bytes"
	"net/http"
	"strings"
)

// Response is what a program responds to an HTTP request.
type Response struct {
	Code      int
	Location  string
	Body      string
	BreaksOff bool // the connection ends before the body does
	HangsUp   bool // there is none: the connection ends
}

// Respond returns the response to a request, as Received returns it.
func (a *Answer) Respond(req *http.Request) Response {
	if a.Handler != nil && a.Word == Answers {
		return serve(a.Handler, req)
	}
	r := Response{Code: int(a.Code), Location: a.Location, Body: a.Body, BreaksOff: a.Word == Breaks}
	if r.Code == 0 {
		r.Code = http.StatusOK
	}
	return r
}

// Client is who makes a request.
type Client struct {
	Hook  bool // a lifecycle hook and not a probe
	HTTP2 bool // a probe over HTTP/2 without TLS
}

// Received returns the request that a client makes as a server has it, with what the client's transport adds: that of
// probes keeps no connections; that of lifecycle hooks does, and takes responses that are compressed (transport.go
// of Go 1.26). The programs of this package end the connection after each response.
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

// overHTTP2 makes a request that was read as one of HTTP/1.1 one of HTTP/2, which has no headers about the connection and
// leaves the values of others as they were sent (EncodeHeaders in internal/httpcommon of net/http of Go 1.26).
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

// serve has a handler respond. One that aborts hangs up, as in a server of package net/http.
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
	w.WriteHeader(http.StatusOK)
	return Response{Code: w.code, Location: w.header.Get("Location"), Body: w.body.String()}
}

// responseWriter takes the response of a handler.
type responseWriter struct {
	header http.Header
	code   int
	body   strings.Builder
}

func (w *responseWriter) Header() http.Header { return w.header }

// WriteHeader takes the first code that is not informational.
func (w *responseWriter) WriteHeader(code int) {
	if w.code == 0 && (code >= 200 || code == http.StatusSwitchingProtocols) {
		w.code = code
	}
}

func (w *responseWriter) Write(data []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(data)
}
