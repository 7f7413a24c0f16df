package admission

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"probesim.dev/internal/podutil"
)

// validateProbes checks the probes of a container. Only readiness probes can have a success
// threshold above 1, and only liveness and startup probes can have a grace period.
// (validateLivenessProbe, validateReadinessProbe, validateStartupProbe)
func validateProbes(c *v1.Container, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, p := range podutil.Probes(c) {
		probe, path := p.Probe, path.Child(p.Field)
		errs = append(errs, validateProbe(probe, path)...)
		grace := probe.TerminationGracePeriodSeconds
		switch {
		case probe == c.ReadinessProbe && grace != nil:
			errs = append(errs, field.Invalid(path.Child("terminationGracePeriodSeconds"), *grace,
				"must not be set for readinessProbes"))
		case probe != c.ReadinessProbe && probe.SuccessThreshold != 1:
			errs = append(errs, field.Invalid(path.Child("successThreshold"), probe.SuccessThreshold, "must be 1"))
		}
	}
	return errs
}

// validateProbe checks the fields of all kinds of probes. (validateProbe)
func validateProbe(probe *v1.Probe, path *field.Path) field.ErrorList {
	h := probe.ProbeHandler
	errs := validateHandler(handlers{exec: h.Exec, httpGet: h.HTTPGet, tcpSocket: h.TCPSocket, grpc: h.GRPC}, path)
	for _, number := range []struct {
		name  string
		value int32
	}{
		{"initialDelaySeconds", probe.InitialDelaySeconds},
		{"timeoutSeconds", probe.TimeoutSeconds},
		{"periodSeconds", probe.PeriodSeconds},
		{"successThreshold", probe.SuccessThreshold},
		{"failureThreshold", probe.FailureThreshold},
	} {
		errs = append(errs, nonNegative(path.Child(number.name), int64(number.value))...)
	}
	if grace := probe.TerminationGracePeriodSeconds; grace != nil && *grace <= 0 {
		errs = append(errs, field.Invalid(path.Child("terminationGracePeriodSeconds"), *grace,
			"must be greater than 0"))
	}
	return errs
}

// validateLifecycle checks hooks. A sleep must not be longer than the pod's grace period, in
// seconds. (validateSleepAction)
func validateLifecycle(c *v1.Container, grace int64, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, key := range podutil.HookKeys {
		if h := podutil.Hook(c, key); h != nil {
			all := handlers{exec: h.Exec, httpGet: h.HTTPGet, tcpSocket: h.TCPSocket, sleep: h.Sleep, grace: grace}
			errs = append(errs, validateHandler(all, path.Child(key))...)
		}
	}
	return errs
}

// handlers are the handlers of a probe or a hook. Exactly one must be set.
type handlers struct {
	exec      *v1.ExecAction
	httpGet   *v1.HTTPGetAction
	tcpSocket *v1.TCPSocketAction
	grpc      *v1.GRPCAction
	sleep     *v1.SleepAction
	grace     int64 // longest sleep, in seconds
}

// validateHandler checks the first handler and rejects further ones. (validateHandler)
func validateHandler(h handlers, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	count := 0
	add := func(name string, set bool, check func(*field.Path) field.ErrorList) {
		if !set {
			return
		}
		if count++; count > 1 {
			errs = append(errs, field.Forbidden(path.Child(name), "may not specify more than 1 handler type"))
			return
		}
		errs = append(errs, check(path.Child(name))...)
	}
	add("exec", h.exec != nil, func(p *field.Path) field.ErrorList { return validateExec(h.exec, p) })
	add("httpGet", h.httpGet != nil, func(p *field.Path) field.ErrorList { return validateHTTPGet(h.httpGet, p) })
	add("tcpSocket", h.tcpSocket != nil,
		func(p *field.Path) field.ErrorList { return validatePort(h.tcpSocket.Port, p.Child("port")) })
	add("grpc", h.grpc != nil, func(p *field.Path) field.ErrorList {
		return validatePort(intstr.FromInt32(h.grpc.Port), p.Child("port"))
	})
	add("sleep", h.sleep != nil, func(p *field.Path) field.ErrorList { return validateSleep(h.sleep, h.grace, p) })
	if count == 0 {
		errs = append(errs, field.Required(path, "must specify a handler type"))
	}
	return errs
}

func validateSleep(sleep *v1.SleepAction, grace int64, path *field.Path) field.ErrorList {
	if 0 <= sleep.Seconds && sleep.Seconds <= grace {
		return nil
	}
	return field.ErrorList{field.Invalid(path, sleep.Seconds,
		fmt.Sprintf("must be non-negative and less than terminationGracePeriodSeconds (%d)", grace))}
}

func validateExec(exec *v1.ExecAction, path *field.Path) field.ErrorList {
	if len(exec.Command) > 0 {
		return nil
	}
	return field.ErrorList{field.Required(path.Child("command"), "")}
}

// validateHTTPGet checks an httpGet handler without its protocol, which ValidateGated checks.
// (validateHTTPGetAction)
func validateHTTPGet(get *v1.HTTPGetAction, path *field.Path) field.ErrorList {
	errs := validatePort(get.Port, path.Child("port"))
	errs = append(errs, oneOf(path.Child("scheme"), get.Scheme, v1.URISchemeHTTP, v1.URISchemeHTTPS)...)
	for _, header := range get.HTTPHeaders {
		errs = append(errs, invalid(path.Child("httpHeaders"), header.Name,
			validation.IsHTTPHeaderName(header.Name))...)
	}
	return errs
}

// validatePort is ValidatePortNumOrName.
func validatePort(port intstr.IntOrString, path *field.Path) field.ErrorList {
	if port.Type == intstr.String {
		return invalid(path, port.StrVal, validation.IsValidPortName(port.StrVal))
	}
	return invalid(path, port.IntValue(), validation.IsValidPortNum(port.IntValue()))
}
