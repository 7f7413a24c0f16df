package prober

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"probesim.dev/sim"
)

// pages is a network with a reply for each path. It keeps the requests.
type pages struct {
	replies  map[string]Reply
	requests []string
}

func (n *pages) Connect(_ *sim.Proc, c Connection) Reply {
	n.requests = append(n.requests, c.Request.Method+" "+c.Request.URL.String()+" "+
		c.Request.Header.Get("Authorization"))
	return n.replies[c.Request.URL.Path]
}

// A probe has the result and makes the requests of a client that makes all of them.
func TestGetDoesWhatAClientDoes(t *testing.T) {
	for name, c := range map[string]struct {
		url     string
		replies map[string]Reply
	}{
		"success": {"http://10.0.0.1:80/a", map[string]Reply{"/a": {Code: 200, Body: "fine"}}},
		"failure": {"http://10.0.0.1:80/a", map[string]Reply{"/a": {Code: 503}}},
		"refused": {"http://10.0.0.1:80/a", map[string]Reply{"/a": {Refused: true}}},
		"no host": {"mailto:somebody", nil},
		"redirect": {"http://10.0.0.1:80/a",
			map[string]Reply{"/a": {Code: 302, Location: "/b"}, "/b": {Code: 200}}},
		"redirect to refused": {"http://10.0.0.1:80/a",
			map[string]Reply{"/a": {Code: 307, Location: "/b"}, "/b": {Refused: true}}},
		"redirect to nowhere":  {"http://10.0.0.1:80/a", map[string]Reply{"/a": {Code: 301, Location: "http://%zz"}}},
		"redirect without end": {"http://10.0.0.1:80/a", map[string]Reply{"/a": {Code: 301, Location: "/a"}}},
		"another host": {"http://10.0.0.1:80/a",
			map[string]Reply{"/a": {Code: 302, Location: "http://10.0.0.2/b"}}},
		"no Location":      {"http://10.0.0.1:80/a", map[string]Reply{"/a": {Code: 302}}},
		"useless Location": {"http://10.0.0.1:80/a", map[string]Reply{"/a": {Code: 200, Location: "/b"}}},
		"user":             {"http://me:secret@10.0.0.1:80/a", map[string]Reply{"/a": {Code: 200}}},
		"user, refused":    {"http://me:secret@10.0.0.1:80/a", map[string]Reply{"/a": {Refused: true}}},
		"user, redirect": {"http://me:secret@10.0.0.1:80/a",
			map[string]Reply{"/a": {Code: 302, Location: "/b"}, "/b": {Code: 200}}},
	} {
		t.Run(name, func(t *testing.T) {
			probe := func(do func(*Transport, *http.Request) (*http.Response, error)) []string {
				network := &pages{replies: c.replies}
				s := sim.New(sim.Options{})
				defer s.Close()
				var result outcome
				s.Go("probe", func(p *sim.Proc) {
					req, err := http.NewRequest(http.MethodGet, c.url, nil)
					if err != nil {
						t.Error(err)
						return
					}
					res, err := do(&Transport{Network: network, Proc: p}, req)
					if err != nil {
						result = failure(err.Error())
						return
					}
					result = responseOutcome(res)
				})
				if err := s.RunUntil(0); err != nil {
					t.Fatal(err)
				}
				return append(network.requests, string(result.result)+" "+result.message)
			}
			client := probe(func(t *Transport, req *http.Request) (*http.Response, error) {
				return NewClient(t).Do(req)
			})
			if diff := cmp.Diff(client, probe(get)); diff != "" {
				t.Errorf("a client gets something else (-client +get):\n%s", diff)
			}
		})
	}
}
