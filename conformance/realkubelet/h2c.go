package realkubelet

import (
	"net"
	"net/http"
	"strconv"

	"probesim.dev/fakeruntime"
)

// h2Preface is the connection preface of an HTTP/2 client (RFC 9113, 3.4).
const h2Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

// serveH2 answers the request of a client that speaks HTTP/2 with prior knowledge. client is the
// other end of the connection.
//
// All probes of a kubelet share one transport (pkg/probe/http/http.go). If two probes connect to
// one address at one instant, the transport may drop one of the connections, send either request
// over the other connection, and connect again for the request that is left (addConnIfNeeded in
// h2_bundle.go of Go 1.26, "Turns out we don't need this c"). It never sends two requests over one
// connection, because it disables keep-alives. Therefore the tag of the request says whose it is,
// and not the connection.
func serveH2(conn net.Conn, n *network, client *kubeletConn) {
	server := &http.Server{Protocols: new(http.Protocols),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			c, asks := n.http2.Load(parseRequester(r.Header.Get(tagHeader)))
			if !asks { // the client has given up
				conn.Close()
				return
			}
			r.Header.Del(tagHeader)
			client.op = c.(*connections).arrive()
			if done := client.op.wait(); done.Reply == fakeruntime.Answered {
				respondH2(conn, w, done.Answer.Respond(r), client.op)
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
