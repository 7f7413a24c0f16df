package realkubelet

import (
	"net"
	"net/http"
	"strconv"

	"probesim.dev/fakeruntime"
)

// h2Preface is the connection preface of an HTTP/2 client (RFC 9113, 3.4).
const h2Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// serveH2 answers the request of a client that speaks HTTP/2 with prior knowledge. A frozen program does not
// even send the server preface.
func serveH2(conn net.Conn, op *pending) {
	if !op.waitThawed() {
		return
	}
	server := &http.Server{Protocols: new(http.Protocols), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if done := op.wait(); done.Reply == fakeruntime.Answered {
			respondH2(conn, w, done.Answer.Respond(r), op)
		} else {
			conn.Close()
		}
	})}
	server.Protocols.SetUnencryptedHTTP2(true)
	listener := &onlyListener{conn: conn, stopped: make(chan struct{})}
	server.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			_ = listener.Close()
		}
	}
	go func() {
		if op.wait().Reply != fakeruntime.Answered { // whether or not a request waits for the answer
			conn.Close()
		}
	}()
	_ = server.Serve(listener) // returns when the connection is closed
}

// respondH2 writes the program's response.
func respondH2(conn net.Conn, w http.ResponseWriter, r fakeruntime.Response, op *pending) {
	if r.HangsUp {
		conn.Close()
		return
	}
	if r.Location != "" {
		w.Header().Set("Location", r.Location)
	}
	if r.BreaksOff {
		w.Header().Set("Content-Length", strconv.Itoa(len(r.Body)+1))
	}
	w.WriteHeader(r.Code)
	if r.Code < http.StatusOK { // an informational response has no body; a body would start the final response
		conn.Close()
		return
	}
	_, _ = w.Write([]byte(r.Body))
	if r.BodyPending {
		_ = http.NewResponseController(w).Flush()
		if !op.waitForBody() {
			conn.Close()
		}
		return
	}
	if r.BreaksOff {
		_ = http.NewResponseController(w).Flush()
		conn.Close()
	}
}
