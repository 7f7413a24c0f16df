package realkubelet

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"strings"
	"sync"
	"time"
)

// recordHandshake is the first byte of a client that speaks TLS.
const recordHandshake = 0x16

// serveTLS detects whether the client speaks TLS, and returns the connection with its reader. It
// reads the client's first bytes immediately, like a node's kernel, but a frozen program makes no
// handshake. If the request ends while the program is frozen, the reader is empty. protocols are
// the protocols that the server offers over TLS.
func serveTLS(conn net.Conn, op *pending, protocols ...string) (net.Conn, *bufio.Reader) {
	r := bufio.NewReader(conn)
	first, err := r.Peek(1)
	if err != nil || first[0] != recordHandshake {
		return conn, r
	}
	if !op.waitThawed() {
		return conn, bufio.NewReader(strings.NewReader(""))
	}
	op.secure = true
	secure := tls.Server(peeked{conn, r},
		&tls.Config{Certificates: []tls.Certificate{certificate()}, NextProtos: protocols})
	return secure, bufio.NewReader(secure)
}

// peeked is a connection with bytes that were read ahead.
type peeked struct {
	net.Conn
	r *bufio.Reader
}

func (p peeked) Read(b []byte) (int, error) { return p.r.Read(b) }

// certificate returns a self-signed certificate. The kubelet does not verify it.
var certificate = sync.OnceValue(func() tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().AddDate(100, 0, 0)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		panic(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
})
