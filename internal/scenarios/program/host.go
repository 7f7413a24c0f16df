package program

import (
	"net/netip"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
)

// HostOf returns the host that a probe asks in place of the IP of its pod, or an empty string.
func HostOf(p *v1.Probe) string {
	switch {
	case p.HTTPGet != nil:
		return p.HTTPGet.Host
	case p.TCPSocket != nil:
		return p.TCPSocket.Host
	}
	return ""
}

// IsNode reports whether a host is the node itself for the kubelet, which makes the request:
// localhost, or a loopback address.
func IsNode(host string) bool {
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && (ip.Unmap().IsLoopback() || ip.IsUnspecified())
}

// Listens reports whether a rule has an answer to a probe other than a refusal.
func Listens(rules []fakeruntime.Rule, probe string) bool {
	return slices.ContainsFunc(rules, func(r fakeruntime.Rule) bool {
		series := seriesOf(&r, probe)
		return series != nil && slices.ContainsFunc(series.Items,
			func(i fakeruntime.Item) bool { return i.Answer.Word != fakeruntime.Refuses })
	})
}

// AnswersHook reports whether a rule has an answer to a hook.
func AnswersHook(rules []fakeruntime.Rule, hook string) bool {
	return slices.ContainsFunc(rules, func(r fakeruntime.Rule) bool {
		return hook == "postStart" && r.PostStart != nil || hook == "preStop" && r.PreStop != nil
	})
}
