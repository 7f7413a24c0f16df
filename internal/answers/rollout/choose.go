package rollout

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/strict"
)

// ErrNoService is the error of Options.Service that no Deployment has.
var ErrNoService = errors.New("there is no Service")

// ErrNoDeployment is the error of files without a Deployment.
var ErrNoDeployment = errors.New("there is no Deployment")

// chooses reports whether a Deployment has the name of the options, if there is one.
func (o *Options) chooses(w *workload) bool {
	return o.Workload == "" || o.Workload == w.spec.Name || o.Workload == w.spec.Namespace+"/"+w.spec.Name
}

// only leaves out the Deployments with another name than that of the options.
func (o *Options) only(list []*workload) ([]*workload, error) {
	var names []string
	chosen := slices.DeleteFunc(slices.Clone(list), func(w *workload) bool {
		names = append(names, w.spec.Name)
		return !o.chooses(w)
	})
	if len(chosen) == 0 {
		_, name, _ := strings.Cut("/"+o.Workload, "/")
		return nil, fmt.Errorf("%w %s%s; there are: %s", ErrNoDeployment, strict.Quote(o.Workload),
			strict.DidYouMean(name, names), printable.Few(names))
	}
	return chosen, nil
}

// behind leaves out the Deployments whose pods the Service of the options does not select.
func (o *Options) behind(list []*workload) ([]*workload, error) {
	if o.Service == "" {
		return list, nil
	}
	var names []string
	chosen := slices.DeleteFunc(slices.Clone(list), func(w *workload) bool {
		names = append(names, w.services...)
		return len(w.counted()) == 0
	})
	switch {
	case len(chosen) > 0:
		return chosen, nil
	case len(names) == 0:
		return nil, fmt.Errorf("%w %s: no Service in the files selects pods of a Deployment", ErrNoService,
			strict.Quote(o.Service))
	}
	return nil, fmt.Errorf("%w %s%s; there are: %s", ErrNoService, strict.Quote(o.Service),
		strict.DidYouMean(o.Service, names), printable.Few(names))
}
