//go:build linux

package player

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/podutil"
	"probesim.dev/internal/runner/play/manifest"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// port is a port of a probe or hook. It is open while the program does not refuse connections.
type port struct {
	manifest.Port
	*player
	open   net.Listener
	closed int // number of the rule that last decided about the port
}

// update opens or closes the port, and returns when the program may change its mind.
func (p *port) update(now virtual.Time) virtual.Time {
	probe, hook := requester(p.Key)
	refuses, rule, until := p.runtime.Refusal(now, p.pod, p.container, probe, hook)
	if refuses && rule != p.closed && rule > 0 { // the program sees no request that would tell of the rule
		p.write(trace.Record{T: now, Kind: trace.Behavior, Probe: probe, Reason: hook, Message: strconv.Itoa(rule)})
	}
	p.closed = rule
	switch {
	case refuses && p.open != nil:
		p.open.Close()
		p.open = nil
	case !refuses && p.open == nil:
		l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", fmt.Sprintf(":%d", p.Number))
		if err != nil {
			fmt.Fprintln(p.log, "probesim player:", err)
			return min(until, now.Add(10*time.Millisecond))
		}
		p.open = l
		go p.serve(l)
	}
	return until
}

func (p *port) serve(l net.Listener) {
	handler := podutil.HandlerOf(p.ProbeHandler)
	server := &http.Server{Handler: http.HandlerFunc(p.respond), Protocols: new(http.Protocols)}
	server.Protocols.SetHTTP1(true)
	server.Protocols.SetUnencryptedHTTP2(true)
	switch handler.Scheme {
	case "tcp":
		p.accept(l)
		return
	case "grpc":
		server.Handler = http.HandlerFunc(p.health)
	case "https":
		server.TLSConfig = &tls.Config{Certificates: []tls.Certificate{certificate()}}
		_ = server.ServeTLS(l, "", "")
		return
	}
	_ = server.Serve(l)
}

// accept serves TCP probes, which only connect.
func (p *port) accept(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			p.request(nil, fakeruntime.Call{Method: fakeruntime.TCPSocket}, p.Key)
		}()
	}
}

// respond answers an HTTP request.
func (p *port) respond(w http.ResponseWriter, req *http.Request) {
	w.Header().Set("Connection", "close")
	call := fakeruntime.Call{Method: fakeruntime.HTTPGet,
		Followed: req.URL.RequestURI() != "/"+strings.TrimPrefix(p.HTTPGet.Path, "/")}
	gone := req.Context().Done()
	op := p.request(gone, call, p.Key)
	if op == nil || op.Reply != fakeruntime.Answered || op.Answer == nil {
		panic(http.ErrAbortHandler)
	}
	r := op.Answer.Respond(req)
	if r.HangsUp {
		panic(http.ErrAbortHandler)
	}
	if r.Location != "" {
		w.Header().Set("Location", r.Location)
	}
	if r.BreaksOff {
		w.Header().Set("Content-Length", strconv.Itoa(len(r.Body)+1))
	}
	w.WriteHeader(r.Code)
	_, _ = w.Write([]byte(r.Body))
	if r.BodyPending {
		_ = http.NewResponseController(w).Flush()
		p.request(gone, fakeruntime.Call{Method: fakeruntime.HTTPBody, Ref: op.Ref(), Answer: op.Answer}, p.Key)
	}
	if r.BreaksOff {
		panic(http.ErrAbortHandler)
	}
}

// servingStatuses are the values of a health check (grpc.health.v1.HealthCheckResponse), and codes
// the names of gRPC status codes (google.golang.org/grpc/codes), by number.
var (
	servingStatuses = []string{"UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"}
	codes           = []string{"OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND",
		"ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE",
		"UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS", "UNAUTHENTICATED"}
)

// health answers a gRPC health check: a message with one number behind five bytes, or a status.
func (p *port) health(w http.ResponseWriter, req *http.Request) {
	op := p.request(req.Context().Done(), fakeruntime.Call{Method: fakeruntime.GRPC}, p.Key)
	if op == nil || op.Reply != fakeruntime.Answered || op.Answer == nil {
		panic(http.ErrAbortHandler)
	}
	word, message := op.Answer.Health()
	w.Header().Set("Content-Type", "application/grpc")
	if status := slices.Index(servingStatuses, word); status >= 0 {
		w.Header().Set("Trailer", "Grpc-Status")
		_, _ = w.Write([]byte{0, 0, 0, 0, 2, 1 << 3, byte(status)})
		w.Header().Set("Grpc-Status", "0")
		return
	}
	w.Header().Set("Grpc-Status", strconv.Itoa(max(slices.Index(codes, word), 0)))
	w.Header().Set("Grpc-Message", message)
}

// certificate returns a certificate for probes over HTTPS, which do not verify it.
var certificate = sync.OnceValue(func() tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err) // crypto/rand never fails
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().AddDate(1, 0, 0)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		panic(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
})
