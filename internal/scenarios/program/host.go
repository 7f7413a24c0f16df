package program

import (
	"net/netip"
	"slices"
	"strings"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/podutil"
)

// IsNode reports whether a host is the node itself for the kubelet, which makes the request:
// localhost, or a loopback address.
func IsNode(host string) bool {
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && (ip.Unmap().IsLoopback() || ip.IsUnspecified())
}

// Listens reports whether a rule has an answer to a probe other than a refusal, or any answer to a
// hook.
func Listens(rules []fakeruntime.Rule, asks podutil.Request) bool {
	return slices.ContainsFunc(rules, func(r fakeruntime.Rule) bool {
		series := *answersOf(&r)[asks.Key]
		return series != nil && (asks.IsHook || slices.ContainsFunc(series.Items,
			func(i fakeruntime.Item) bool { return i.Answer.Word != fakeruntime.Refuses }))
	})
}
