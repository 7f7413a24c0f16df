// Command cluster runs a command beside a whole Kubernetes cluster of one node, on this machine and
// in namespaces of its own, and leaves nothing behind. README.md describes it.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

const usage = `usage:
  cluster up [FLAGS] -- COMMAND [ARGUMENT...]
      Starts a Kubernetes cluster of one node, runs COMMAND with KUBECONFIG set,
      and removes the cluster. Exits with the exit code of COMMAND, or with 125
      if the cluster fails.
  cluster image FILE.tar NAME:TAG PROGRAM...
      Writes an image with statically linked programs, for up --image.

flags of up:
`

// failed is the exit code of a cluster that fails, as of "docker run": COMMAND has the others.
const failed = 125

// Options are what the flags of up ask for.
type options struct {
	ProxyMode string
	Images    []string
	Logs      string
	Command   []string
	Bin       string // the directory of the programs
}

// A usageError is an error in the command line.
type usageError string

func (e usageError) Error() string { return string(e) }

func main() {
	if len(os.Args) < 2 {
		fmt.Fprint(os.Stderr, usage)
		upFlags(&options{}, new(string)).PrintDefaults()
		os.Exit(2)
	}
	code, err := 0, error(nil)
	switch name, args := os.Args[1], os.Args[2:]; name {
	case "up":
		code, err = upCommand(args)
	case "image":
		err = image(args)
	default:
		code, err = stage(name, args)
	}
	if wrong := usageError(""); errors.As(err, &wrong) {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		code = failed
	}
	os.Exit(code)
}

func upFlags(o *options, cache *string) *flag.FlagSet {
	flags := flag.NewFlagSet("up", flag.ContinueOnError)
	flags.Usage = func() {
		fmt.Fprint(os.Stderr, usage)
		flags.PrintDefaults()
	}
	flags.StringVar(&o.ProxyMode, "proxy-mode", "iptables", "the `mode` of kube-proxy: iptables or nftables")
	flags.Func("image", "import the image in this `file`, a docker archive or an OCI layout as a tar file; repeatable",
		func(file string) error {
			file, err := filepath.Abs(file)
			o.Images = append(o.Images, file)
			return err
		})
	flags.StringVar(&o.Logs, "logs", "", "keep the logs of the programs in this `directory`")
	flags.StringVar(cache, "cache", "", "build the programs in this `directory` (default: probesim-cluster in the "+
		"user's cache directory)")
	return flags
}

func upCommand(args []string) (code int, err error) {
	o, cache := options{}, ""
	flags := upFlags(&o, &cache)
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return 0, nil
	} else if err != nil {
		return 2, nil
	}
	o.Command = flags.Args()
	switch {
	case len(o.Command) == 0:
		return 0, usageError("up needs a command, after --")
	case o.ProxyMode != "iptables" && o.ProxyMode != "nftables":
		return 0, usageError("--proxy-mode is iptables or nftables")
	}
	if cache == "" {
		if cache, err = os.UserCacheDir(); err != nil {
			return 0, err
		}
		cache = filepath.Join(cache, "probesim-cluster")
	}
	if cache, err = filepath.Abs(cache); err != nil {
		return 0, err
	}
	if o.Logs != "" {
		if o.Logs, err = filepath.Abs(o.Logs); err != nil {
			return 0, err
		}
	}
	return up(o, cache)
}

// progress tells what takes time, on standard error: standard output is the command's.
func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "cluster: "+format+"\n", args...)
}
