package release

import (
	"context"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

// WithLogger returns a context with which a kubelet logs so. The probe workers do not have it: they use the logger of
// the process.
func WithLogger(ctx context.Context, logger logr.Logger) context.Context {
	klog.SetLogger(logger)
	var verbosity klog.Level
	if err := verbosity.Set("4"); err != nil {
		panic(err)
	}
	return klog.NewContext(ctx, logger)
}
