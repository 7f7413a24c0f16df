// Package health has the endpoints that the shop is probed at.
package health

import "net/http"

// Handler answers /livez and /readyz. The shop is alive as long as it answers at all; it is ready while it reaches its
// database, which ping tells.
func Handler(ping func() error) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := ping(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
	})
	return mux
}
