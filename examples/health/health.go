// Package health serves the health endpoints of the shop.
package health

import "net/http"

// Handler serves /livez, which always succeeds, and /readyz, which succeeds while ping reaches the
// database.
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
