// Ignores goes on after SIGTERM, and has a child that does too.
package main

import (
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
)

func main() {
	signal.Ignore(syscall.SIGTERM)
	if len(os.Args) == 1 {
		exec.Command(os.Args[0], "child").Start()
		http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	}
	select {}
}
