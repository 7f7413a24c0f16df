module probesim.dev/conformance

go 1.26.0

// This module has the code that the modules of all releases share. Build it as part of one of them: that module has
// package kubelet/release and determines the versions of the dependencies. The versions here are the lowest.
require (
	github.com/go-logr/logr v1.4.2
	github.com/google/go-cmp v0.7.0
	github.com/prometheus/client_golang v1.22.0
	github.com/spf13/cobra v1.10.2
	go.opentelemetry.io/otel/trace v1.35.0
	google.golang.org/grpc v1.68.1
	k8s.io/kubernetes v1.33.13
	probesim.dev v0.0.0
	probesim.dev/conformance/kubelet v0.0.0
)
