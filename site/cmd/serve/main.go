// Command serve builds the site and serves it on this machine:
//
//	go run -C site ./cmd/serve            from the root of the repository
//	go run -C site ./cmd/serve -o /tmp/site
//
// With -o, it writes the files for a web server instead.
package main

import (
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"

	"probesim.dev/site/internal/build"
)

func main() {
	root := flag.String("root", "..", "The `directory` of the repository.")
	to := flag.String("o", "", "Write the site into this `directory`, and do not serve it.")
	port := flag.Int("port", 8080, "The `port` on the loopback interface; 0 takes a free one.")
	program := flag.String("program", "", "Take the program from this `file`, and do not build it.")
	flag.Parse()
	if err := run(*root, *to, *program, *port); err != nil {
		fmt.Fprintln(os.Stderr, "serve:", err)
		os.Exit(1)
	}
}

func run(root, dir, file string, port int) error {
	var program []byte
	var err error
	if file != "" {
		program, err = os.ReadFile(file)
	} else {
		fmt.Println("building the program")
		program, err = build.Program(root)
	}
	if err != nil {
		return err
	}
	if dir != "" {
		return build.Site(root, dir, program)
	}
	if dir, err = os.MkdirTemp("", "probesim-site-"); err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := build.Site(root, dir, program); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return err
	}
	fmt.Printf("http://%s/\n", listener.Addr())
	return http.Serve(listener, http.FileServer(http.Dir(filepath.Clean(dir))))
}
