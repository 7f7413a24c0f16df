package main

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"probesim.dev/kube/profile"
)

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version and the supported Kubernetes versions",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprint(cmd.OutOrStdout(), versions())
			return err
		},
	}
}

// versions returns the output of the command version and of the flag --version. It has the patch
// releases of Kubernetes.
func versions() string {
	var patches []string
	for _, name := range profile.NamesWithPreviews() {
		p, _ := profile.Named(name)
		patches = append(patches, cmp.Or(p.Patch, p.Version))
	}
	return buildText(buildInfo()) + "Kubernetes " + strings.Join(patches, ", ") + "\n"
}

// version returns the version of the module and of Go.
func version() string {
	info := buildInfo()
	return info.Main.Version + " " + info.GoVersion
}

// buildInfo returns what the Go command recorded when it built this program. The version of the
// module is never empty.
func buildInfo() *debug.BuildInfo {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{Main: debug.Module{Version: "unknown"}}
	}
	info.Main.Version = cmp.Or(info.Main.Version, "(devel)")
	return info
}

// buildText describes a build: the version, and the commit with its date if the program was built
// in a checkout.
func buildText(info *debug.BuildInfo) string {
	text := strings.TrimSpace("probesim "+info.Main.Version+" "+info.GoVersion) + "\n"
	vcs := map[string]string{}
	for _, s := range info.Settings {
		vcs[s.Key] = s.Value
	}
	if commit := vcs["vcs.revision"]; commit != "" {
		text += "commit " + commit
		if vcs["vcs.modified"] == "true" {
			text += " with local changes"
		}
		text += "\n"
	}
	if date := vcs["vcs.time"]; date != "" {
		text += "date " + date + "\n"
	}
	return text
}
