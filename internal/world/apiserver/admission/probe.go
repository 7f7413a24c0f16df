package admission

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"

	"probesim.dev/internal/podutil"
)

// validateProbes checks the probes of a container. Only readiness probes can have a success
// threshold above 1, and only liveness and startup probes can have a grace period.
// (validateLivenessProbe, validateReadinessProbe, validateStartupProbe)
func validateProbes(s scope, c *v1.Container) {
	for _, p := range podutil.Probes(c) {
		s, readiness := s.at(p.Field), p.Probe == c.ReadinessProbe
		validateProbe(s, p.Probe)
		if grace := p.TerminationGracePeriodSeconds; grace != nil {
			s.at("terminationGracePeriodSeconds").invalid(readiness, *grace, "must not be set for readinessProbes")
		}
		s.at("successThreshold").invalid(!readiness && p.SuccessThreshold != 1, p.SuccessThreshold, "must be 1")
	}
}

// validateProbe checks the fields of all kinds of probes. (validateProbe)
func validateProbe(s scope, probe *v1.Probe) {
	h := probe.ProbeHandler
	validateHandler(s, &v1.LifecycleHandler{Exec: h.Exec, HTTPGet: h.HTTPGet, TCPSocket: h.TCPSocket}, h.GRPC, 0)
	nonNegative(s.at("initialDelaySeconds"), &probe.InitialDelaySeconds)
	nonNegative(s.at("timeoutSeconds"), &probe.TimeoutSeconds)
	nonNegative(s.at("periodSeconds"), &probe.PeriodSeconds)
	nonNegative(s.at("successThreshold"), &probe.SuccessThreshold)
	nonNegative(s.at("failureThreshold"), &probe.FailureThreshold)
	if grace := probe.TerminationGracePeriodSeconds; grace != nil {
		s.at("terminationGracePeriodSeconds").invalid(*grace <= 0, *grace, "must be greater than 0")
	}
}

// validateLifecycle checks hooks. A sleep must not be longer than the pod's grace period, in
// seconds.
func validateLifecycle(s scope, c *v1.Container, grace int64) {
	for _, key := range podutil.HookKeys {
		if h := podutil.Hook(c, key); h != nil {
			validateHandler(s.at(key), h, nil, grace)
		}
	}
}

// validateHandler checks the first handler of a probe or a hook, which sleeps at most for the grace
// period, and rejects further ones. (validateHandler, validateSleepAction)
func validateHandler(s scope, h *v1.LifecycleHandler, grpc *v1.GRPCAction, grace int64) {
	count := 0
	first := func(name string, set bool) bool {
		if set {
			count++
			s.at(name).forbid(count > 1, "may not specify more than 1 handler type")
		}
		return set && count == 1
	}
	if first("exec", h.Exec != nil) {
		s.at("exec", "command").require(len(h.Exec.Command) > 0, "")
	}
	if first("httpGet", h.HTTPGet != nil) {
		validateHTTPGet(s.at("httpGet"), h.HTTPGet)
	}
	if first("tcpSocket", h.TCPSocket != nil) {
		validatePort(s.at("tcpSocket", "port"), h.TCPSocket.Port)
	}
	if first("grpc", grpc != nil) {
		validatePort(s.at("grpc", "port"), intstr.FromInt32(grpc.Port))
	}
	if first("sleep", h.Sleep != nil) {
		s.at("sleep").invalid(h.Sleep.Seconds < 0 || h.Sleep.Seconds > grace, h.Sleep.Seconds,
			fmt.Sprintf("must be non-negative and less than terminationGracePeriodSeconds (%d)", grace))
	}
	s.require(count > 0, "must specify a handler type")
}

// validateHTTPGet checks an httpGet handler without its protocol, which ValidateGated checks.
// (validateHTTPGetAction)
func validateHTTPGet(s scope, get *v1.HTTPGetAction) {
	validatePort(s.at("port"), get.Port)
	oneOf(s.at("scheme"), get.Scheme, v1.URISchemeHTTP, v1.URISchemeHTTPS)
	for _, header := range get.HTTPHeaders {
		s.at("httpHeaders").invalidFor(header.Name, validation.IsHTTPHeaderName(header.Name))
	}
}

// validatePort is ValidatePortNumOrName.
func validatePort(s scope, port intstr.IntOrString) {
	if port.Type == intstr.String {
		s.invalidFor(port.StrVal, validation.IsValidPortName(port.StrVal))
		return
	}
	s.invalidFor(port.IntValue(), validation.IsValidPortNum(port.IntValue()))
}
