package realkubelet

import (
	"context"
	"net/http"
)

// hookClient wraps the kubelet's client for httpGet hooks.
type hookClient struct {
	*http.Client // the real one
	network      *network
}

func newHookClient(n *network, real *http.Client) *hookClient {
	real.Transport.(*http.Transport).DialContext = dialHTTP
	return &hookClient{real, n}
}

// repeatedHeader marks a request that was sent before, because the kubelet copies the request when
// it sends it again.
const repeatedHeader = "Probesim-Repeated"

// Do makes the request with the real client, and passes the requester to the transport. In a
// kubelet that is cut off it does not return.
func (h *hookClient) Do(req *http.Request) (*http.Response, error) {
	h.network.driver.blockIfCut()
	c := &connections{attempt: attempt{network: h.network, requester: parseRequester(req.Header.Get(tagHeader))}}
	if req.Header.Get(repeatedHeader) != "" {
		c.follows = true
	}
	sent := req.Clone(context.WithValue(req.Context(), connectionsKey{}, c))
	sent.Header.Del(tagHeader)
	sent.Header.Del(repeatedHeader)
	req.Header.Set(repeatedHeader, "once")
	res, err := h.Client.Do(sent)
	h.network.driver.blockIfCut()
	return res, err
}
