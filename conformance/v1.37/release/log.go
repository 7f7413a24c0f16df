package release

import (
	"context"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

// WithLogger returns a context whose logger a kubelet uses.
func WithLogger(ctx context.Context, logger logr.Logger) context.Context {
	return klog.NewContext(ctx, logger)
}
