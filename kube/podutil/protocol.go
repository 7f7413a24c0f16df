package podutil

import (
	"reflect"

	v1 "k8s.io/api/core/v1"
)

// IsHTTP2 reports whether a handler, which may be nil, is to be asked over HTTP/2 without TLS. Only newer releases of
// k8s.io/api have the field, which is not set in a pod of the API server where its feature gate is off.
func IsHTTP2(get *v1.HTTPGetAction) bool {
	if get == nil {
		return false
	}
	protocol := reflect.ValueOf(get).Elem().FieldByName("Protocol")
	return protocol.IsValid() && !protocol.IsNil() && protocol.Elem().String() == "HTTP2"
}
