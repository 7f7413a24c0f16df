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

// recordHandshake is the first byte that a client sends who speaks TLS.
const recordHandshake = 0x16

// serveTLS takes what a client begins with as it is meant, and returns the connection with what is to be
// read from it. What the client sends is taken at once, as a node's kernel does it, but a program that is
// frozen makes no handshake: if it ends like that there is nothing to be read. Protocols are those that it speaks over TLS.
func serveTLS(conn net.Conn, op *pending, protocols ...string) (net.Conn, *bufio.Reader) {
	r := bufio.NewReader(conn)
	first, err := r.Peek(1)
	if err != nil || first[0] != recordHandshake {
		return conn, r
	}
	if !op.thaws() {
		return conn, bufio.NewReader(strings.NewReader(""))
	}
	secure := tls.Server(peeked{conn, r}, &tls.Config{Certificates: []tls.Certificate{certificate()}, NextProtos: protocols})
	return secure, bufio.NewReader(secure)
}

// peeked is a connection of which something was read ahead.
type peeked struct {
	net.Conn
	r *bufio.Reader
}

func (p peeked) Read(b []byte) (int, error) { return p.r.Read(b) }

// certificate is one that nobody has signed: the kubelet does not look.
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
