package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"probesim.dev/internal/answers/incident"
	"probesim.dev/internal/input"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/runner/terminal"
	"probesim.dev/internal/scenarios/simulate"
)

// clusterOptions are the flags of incident about the cluster that kubectl asks.
type clusterOptions struct {
	on                             bool
	namespace, context, kubeconfig string
}

func (o *clusterOptions) addTo(flags *pflag.FlagSet) {
	flags.BoolVar(&o.on, "from-cluster", false,
		"Take the arguments as names of pods, and run kubectl to get them and their events.")
	flags.StringVarP(&o.namespace, "namespace", "n", "", "The `namespace` of the pods, with --from-cluster.")
	flags.StringVar(&o.context, "context", "", "The `context` of kubectl, with --from-cluster.")
	flags.StringVar(&o.kubeconfig, "kubeconfig", "", "The configuration `file` of kubectl, with --from-cluster.")
}

// clusterTimeout is how long a command of kubectl may take.
const clusterTimeout = 30 * time.Second

// podName is the form of the name of a pod. No such name can be a flag of kubectl.
var podName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`)

// get gets a pod and its events. The files have names that tell nothing about the pod, because
// reports have them. One of both is enough: a pod that is gone may still have events, and not
// everybody may read events.
func (o *clusterOptions) get(cmd *cobra.Command, pod string, number int) (list []input.File, _ error) {
	name := strings.TrimPrefix(strings.TrimPrefix(pod, "pods/"), "pod/")
	if !podName.MatchString(name) {
		if o.on {
			return nil, fmt.Errorf("%q is not the name of a pod; -n takes the namespace", pod)
		}
		return nil, fmt.Errorf("%s is neither a file nor the name of a pod", printable.Text(pod))
	}
	suffix := ""
	if number > 0 {
		suffix = fmt.Sprintf("-%d", number+1)
	}
	var failed error
	for _, args := range [][]string{{"get", "pod", name},
		{"get", "events", "--field-selector", "involvedObject.name=" + name}} {
		data, err := o.kubectl(cmd, append(args, "-o", "json")...)
		if errors.Is(err, context.Canceled) || errors.Is(err, errNoKubectl) {
			return nil, err
		}
		if failed = errors.Join(failed, err); err == nil {
			list = append(list, input.File{Name: args[0] + "-" + args[1] + suffix, Data: data})
		}
	}
	switch {
	case failed == nil:
	case len(incident.Read(list).Facts) == 0:
		return nil, failed
	default:
		warn(cmd.ErrOrStderr(), failed.Error())
	}
	return list, nil
}

var errNoKubectl = errors.New("kubectl is not on the PATH: install it, or get the pod elsewhere and pass the file: " +
	"kubectl get pod,events -o json")

// kubectl prints a command and returns its output. The error has what the command prints on stderr.
func (o *clusterOptions) kubectl(cmd *cobra.Command, args ...string) ([]byte, error) {
	for _, f := range [][2]string{{"--namespace", o.namespace}, {"--context", o.context},
		{"--kubeconfig", o.kubeconfig}} {
		if f[1] != "" {
			args = append(args, f[0]+"="+f[1])
		}
	}
	line := "kubectl"
	for _, arg := range args {
		line += " " + simulate.Quote(arg)
	}
	program, err := exec.LookPath("kubectl")
	if err != nil {
		return nil, errNoKubectl
	}
	fmt.Fprintf(terminal.Safe(cmd.ErrOrStderr()), "probesim: running %s\n", line)
	ctx, cancel := context.WithTimeout(cmd.Context(), clusterTimeout)
	defer cancel()
	var stdout, stderr bytes.Buffer
	run := exec.CommandContext(ctx, program, args...)
	run.Stdout, run.Stderr = &capped{&stdout, incident.MaxFile + 1}, &capped{&stderr, 64 << 10}
	run.WaitDelay = patience / 2 // a plugin for credentials may hold the pipes
	err = run.Run()
	said := printable.Lines(strings.TrimRight("\n"+strings.TrimSpace(stderr.String()), "\n"))
	switch {
	case cmd.Context().Err() != nil || interrupted(run.ProcessState): // a terminal interrupts both processes
		return nil, context.Canceled
	case ctx.Err() != nil:
		return nil, fmt.Errorf("%s: no answer within %s%s", line, clusterTimeout, said)
	case stdout.Len() > incident.MaxFile:
		return nil, fmt.Errorf("%s: %w", line, input.TooLarge(incident.MaxFile))
	case err != nil:
		return nil, fmt.Errorf("%s: %w%s", line, err, said)
	}
	return stdout.Bytes(), nil
}

// interrupted reports whether SIGINT ended a process.
func interrupted(p *os.ProcessState) bool {
	if p == nil {
		return false
	}
	status, has := p.Sys().(syscall.WaitStatus)
	return has && status.Signaled() && status.Signal() == syscall.SIGINT
}
