package random

import (
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// handlers are the handlers of probes.
var handlers = []weighted[string]{{48, "exec"}, {32, "httpGet"}, {8, "tcpSocket"}, {12, "grpc"}}

// putHandler adds a handler to a probe and returns the name of the handler.
func (g *generator) putHandler(c *container, probe *yaml.Node) string {
	name, n := pick(&g.rng, handlers), inline()
	put(probe, name, n)
	switch name {
	case "exec":
		put(n, "command", texts(one(&g.rng, g.commands(c)...)...))
	case "httpGet":
		g.putHTTPGet(c, n)
	case "tcpSocket":
		put(n, "port", g.port(c))
		g.putHost(n)
	case "grpc":
		put(n, "port", number(one(&g.rng, 5000, 50051)))
		if g.percent(40) {
			put(n, "service", text(one(&g.rng, "", "live")))
		}
		if aside := g.aside(); aside.percent(40) { // the API server drops this field while its feature gate is off
			put(n, "mode", text(one(&aside.rng, "TLS", "TLS", "Plaintext")))
		}
	}
	return name
}

func (g *generator) putHTTPGet(c *container, n *yaml.Node) {
	if g.percent(75) {
		put(n, "path", text(one(&g.rng, "/healthz", "/ready?full=1&x", "live", "/a b/%2f/é", "//elsewhere/up", "")))
	}
	put(n, "port", g.port(c))
	if g.percent(25) {
		put(n, "scheme", text("HTTPS"))
	}
	g.putHost(n)
	g.putProtocol(c, n)
	if g.percent(15) {
		header := inline()
		put(header, "name", text(one(&g.rng, "Host", "accept", "X-Probe")))
		put(header, "value", text(one(&g.rng, "", "shop.example.com")))
		put(n, "httpHeaders", list(header))
	}
}

// putProtocol sets the protocol of some requests, usually to HTTP/2 without TLS. The API server
// rejects a host with HTTP/2.
func (g *generator) putProtocol(c *container, n *yaml.Node) {
	aside := g.aside()
	if has(n, "scheme") || has(n, "host") || !aside.percent(15) {
		return
	}
	protocol := one(&aside.rng, "HTTP2", "HTTP2", "HTTP2", "HTTP1")
	put(n, "protocol", text(protocol))
	c.http2 = c.http2 || protocol == "HTTP2"
}

// putHost sets the host of some requests.
func (g *generator) putHost(n *yaml.Node) {
	if !g.percent(7) {
		return
	}
	host, aside := one(&g.rng, "10.0.0.9", "127.0.0.1", "::1", "::ffff:10.1.2.3"), g.aside()
	if aside.percent(40) {
		host = one(&aside.rng, "localhost", "Localhost", "localhost.", "shop.example.com", "localhost:80")
	}
	put(n, "host", text(host))
}

// port returns a port by its number or by its name. Sometimes the name does not exist.
func (g *generator) port(c *container) *yaml.Node {
	if g.percent(70) {
		return number(one(&g.rng, 80, 443, 8080, 65535))
	}
	if g.percent(8) {
		return text("nowhere")
	}
	if !has(c.spec, "ports") {
		web := inline()
		put(web, "name", text("web"))
		put(web, "containerPort", number(g.between(1, 65535)))
		put(c.spec, "ports", list(web))
	}
	return text("web")
}

// handlers returns the distinct handlers of the probes or the hook of a key.
func (b *program) handlers(key string) []string {
	var names []string
	seen := map[string]bool{}
	for _, p := range b.container.probes {
		if (key == p.key || key == "probes") && !seen[p.handler] {
			seen[p.handler] = true
			names = append(names, p.handler)
		}
	}
	for _, hook := range b.container.hooks {
		if key == hook.key {
			names = append(names, hook.handler)
		}
	}
	return names
}

// wordsOf has the kinds of answers that a handler can give, in addition to ok, fail, down, hang,
// stall and late.
var wordsOf = map[string]map[string]bool{
	"exec":    {"error": true, anyCode: true, named: true},
	"httpGet": {"error": true, "warn": true, anyCode: true, named: true},
	"grpc":    {anyCode: true, named: true},
}

// fit returns kind if all handlers of a key can give such an answer, and otherwise another kind.
// Codes and named answers need a single handler.
func (b *program) fit(kind, key string) string {
	names := b.handlers(key)
	switch kind {
	case anyCode, named:
		if len(names) == 1 && wordsOf[names[0]][kind] {
			return kind
		}
		return "fail"
	case zero:
		if len(names) == 1 && names[0] == "exec" {
			return kind
		}
		return "ok"
	case "error", "warn":
		for _, name := range names {
			if !wordsOf[name][kind] {
				return "fail"
			}
		}
	}
	return kind
}

// grpcCodes are the possible statuses of a gRPC health check.
var grpcCodes = []string{"SERVING", "NOT_SERVING", "UNKNOWN", "SERVICE_UNKNOWN", "UNIMPLEMENTED", "NOT_FOUND",
	"UNAVAILABLE", "DEADLINE_EXCEEDED"}

// namedGRPC returns a named answer of a gRPC health check.
func (b *program) namedGRPC(name string) *yaml.Node {
	n := inline()
	put(n, "name", text(name))
	if name == "draining" {
		put(n, "code", text(one(&b.rng, grpcCodes...)))
	} else {
		put(n, "transportError", text("tls: first record does not look like a TLS handshake"))
	}
	return n
}

// namedHTTP returns a named answer of an HTTP request.
func (b *program) namedHTTP(name string) *yaml.Node {
	n := inline()
	put(n, "name", text(name))
	switch name {
	case "moved":
		put(n, "code", number(one(&b.rng, 301, 302, 303, 307, 308)))
		put(n, "location", b.location("/up", "up/", "?again", "http://10.64.0.1/", "https://10.64.0.1:81/up",
			"//10.64.0.1:82"))
		put(n, "then", text(one(&b.rng, "ok", "fail", "hang", "down", "moved", "moved", "moved", "moved",
			"moved in 20ms", "ok in 900ms", "moved in 300ms", "error", "warn")))
	case "away":
		put(n, "code", number(one(&b.rng, 302, 307)))
		put(n, "location", b.location("http://example.com/", "https://10.9.9.9/up"))
		put(n, "body", text(b.body()))
	case "odd":
		put(n, "code", number(one(&b.rng, 101, 103, 204, 299, 300, 304, 399, 400, 429, 599)))
		put(n, "body", text(b.body()))
	default:
		put(n, "transportError", text(one(&b.rng, "read: connection reset by peer",
			"http: server gave HTTP response to HTTPS client")))
	}
	b.putBodyEnd(n)
	return n
}

// putBodyEnd lets the bodies of some answers end after their header.
func (b *program) putBodyEnd(answer *yaml.Node) {
	aside, code := b.aside(), get(answer, "code")
	if code == nil || !aside.percent(25) {
		return
	}
	switch code.Value {
	case "101", "103", "204", "304": // without a body
		return
	}
	end := aside.draw(aside.time(50*time.Millisecond, 3*time.Second))
	if aside.percent(35) {
		end = "never"
	}
	put(answer, "bodyEnd", text(end))
}

// location returns one of the targets for a redirect. Targets of requests over HTTP/2 without TLS
// do not use https.
func (b *program) location(targets ...string) *yaml.Node {
	target := one(&b.rng, targets...)
	if b.container.http2 {
		target = strings.Replace(target, "https:", "http:", 1)
	}
	return text(target)
}
