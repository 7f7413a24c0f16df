package realkubelet

import (
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// rpcCodes are the codes in which the kubelet looks for a meaning
// (k8s.io/cri-api pkg/errors, IsNotFound).
var rpcCodes = []codes.Code{codes.NotFound, codes.Unknown, codes.Canceled, codes.FailedPrecondition, codes.InvalidArgument, codes.Unavailable}

// asStatus gives an error whose text is that of a gRPC status the code that the text says.
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
