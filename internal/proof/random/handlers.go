package random

import (
	"slices"
	"strings"
	"time"
)

// handlers are the handlers of probes.
var handlers = []weighted[string]{{48, "exec"}, {32, "httpGet"}, {8, "tcpSocket"}, {12, "grpc"}}

// action draws the field of a probe's handler.
func (g *generator) action(c *container, handler string) tree {
	switch handler {
	case "exec":
		return inline("command", one(&g.rng, g.commands(c)...))
	case "httpGet":
		return g.httpGet(c)
	case "tcpSocket":
		return inline("port", g.port(c), "host", g.host())
	}
	n := inline("port", one(&g.rng, 5000, 50051), "service", g.maybe(40, func() any { return one(&g.rng, "", "live") }))
	aside := g.aside() // the API server drops the mode while its feature gate is off
	return put(n, "mode", aside.maybe(40, func() any { return one(&aside.rng, "TLS", "TLS", "Plaintext") }))
}

func (g *generator) httpGet(c *container) tree {
	n := inline("path", g.maybe(75, func() any {
		return one(&g.rng, "/healthz", "/ready?full=1&x", "live", "/a b/%2f/é", "//elsewhere/up", "")
	}))
	put(n, "port", g.port(c), "scheme", g.maybe(25, "HTTPS"), "host", g.host())
	g.putProtocol(c, n)
	if g.percent(15) {
		name := one(&g.rng, "Host", "accept", "X-Probe")
		add(n, "httpHeaders", inline("name", name, "value", one(&g.rng, "", "shop.example.com")))
	}
	return n
}

// putProtocol sets the protocol of some requests, usually to HTTP/2 without TLS. The API server
// rejects a host with HTTP/2.
func (g *generator) putProtocol(c *container, n tree) {
	aside := g.aside()
	if has(n, "scheme") || has(n, "host") || !aside.percent(15) {
		return
	}
	protocol := one(&aside.rng, "HTTP2", "HTTP2", "HTTP2", "HTTP1")
	put(n, "protocol", protocol)
	c.http2 = c.http2 || protocol == "HTTP2"
}

// host returns the host of some requests, and nil for others.
func (g *generator) host() any {
	if !g.percent(7) {
		return nil
	}
	host, aside := one(&g.rng, "10.0.0.9", "127.0.0.1", "::1", "::ffff:10.1.2.3"), g.aside()
	if aside.percent(40) {
		host = one(&aside.rng, "localhost", "Localhost", "localhost.", "shop.example.com", "localhost:80")
	}
	return host
}

// port returns a port by its number or by its name. Sometimes the name does not exist.
func (g *generator) port(c *container) any {
	if g.percent(70) {
		return one(&g.rng, 80, 443, 8080, 65535)
	}
	if g.percent(8) {
		return "nowhere"
	}
	if !has(c.spec, "ports") {
		add(c.spec, "ports", inline("name", "web", "containerPort", g.between(1, 65535)))
	}
	return "web"
}

// handlers returns the distinct handlers of the probes or the hook of a key.
func (b *program) handlers(key string) []string {
	var names []string
	for _, p := range b.container.probes {
		if (key == p.key || key == "probes") && !slices.Contains(names, p.handler) {
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
var grpcCodes = []string{"SERVING", "NOT_SERVING", "UNKNOWN", "SERVICE_UNKNOWN", "UNIMPLEMENTED",
	"NOT_FOUND", "UNAVAILABLE", "DEADLINE_EXCEEDED"}

// namedGRPC returns a named answer of a gRPC health check.
func (b *program) namedGRPC(name string) tree {
	if name == "draining" {
		return inline("name", name, "code", one(&b.rng, grpcCodes...))
	}
	return inline("name", name, "transportError", "tls: first record does not look like a TLS handshake")
}

// namedHTTP returns a named answer of an HTTP request.
func (b *program) namedHTTP(name string) tree {
	n := inline("name", name)
	switch name {
	case "moved":
		put(n, "code", one(&b.rng, 301, 302, 303, 307, 308))
		put(n, "location", b.location("/up", "up/", "?again", "http://10.64.0.1/", "https://10.64.0.1:81/up",
			"//10.64.0.1:82"))
		put(n, "then", one(&b.rng, "ok", "fail", "hang", "down", "moved", "moved", "moved", "moved", "moved in 20ms",
			"ok in 900ms", "moved in 300ms", "error", "warn"))
	case "away":
		put(n, "code", one(&b.rng, 302, 307))
		put(n, "location", b.location("http://example.com/", "https://10.9.9.9/up"), "body", b.body())
	case "odd":
		put(n, "code", one(&b.rng, 101, 103, 204, 299, 300, 304, 399, 400, 429, 599), "body", b.body())
	default:
		put(n, "transportError", one(&b.rng, "read: connection reset by peer",
			"http: server gave HTTP response to HTTPS client"))
	}
	b.putBodyEnd(n)
	return n
}

// putBodyEnd lets the bodies of some answers end after their header.
func (b *program) putBodyEnd(answer tree) {
	aside, code := b.aside(), textOf(answer, "code")
	bodyless := slices.Contains([]string{"101", "103", "204", "304"}, code)
	if code == "" || !aside.percent(25) || bodyless {
		return
	}
	end := aside.draw(aside.time(50*time.Millisecond, 3*time.Second))
	if aside.percent(35) {
		end = "never"
	}
	put(answer, "bodyEnd", end)
}

// location returns one of the targets for a redirect. Targets of requests over HTTP/2 without TLS
// do not use https.
func (b *program) location(targets ...string) string {
	target := one(&b.rng, targets...)
	if b.container.http2 {
		target = strings.Replace(target, "https:", "http:", 1)
	}
	return target
}

// probe is a probe of a container.
type probe struct {
	key     string        // the key in rules: liveness, readiness or startup
	handler string        // exec, httpGet, …
	action  tree          // the field of the handler
	timeout time.Duration // timeoutSeconds
}

// probe returns the probe of the container with a key, or nil.
func (c *container) probe(key string) *probe {
	for _, p := range c.probes {
		if p.key == key {
			return p
		}
	}
	return nil
}

// combinations are the combinations of probes in a container.
var combinations = []weighted[string]{
	{6, ""}, {15, "liveness"}, {14, "readiness"}, {8, "startup"}, {19, "liveness readiness"},
	{10, "startup liveness"}, {8, "startup readiness"}, {20, "startup liveness readiness"},
}

// mostSeconds is the longest period of a probe in a scenario with rollouts.
const mostSeconds = 60

// Values of the fields of probes.
var (
	periods = []weighted[span]{
		{12, span{1, 1}}, {12, span{2, 2}}, {8, span{3, 3}}, {16, span{5, 5}},
		{18, span{10, 10}}, {28, span{1, 20}}, {4, span{30, 30}}, {2, span{60, 3600}},
	}
	timeouts          = []weighted[span]{{30, span{1, 1}}, {40, span{2, 5}}, {20, span{6, 10}}, {10, span{11, 30}}}
	initialDelays     = []weighted[span]{{60, span{1, 10}}, {25, span{11, 30}}, {15, span{31, 60}}}
	failureThresholds = []weighted[span]{{35, span{1, 1}}, {55, span{2, 5}}, {10, span{100, 100}}}
	startupThresholds = []weighted[span]{
		{40, span{1, 5}}, {40, span{6, 30}},
		{15, span{60, 60}}, {5, span{100, 100}},
	}
	successThresholds = []weighted[span]{{40, span{2, 2}}, {60, span{1, 4}}}
	probeGraces       = []weighted[span]{{60, span{1, 5}}, {30, span{6, 40}}, {10, span{300, 300}}}
)

const (
	defaultPeriod  = 10
	defaultTimeout = 1
)

// probe adds a probe to the container and returns its manifest.
func (g *generator) probe(c *container, key string) tree {
	p := &probe{key: key, handler: pick(&g.rng, handlers)}
	p.action = g.action(c, p.handler)
	n := block(p.handler, p.action, "initialDelaySeconds", g.maybeNumber(45, initialDelays))
	period, timeout := defaultPeriod, defaultTimeout
	if g.percent(70) {
		period = g.number(periods)
		if g.options.Rollouts {
			// workers of longer periods than the age of the kubelet start at random times
			period = min(period, mostSeconds)
		}
		put(n, "periodSeconds", period)
	}
	if g.percent(55) {
		timeout = g.timeout(period)
		put(n, "timeoutSeconds", timeout)
	}
	if key == "startup" {
		put(n, "failureThreshold", g.maybeNumber(75, startupThresholds))
	} else {
		put(n, "failureThreshold", g.maybeNumber(60, failureThresholds))
	}
	if key == "readiness" {
		put(n, "successThreshold", g.maybeNumber(35, successThresholds))
	} else {
		put(n, "successThreshold", g.maybeNumber(5, []weighted[span]{{1, span{1, 1}}}))
		put(n, "terminationGracePeriodSeconds", g.maybeNumber(15, probeGraces))
	}
	p.timeout = time.Duration(timeout) * time.Second
	c.probes = append(c.probes, p)
	return n
}

func (g *generator) timeout(period int) int {
	if g.percent(g.temper.odd) {
		return min(period, 60) + g.between(0, 10) // the period or more
	}
	return g.number(timeouts)
}

// commands returns possible commands for probes and hooks. The kubelet expands $(NAME) from the env
// of the container.
func (g *generator) commands(c *container) [][]string {
	commands := [][]string{{"cat", "/tmp/healthy"}, {"sh", "-c", "test -e /tmp/ready && echo up"}}
	if has(c.spec, "env") {
		commands = append(commands,
			[]string{"check", "--port=$(PORT)", "$(FILE)"},
			[]string{"sh", "-c", "test -e $(DIR)/$(PORT)"},
			[]string{"echo", "$$(PORT) $(NOWHERE) $(DIR) $HOME $"})
	}
	return commands
}
