// Command web is a program with a common way to stop: at SIGTERM it closes its listener, and exits
// 100 ms later. Requests take 10 to 50 ms, except those to /healthz.
package main

import (
	"fmt"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	listener, err := net.Listen("tcp", ":8080")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("listening")
	go http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" {
			time.Sleep(time.Duration(10+rand.IntN(40)) * time.Millisecond)
		}
		fmt.Fprintln(w, "ok")
	}))
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	<-stop
	listener.Close()
	time.Sleep(100 * time.Millisecond)
}
