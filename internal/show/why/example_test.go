package why_test

import (
	"fmt"
	"log"
	"strings"
	"time"

	"probesim.dev/internal/show/why"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

const crash = `{"step":1,"t":0,"kind":"PodAdded","pod":"default/web"}
{"step":2,"t":302000000,"kind":"ContainerStarted","cause":1,"pod":"default/web","container":"app","instance":0}
{"step":3,"t":20302000000,"kind":"ContainerExited","cause":2,"pod":"default/web","container":"app","instance":0,"exitCode":1}
{"step":4,"t":21400000000,"kind":"ContainerStarted","cause":3,"pod":"default/web","container":"app","instance":1}
`

// Explain the first restart of a container in a trace.
func ExampleRun_Restart() {
	records, err := trace.ReadAll(strings.NewReader(crash))
	if err != nil {
		log.Fatal(err)
	}
	run := why.New(records, nil, virtual.At(time.Minute))
	explanation, ok := run.Restart("default/web", "app", 1)
	if !ok {
		log.Fatal("the container did not restart")
	}
	for i, link := range explanation.Chain {
		if i > 0 {
			fmt.Print("because ")
		}
		fmt.Println(link.Text)
	}
	// Output:
	// restart 1 of web/app at 21.400s
	// because the program in app exited with code 1 at 20.302s, 20s after it started
}
