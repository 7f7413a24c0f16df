package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/input"
	"probesim.dev/internal/printable"
	"probesim.dev/internal/runner/terminal"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/scenarios/simulate"
	"probesim.dev/internal/show/document"
)

// deployments returns the Deployments of valid manifests, and all Services. The command has
// reported what is invalid.
func deployments(files []input.File) (list []*manifests.Workload, services []manifests.Service) {
	for _, f := range files {
		m, err := manifests.Read(f.Name, f.Data)
		if err != nil {
			continue
		}
		services = append(services, m.Services...)
		for i := range m.Workloads {
			if m.Workloads[i].Kind == "Deployment" {
				list = append(list, &m.Workloads[i])
			}
		}
	}
	return list, services
}

// seeRollout names the command that rolls the Deployments behind a Service out, if there are any,
// or that judges requirements of annotations.
func seeRollout(cmd *cobra.Command, paths []string, files []input.File, r *check.Report) {
	var required []string
	for i := range r.Workloads {
		for _, q := range r.Workloads[i].Rollouts {
			if !slices.Contains(required, q) {
				required = append(required, q)
			}
		}
	}
	list, services := deployments(files)
	behind := slices.ContainsFunc(list, func(w *manifests.Workload) bool {
		return slices.ContainsFunc(services, func(s manifests.Service) bool { return s.Selects(w) })
	})
	if len(required) == 0 && (!behind || slices.Contains(paths, "-")) {
		return
	}
	text := "Rollouts: probesim rollout"
	if len(required) > 0 {
		text = "Rollouts, with the requirements " + printable.Few(required) + ": probesim rollout"
	}
	for _, path := range paths {
		text += " " + simulate.Quote(path)
	}
	w := cmd.OutOrStdout()
	// a shell reads the command in one line
	fmt.Fprintln(terminal.Safe(w), terminal.Options(w).Paint(document.Dim, text))
}

// nameRollout names the command that shows how a Deployment comes from one manifest to the other,
// if a template changes.
func (o *compareOptions) nameRollout(cmd *cobra.Command, paths []string, before, after []input.File) {
	if slices.Contains(paths, "-") {
		return
	}
	changed, last := changedTemplates(before, after), paths[len(paths)-1]
	if len(changed) == 0 {
		return
	}
	from := simulate.Quote(paths[0])
	if o.beforeRef != "" {
		from = "<(git show " + simulate.Quote(o.beforeRef+":./"+last) + ")"
	}
	w := cmd.OutOrStdout()
	fmt.Fprintln(w)
	text := "The template of " + printable.Few(changed) + " changes. Does the rollout lose requests?"
	document.WriteLine(w, document.Plain, text, terminal.Options(w))
	fmt.Fprintf(w, "  probesim rollout %s --from %s\n", simulate.Quote(last), from)
}

// changedTemplates returns the names of the Deployments that are in both manifests with different
// pods.
func changedTemplates(before, after []input.File) (names []string) {
	pods := map[string]*v1.Pod{}
	old, _ := deployments(before)
	for _, w := range old {
		pods[w.Pod.Namespace+"/"+w.Name] = w.Pod
	}
	list, _ := deployments(after)
	for _, w := range list {
		if was := pods[w.Pod.Namespace+"/"+w.Name]; was != nil &&
			!(equality.Semantic.DeepEqual(was.Spec, w.Pod.Spec) && maps.Equal(was.Labels, w.Pod.Labels) &&
				maps.Equal(was.Annotations, w.Pod.Annotations)) {
			names = append(names, w.Name)
		}
	}
	return names
}
