package trace

import (
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// AppendJSON appends the record to dst as one JSON object, without a newline, and returns the
// extended slice.
//
// The fields have a fixed order: step, t (nanoseconds), kind, cause (if known), pod (if set),
// container and instance (if a container is set), then the fields of the kind. An observable kind
// always has all its fields, an internal kind only those that are not zero. Each byte that is not
// valid UTF-8 becomes U+FFFD. AppendJSON does not allocate if dst has enough capacity and the
// record no details.
func AppendJSON(dst []byte, r *Record) []byte {
	dst = append(dst, `{"step":`...)
	dst = strconv.AppendInt(dst, r.Step, 10)
	dst = append(dst, ',')
	dst = appendWhen(dst, r)
	if r.Cause != 0 {
		dst = appendInt(dst, `,"cause":`, r.Cause)
	}
	dst = appendWhere(dst, r)
	dst = appendWhat(dst, r, detailed)
	return append(dst, '}')
}

// AppendObserved is like [AppendJSON] but omits step, cause and the details of a status. It writes
// the part of a record that the simulator and the real kubelet have in common: steps also count
// internal records, and the real kubelet knows no causes.
func AppendObserved(dst []byte, r *Record) []byte { return appendCommon(dst, r, !detailed) }

// AppendDetailed is like [AppendObserved] and also writes the details of a status, if the record
// has them.
func AppendDetailed(dst []byte, r *Record) []byte { return appendCommon(dst, r, detailed) }

// detailed selects the details of a status.
const detailed = true

func appendCommon(dst []byte, r *Record, details bool) []byte {
	dst = append(dst, '{')
	dst = appendWhen(dst, r)
	dst = appendWhere(dst, r)
	dst = appendWhat(dst, r, details)
	return append(dst, '}')
}

func appendWhen(dst []byte, r *Record) []byte {
	dst = append(dst, `"t":`...)
	dst = strconv.AppendInt(dst, int64(r.T), 10)
	return appendText(dst, `,"kind":`, string(r.Kind))
}

func appendWhere(dst []byte, r *Record) []byte {
	if r.Pod != "" {
		dst = appendText(dst, `,"pod":`, r.Pod)
	}
	if r.Container != "" {
		dst = appendText(dst, `,"container":`, r.Container)
		dst = appendInt(dst, `,"instance":`, int64(r.Instance))
	}
	return dst
}

func appendWhat(dst []byte, r *Record, details bool) []byte {
	switch r.Kind {
	case PodAdded:
		return appendObject(dst, r)
	case PodDeleteRequested, PodRemoved, ContainerStarted, KubeletStopped, KubeletStarted:
		return dst
	case ContainerStopping:
		dst = appendInt(dst, `,"graceSeconds":`, r.GraceSeconds)
		return appendText(dst, `,"reason":`, r.Reason)
	case ContainerExited:
		return appendInt(dst, `,"exitCode":`, int64(r.ExitCode))
	case ProbeExecuted:
		return appendEnd(appendText(dst, `,"probe":`, string(r.Probe)), r)
	case Event:
		dst = appendObject(dst, r)
		dst = appendText(dst, `,"type":`, r.Type)
		dst = appendText(dst, `,"reason":`, r.Reason)
		return appendText(dst, `,"message":`, r.Message)
	case ImagePullStarted:
		return appendText(dst, `,"message":`, r.Message)
	case ImagePullEnded:
		return appendEnd(dst, r)
	case HookStarted:
		return appendText(dst, `,"reason":`, r.Reason)
	case HookEnded:
		return appendEnd(appendText(dst, `,"reason":`, r.Reason), r)
	case VolumeWaitEnded:
		dst = appendText(dst, `,"reason":`, r.Reason)
		dst = appendText(dst, `,"result":`, string(r.Result))
		return appendInt(dst, `,"took":`, int64(r.Took))
	case Step:
		dst = appendText(dst, `,"reason":`, r.Reason)
		return appendText(dst, `,"message":`, r.Message)
	case StatusPatched:
		return appendStatus(dst, r.Status, details)
	}
	if r.Kind.Controlled() || r.Kind == SyncFailed {
		dst = appendObject(dst, r)
	}
	return appendNonZero(dst, r)
}

// appendEnd appends how an action ends, and its duration.
func appendEnd(dst []byte, r *Record) []byte {
	dst = appendText(dst, `,"result":`, string(r.Result))
	dst = appendText(dst, `,"message":`, r.Message)
	return appendInt(dst, `,"took":`, int64(r.Took))
}

// appendNonZero appends all non-zero fields, because the kinds of internal records may change.
func appendNonZero(dst []byte, r *Record) []byte {
	dst = appendTextIf(dst, `,"probe":`, string(r.Probe))
	dst = appendTextIf(dst, `,"result":`, string(r.Result))
	dst = appendTextIf(dst, `,"type":`, r.Type)
	dst = appendTextIf(dst, `,"reason":`, r.Reason)
	dst = appendTextIf(dst, `,"message":`, r.Message)
	if r.GraceSeconds != 0 {
		dst = appendInt(dst, `,"graceSeconds":`, r.GraceSeconds)
	}
	if r.ExitCode != 0 {
		dst = appendInt(dst, `,"exitCode":`, int64(r.ExitCode))
	}
	if r.Took != 0 {
		dst = appendInt(dst, `,"took":`, int64(r.Took))
	}
	return dst
}

func appendStatus(dst []byte, s *PodStatus, details bool) []byte {
	if s == nil {
		s = &PodStatus{}
	}
	dst = appendText(dst, `,"phase":`, s.Phase)
	dst = appendTextIf(dst, `,"reason":`, s.Reason)
	dst = appendBool(dst, `,"initialized":`, s.Initialized)
	dst = appendBool(dst, `,"containersReady":`, s.ContainersReady)
	dst = appendBool(dst, `,"ready":`, s.Ready)
	dst = append(dst, `,"containers":[`...)
	for i := range s.Containers {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendContainer(dst, &s.Containers[i], details)
	}
	dst = append(dst, ']')
	if details {
		dst = appendDetails(dst, s.Details)
	}
	return dst
}

func appendContainer(dst []byte, c *ContainerStatus, details bool) []byte {
	dst = appendText(dst, `{"name":`, c.Name)
	dst = appendText(dst, `,"state":`, c.State)
	dst = appendTextIf(dst, `,"reason":`, c.Reason)
	dst = appendInt(dst, `,"exitCode":`, int64(c.ExitCode))
	dst = appendBool(dst, `,"ready":`, c.Ready)
	dst = appendBool(dst, `,"started":`, c.Started)
	dst = appendInt(dst, `,"restartCount":`, int64(c.RestartCount))
	if details {
		dst = appendDetails(dst, c.Details)
	}
	return append(dst, '}')
}

func appendInt(dst []byte, key string, n int64) []byte {
	return strconv.AppendInt(append(dst, key...), n, 10)
}

func appendBool(dst []byte, key string, b bool) []byte {
	return strconv.AppendBool(append(dst, key...), b)
}

func appendTextIf(dst []byte, key, s string) []byte {
	if s == "" {
		return dst
	}
	return appendText(dst, key, s)
}

func appendText(dst []byte, key, s string) []byte {
	dst = append(append(dst, key...), '"')
	plain := 0 // s[plain:i] needs no escape
	for i := 0; i < len(s); {
		size := plainSize(s, i)
		if size > 0 {
			i += size
			continue
		}
		dst = appendEscaped(append(dst, s[plain:i]...), s[i])
		i++
		plain = i
	}
	return append(append(dst, s[plain:]...), '"')
}

// plainSize returns the length of the character at s[i], or 0 if it needs an escape in JSON.
func plainSize(s string, i int) int {
	c := s[i]
	switch {
	case c >= utf8.RuneSelf:
		if r, size := utf8.DecodeRuneInString(s[i:]); r != utf8.RuneError || size > 1 {
			return size
		}
		return 0
	case c < ' ' || c == '"' || c == '\\':
		return 0
	}
	return 1
}

func appendEscaped(dst []byte, c byte) []byte {
	const hex = "0123456789abcdef"
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	if c >= utf8.RuneSelf { // not valid UTF-8
		return utf8.AppendRune(dst, utf8.RuneError)
	}
	return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}

// Header identifies the run of the records that follow it in a file with several runs. It is a JSON
// object with the only field run. A file with a single run has no header.
type Header struct {
	Scenario   string `json:"scenario"`
	Kubernetes string `json:"kubernetes"`     // version, for example v1.37
	Seed       *int64 `json:"seed,omitempty"` // nil for a run without a seed
	File       string `json:"file"`           // scenario file
	Line       int    `json:"line"`           // line on which the scenario starts
}

// AppendHeader appends the header to dst as one JSON object, without a newline, and returns the
// extended slice.
func AppendHeader(dst []byte, h *Header) []byte {
	text, err := json.Marshal(struct {
		Run *Header `json:"run"`
	}{h})
	if err != nil {
		panic(err) // a header has no value that JSON lacks
	}
	return append(dst, text...)
}
