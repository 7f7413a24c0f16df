package podutil

import (
	"reflect"

	v1 "k8s.io/api/core/v1"
)

// IsHTTP2 reports whether a handler uses HTTP/2 without TLS. The handler can be nil. IsHTTP2 finds
// the field by reflection: the releases of k8s.io/api that older kubelets are built with do not
// have it.
func IsHTTP2(get *v1.HTTPGetAction) bool {
	if get == nil {
		return false
	}
	protocol := reflect.ValueOf(get).Elem().FieldByName("Protocol")
	return protocol.IsValid() && !protocol.IsNil() && protocol.Elem().String() == "HTTP2"
}
