package release

import (
	"context"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

// WithLogger returns a context whose logger a kubelet uses. It also sets the logger of the process, which the
// probe workers of this release use instead.
func WithLogger(ctx context.Context, logger logr.Logger) context.Context {
	klog.SetLogger(logger)
	var verbosity klog.Level
	if err := verbosity.Set("4"); err != nil {
		panic(err)
	}
	return klog.NewContext(ctx, logger)
}
