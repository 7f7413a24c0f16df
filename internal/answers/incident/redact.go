package incident

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// Redact replaces the names, UIDs, images, addresses, commands and messages of the recording, each
// by the same text everywhere: the first pod becomes pod-1. Of the messages only the words of
// Kubernetes stay. The lines themselves go. The names of files stay.
func (r *Recording) Redact() {
	x := &redactor{names: map[string]string{}, counts: map[string]int{}}
	for _, p := range r.Pods {
		p.Namespace, p.Name, p.UID, p.Node = x.replace(p.Namespace, "ns"), x.replace(p.Name, "pod"),
			x.replace(p.UID, "uid"), x.replace(p.Node, "node")
		for i, c := range p.containers {
			p.containers[i] = x.replace(c, "app")
		}
	}
	for _, p := range r.Pods {
		if p.Object != nil {
			p.Object = x.object(p)
		}
	}
	for _, f := range r.Facts {
		f.Container, f.Text = x.replace(f.Container, "app"), "" // the other fields say the same
		f.Type, f.Reason, f.Value = x.term(f.Type), x.term(f.Reason), x.term(f.Value)
		if f.Kind == Lifecycle {
			f.Message = x.replace(f.Message, "id")
		} else {
			f.Message = token.ReplaceAllStringFunc(f.Message, x.word)
		}
	}
	r.Signs = nil
	for i := range r.Unread {
		r.Unread[i].Text = ""
	}
	for i := range r.Problems {
		r.Problems[i].Message = x.problem(r.Problems[i].Message)
	}
}

type redactor struct {
	names  map[string]string
	counts map[string]int
}

// replace returns the replacement of a name.
func (x *redactor) replace(name, kind string) string {
	if x.names[name] == "" && name != "" {
		x.counts[kind]++
		x.names[name] = fmt.Sprintf("%s-%d", kind, x.counts[kind])
	}
	return x.names[name]
}

// ratio is the column READY of kubectl get pods, and a part of the column STATUS.
var ratio = regexp.MustCompile(`^\d{1,6}(?:/\d{1,6})?$`)

// term returns a term of Kubernetes, such as Init:CrashLoopBackOff, and the replacement of another
// one.
func (x *redactor) term(s string) string {
	for _, part := range strings.FieldsFunc(s, func(r rune) bool { return r == ':' || r == ' ' }) {
		if !terms[part] && !ratio.MatchString(part) {
			return x.replace(s, "reason")
		}
	}
	return s
}

// settings are the fields of the spec of a pod on which its probes depend, and values the strings
// in them that are no names.
var (
	settings = listed("settings")
	values   = listed("values")
)

// object returns the settings of a pod on which its probes depend, with other names.
func (x *redactor) object(p *Pod) *v1.Pod {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: p.Name, Namespace: p.Namespace, UID: types.UID(p.UID),
		CreationTimestamp: p.Object.CreationTimestamp}}
	spec, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&p.Object.Spec)
	if err == nil {
		x.setting(spec)
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(spec, &pod.Spec)
	}
	if err != nil { // both have the form of a spec
		panic(err)
	}
	pod.Spec.NodeName = p.Node
	return pod
}

func (x *redactor) setting(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if settings[key] {
				v[key] = x.setting(v[key])
			} else {
				delete(v, key)
			}
		}
	case []any:
		for i := range v {
			v[i] = x.setting(v[i])
		}
	case string:
		if !values[v] {
			return x.replace(v, "name")
		}
	}
	return v
}

// token is a part of a message: an address, or a word. figure is a number or a duration.
var (
	token = regexp.MustCompile(
		`\b[a-z]{2,6}://[^\s"'<>]+|\[[0-9a-fA-F:.]+\]|[\p{L}\p{N}_$%@/~\\][-\p{L}\p{N}_.$%@/~+\\]*`)
	figure = regexp.MustCompile(`^\d{1,7}(?:\.\d{1,9})?(?:ns|µs|ms|s|m|h|[KMG]i?)?(?:\d{1,3}(?:\.\d{1,9})?(?:s|m))?$`)
	quoted = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
)

// word returns a word of Kubernetes or a number, and the replacement of anything else.
func (x *redactor) word(w string) string {
	word := strings.TrimRight(w, ".:")
	scheme, rest, isURL := strings.Cut(word, "://")
	switch {
	case isURL:
		return scheme + "://" + x.replace(rest, "address") + w[len(word):]
	case dictionary[strings.ToLower(word)], terms[word], figure.MatchString(word), ratio.MatchString(word):
		return w
	}
	return x.replace(word, "name") + w[len(word):]
}

// problem returns a problem without the names of the recording and without quoted text.
func (x *redactor) problem(s string) string {
	s = quoted.ReplaceAllStringFunc(s,
		func(q string) string { return `"` + x.replace(strings.Trim(q, `"`), "text") + `"` })
	return token.ReplaceAllStringFunc(s, func(w string) string {
		word := strings.TrimRight(w, ".:")
		return cmp.Or(x.names[word], word) + w[len(word):]
	})
}

// terms are the types, reasons, phases, conditions and states of Kubernetes. Controllers, webhooks
// and runtimes have others, which may tell names. dictionary has the words of the messages of
// Kubernetes and its runtimes, and of the errors of the network, the shell and the system.
var terms, dictionary = wordSet(table("terms")), wordSet(table("dictionary"))
