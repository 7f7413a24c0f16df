package trace_test

import (
	"fmt"
	"io"
	"log"
	"strings"

	"probesim.dev/trace"
)

const lines = `{"step":1,"t":0,"kind":"PodAdded","pod":"default/web"}
{"step":2,"t":302000000,"kind":"ContainerStarted","cause":1,"pod":"default/web","container":"app","instance":0}
{"step":3,"t":5020000000,"kind":"ProbeExecuted","cause":2,"pod":"default/web","container":"app","instance":0,"probe":"startup","result":"failure","message":"connection refused","took":20000000}
`

// Decode a trace, as "probesim run FILE -o jsonl" writes it, and print its failed probes.
func ExampleReader() {
	for r := trace.NewReader(strings.NewReader(lines)); ; {
		record, err := r.Read()
		if err == io.EOF {
			return
		}
		if err != nil {
			log.Fatal(err)
		}
		if record.Kind == trace.ProbeExecuted && record.Result == trace.Failure {
			fmt.Println(trace.FormatTime(record.T), record.Subject(), record.Summary())
		}
	}
	// Output: 5.020s web/app#0 ProbeExecuted startup failure "connection refused" took 20ms
}

// Decode a trace and compute the hash of its run.
func ExampleHash() {
	records, err := trace.ReadAll(strings.NewReader(lines))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(trace.Hash(records))
	// Output: 988f18bf2dadcc0ba3d0b5e7a8840ff88de4a94d65afdd236fd2570b1d71999f
}

// Keep the records of a run in memory.
func ExampleRecorder() {
	var recorder trace.Recorder
	added := recorder.Add(trace.Record{Kind: trace.PodAdded, Pod: "default/web"})
	recorder.Add(trace.Record{Kind: trace.PodRemoved, Pod: "default/web", Cause: added})
	for record := range recorder.All() {
		fmt.Printf("%s\n", trace.AppendJSON(nil, record))
	}
	// Output:
	// {"step":1,"t":0,"kind":"PodAdded","pod":"default/web"}
	// {"step":2,"t":0,"kind":"PodRemoved","cause":1,"pod":"default/web"}
}
