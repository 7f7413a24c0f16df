// Drains answers requests for a while after SIGTERM, and exits when nobody asks.
package main

import (
	"context"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	server := &http.Server{Addr: "127.0.0.1:" + os.Getenv("PORT"), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/never" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	go server.ListenAndServe()
	<-stop
	time.Sleep(400 * time.Millisecond)
	server.Shutdown(context.Background())
}
