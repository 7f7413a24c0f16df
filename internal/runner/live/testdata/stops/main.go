// Stops accepts no connection after SIGTERM, and exits a while later.
package main

import (
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:"+os.Getenv("PORT"))
	if err != nil {
		panic(err)
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	go http.Serve(listener, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	<-stop
	listener.Close()
	time.Sleep(500 * time.Millisecond)
	os.Exit(3)
}
