package program

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/lists"
	"probesim.dev/internal/podutil"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/strict"
)

// Endpoint is a place where the program in a container answers. Several probes and hooks can ask at
// one endpoint.
type Endpoint struct {
	// Text is the endpoint in the notation of rules, with the port as the manifest has it:
	//
	//	http:management/actuator/health   https:8443/healthz   tcp:5432   grpc:9000/service   exec:cat /tmp/healthy
	Text string
	// Keys are the names of its probes and hooks in rules: liveness, readiness, startup, postStart,
	// preStop.
	Keys []string

	id      string
	handler *handler
}

// Endpoints returns the endpoints of a container, in the order of liveness, readiness, startup,
// postStart and preStop.
func Endpoints(c *v1.Container) []Endpoint { return newEndpoints(c).list }

// FindEndpoint returns the endpoint of a container that a text denotes, in the notation of rules.
func FindEndpoint(c *v1.Container, text string) (Endpoint, bool) {
	if e := newEndpoints(c).find(text); e != nil {
		return *e, true
	}
	return Endpoint{}, false
}

// endpoints are the endpoints of a container.
type endpoints struct {
	list  []Endpoint
	ports map[string]string // the numbers of the ports by name
}

func newEndpoints(c *v1.Container) *endpoints {
	all := &endpoints{ports: map[string]string{}}
	for _, port := range slices.Backward(c.Ports) { // the first port with a name counts
		all.ports[port.Name] = strconv.Itoa(int(port.ContainerPort))
	}
	for _, r := range podutil.Requests(c) {
		text := podutil.Endpoint(r.ProbeHandler)
		e := all.find(text)
		if e == nil {
			all.list = append(all.list, Endpoint{Text: text, id: all.id(text), handler: HandlerOf(r.ProbeHandler)})
			e = &all.list[len(all.list)-1]
		}
		e.Keys = append(e.Keys, r.Key)
	}
	return all
}

// find returns the endpoint that a text denotes, or nil.
func (all *endpoints) find(text string) *Endpoint {
	id := all.id(text)
	return lists.Find(all.list, func(x *Endpoint) bool { return x.id == id })
}

// id returns a text that is equal for all notations of one endpoint: it has the number of a port
// instead of its name, and the path / of HTTP even if it is empty.
func (all *endpoints) id(text string) string {
	scheme, rest, _ := strings.Cut(text, ":")
	if scheme == "exec" {
		return "exec:" + strings.Join(strings.Fields(rest), " ")
	}
	port, path, _ := strings.Cut(rest, "/")
	if number, named := all.ports[port]; named && port != "" {
		port = number
	}
	if path == "" && !strings.HasPrefix(scheme, "http") {
		return scheme + ":" + port
	}
	return scheme + ":" + port + "/" + path
}

// unknown says that no probe or hook of a container asks at an endpoint, and where they ask.
func (all *endpoints) unknown(text, container string) string {
	if len(all.list) == 0 {
		return fmt.Sprintf("the container %s has no probe or hook that asks its program", container)
	}
	var texts, notations []string
	for _, e := range all.list {
		texts = append(texts, shown(e.Text))
		notations = append(notations, all.notations(e.Text)...)
	}
	message := fmt.Sprintf("no probe or hook of the container %s asks there", container)
	if meant := strict.Nearest(text, notations); meant != "" {
		return message + " (did you mean " + shown(meant) + "?)"
	}
	return message + "; they ask at " + strings.Join(texts, ", ")
}

// notations returns the ways to write an endpoint: as it is written, with the number of its port,
// and with each name of this port.
func (all *endpoints) notations(text string) []string {
	list := []string{text, all.id(text)}
	scheme, rest, _ := strings.Cut(list[1], ":")
	number, path, hasPath := strings.Cut(rest, "/")
	for _, name := range slices.Sorted(maps.Keys(all.ports)) {
		if name != "" && scheme != "exec" && all.ports[name] == number && len(list) < strict.MaxSuggestions {
			named := scheme + ":" + name
			if hasPath {
				named += "/" + path
			}
			list = append(list, named)
		}
	}
	return list
}

// shown returns an endpoint for a message: a command can be long.
func shown(text string) string {
	const longest = 200
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + "…"
	}
	return printable.Text(strconv.Quote(text))
}
