package realkubelet

import (
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// rpcCodes are the status codes that the kubelet distinguishes (k8s.io/cri-api pkg/errors,
// IsNotFound).
var rpcCodes = []codes.Code{codes.NotFound, codes.Unknown, codes.Canceled, codes.FailedPrecondition,
	codes.InvalidArgument, codes.Unavailable, codes.DeadlineExceeded}

// asStatus converts an error with the text of a gRPC status to this status.
func asStatus(err error) error {
	if err == nil {
		return nil
	}
	for _, c := range rpcCodes {
		prefix := fmt.Sprintf("rpc error: code = %s desc = ", c)
		if text := err.Error(); len(text) >= len(prefix) && text[:len(prefix)] == prefix {
			return status.Error(c, text[len(prefix):])
		}
	}
	return err
}
