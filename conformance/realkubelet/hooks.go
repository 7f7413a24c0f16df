package realkubelet

import (
	"context"
	"net/http"
)

// hookClient is what is around the client with which the kubelet makes the requests of httpGet hooks.
type hookClient struct {
	*http.Client // the real one
	network      *network
}

func newHookClient(n *network, real *http.Client) *hookClient {
	real.Transport.(*http.Transport).DialContext = dialHTTP
	return &hookClient{real, n}
}

// askedHeader is in a request that was made before: the kubelet copies the request if it asks again.
const askedHeader = "Probesim-Asked"

// Do has the real client make the request, and the transport know on whose behalf it dials. In a kubelet that is cut
// off it does not come back.
func (h *hookClient) Do(req *http.Request) (*http.Response, error) {
	h.network.driver.hold()
	c := &connections{try: try{network: h.network, asker: parseAsker(req.Header.Get(tagHeader))}}
	if req.Header.Get(askedHeader) != "" {
		c.made = 1
	}
	sent := req.Clone(context.WithValue(req.Context(), connectionsKey{}, c))
	sent.Header.Del(tagHeader)
	sent.Header.Del(askedHeader)
	req.Header.Set(askedHeader, "once")
	res, err := h.Client.Do(sent)
	h.network.driver.hold()
	return res, err
}
