package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"io"
	"runtime/debug"
	"syscall/js"

	"github.com/spf13/cobra"

	"probesim.dev/internal/input"
	"probesim.dev/internal/runner/terminal"
	"probesim.dev/internal/workloads"
)

// main offers the commands of the playground to the page, which is also the file system:
//
//   - probesim(args, done) runs a command line, and calls done with its exit code, standard output
//     and standard error
//   - probesimSettings(name, text) returns the settings of a manifest, as JSON
//   - probesimSet(name, text, setting) returns the manifest with another value of a setting
func main() {
	debug.SetGCPercent(400)
	js.Global().Set("probesim", js.FuncOf(func(_ js.Value, list []js.Value) any {
		var args []string
		for i := range list[0].Length() {
			args = append(args, list[0].Index(i).String())
		}
		go func() { // a function that the page calls must not wait for the page
			var stdout, stderr bytes.Buffer
			code := execute(context.Background(), args, &stdout, &stderr)
			list[1].Invoke(code, stdout.String(), stderr.String())
		}()
		return nil
	}))
	js.Global().Set("probesimSettings", js.FuncOf(func(_ js.Value, args []js.Value) any {
		settings, _ := workloads.Settings(fileOf(args)) // the commands say what is wrong
		text, _ := json.Marshal(settings)               // numbers and strings
		return string(text)
	}))
	js.Global().Set("probesimSet", js.FuncOf(func(_ js.Value, args []js.Value) any {
		f, setting := fileOf(args), workloads.Setting{}
		err := json.Unmarshal([]byte(args[2].String()), &setting)
		if edited, e := workloads.Set(f, setting); cmp.Or(err, e) == nil {
			f.Data = edited
		}
		return string(f.Data)
	}))
	select {}
}

// fileOf returns the file whose name and text a function of the page has.
func fileOf(args []js.Value) input.File {
	return input.File{Name: args[0].String(), Data: []byte(args[1].String())}
}

// newRoot returns the commands that need no more than files. What reads no templates of help texts
// lets the linker leave out all methods that nothing calls.
func newRoot(stdout, stderr io.Writer) *cobra.Command {
	root := &cobra.Command{Use: "probesim", SilenceUsage: true, SilenceErrors: true}
	root.AddCommand(newCheck(), newIncident(), newRollout(), newRun())
	root.SetOut(&terminal.Output{Writer: stdout})
	root.SetErr(stderr)
	root.SetFlagErrorFunc(flagError)
	return root
}
