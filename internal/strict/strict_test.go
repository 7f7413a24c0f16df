package strict

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// read parses one document and decodes it.
func read(t *testing.T, text string, out any) error {
	t.Helper()
	var errs Collector
	docs, _ := Parse("f.yaml", []byte(text), &errs)
	if len(docs) == 1 {
		Decode(docs[0], out)
	} else if errs.Len() == 0 {
		t.Fatalf("there are %d documents", len(docs))
	}
	return errs.Err()
}

// TestDecodeKubernetesTypes decodes the special types of Kubernetes.
func TestDecodeKubernetesTypes(t *testing.T) {
	var got struct {
		Pod     v1.Pod          `json:"pod"`
		Wait    metav1.Duration `json:"wait"`
		Pointer **int           `json:"pointer"`
		Any     any             `json:"any"`
		Bytes   []byte          `json:"bytes"`
		Uint    uint8           `json:"uint"`
		Float   float64         `json:"float"`
	}
	err := read(t, `
pod:
  metadata: {name: web, creationTimestamp: 2026-01-02T03:04:05Z, labels: {a: "1", b: 2026-01-02}}
  spec:
    containers:
    - name: app
      resources: {limits: {cpu: 1.5, memory: 64Mi, pods: 0x10}}
      livenessProbe: {httpGet: {port: 80}, periodSeconds: 0x0a, failureThreshold: 1_0}
      readinessProbe: {tcpSocket: {port: http}, exec: ~}
      stdin: True
wait: 1m30s
pointer: 5
any: {a: [1, true, null, x, 1.5]}
bytes: aGVsbG8=
uint: 255
float: 2
`, &got)
	if err != nil {
		t.Fatal(err)
	}
	c := got.Pod.Spec.Containers[0]
	for _, check := range []struct{ got, want any }{
		{got.Pod.CreationTimestamp.UTC(), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)},
		{got.Pod.Labels, map[string]string{"a": "1", "b": "2026-01-02"}},
		{c.Resources.Limits.Cpu().MilliValue(), int64(1500)},
		{c.Resources.Limits.Memory().Value(), int64(64 << 20)},
		{c.Resources.Limits.Pods().Cmp(resource.MustParse("16")), 0},
		{c.LivenessProbe.HTTPGet.Port, intstr.FromInt32(80)},
		{c.LivenessProbe.PeriodSeconds, int32(10)},
		{c.LivenessProbe.FailureThreshold, int32(10)},
		{c.ReadinessProbe.TCPSocket.Port, intstr.FromString("http")},
		{c.ReadinessProbe.Exec == nil, true},
		{c.Stdin, true},
		{got.Wait.Duration, 90 * time.Second},
		{**got.Pointer, 5},
		{string(got.Bytes), "hello"},
		{got.Uint, uint8(255)},
		{got.Float, 2.0},
	} {
		if diff := cmp.Diff(check.want, check.got); diff != "" {
			t.Error(diff)
		}
	}
}

type inner struct {
	Pos  Pos `json:"-"`
	Name string
}

type outer struct {
	inner `json:"-"`
	In    inner   `json:"in"`
	List  []inner `json:"list"`
}

func TestDecodePositions(t *testing.T) {
	var got outer
	if err := read(t, "in: {Name: a}\nlist:\n- Name: b\n", &got); err != nil {
		t.Fatal(err)
	}
	if got.In.Pos != (Pos{"f.yaml", 1, 5}) || got.List[0].Pos != (Pos{"f.yaml", 3, 3}) {
		t.Errorf("positions are %s and %s", got.In.Pos, got.List[0].Pos)
	}
}

func TestNumbersOutOfRange(t *testing.T) {
	var got struct {
		A int8    `json:"a"`
		B uint8   `json:"b"`
		C int64   `json:"c"`
		D uint    `json:"d"`
		E float32 `json:"e"`
	}
	err := read(t, "{a: 128, b: 256, c: 99999999999999999999, d: -1, e: x}", &got)
	want := `f.yaml:1:5: a: 128 is out of range for 8 bits
f.yaml:1:13: b: 256 is out of range for 8 bits
f.yaml:1:21: c: 99999999999999999999 is out of range for 64 bits
f.yaml:1:46: d: -1 is out of range for 64 bits
f.yaml:1:53: e: must be a number, not the string "x"`
	if err == nil || err.Error() != want {
		t.Errorf("the error is\n%v\nwant\n%s", err, want)
	}
}

// TestLimits parses hostile files. Each must be rejected quickly.
func TestLimits(t *testing.T) {
	bomb := "a: &a [x, x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c < 'i'; c++ {
		bomb += string(c) + ": &" + string(c) + " [" + strings.Repeat("*"+string(c-1)+", ", 9) + "]\n"
	}
	for _, test := range []struct{ name, text, want string }{
		{"a large file", strings.Repeat("#", MaxFileSize+1), "f.yaml: the file is larger than 4 MiB and was not read"},
		{"an alias bomb", bomb, "with all aliases and merges expanded, the file has more than 300000 values"},
		{"many values", "[" + strings.Repeat("a,", MaxNodes) + "]",
			"f.yaml:1:600001: the file has too many values: up to here there are more than 300000 separators"},
		{"deep lists", strings.Repeat("[", 100) + strings.Repeat("]", 100),
			"mappings, lists and merges are nested more than 64 levels deep"},
		{"deep mappings", strings.Repeat("{a: ", 100) + strings.Repeat("}", 100),
			"mappings, lists and merges are nested more than 64 levels deep"},
		{"very deep lists", strings.Repeat("[", MaxNodes), "not valid YAML: exceeded max depth"},
		{"many documents", strings.Repeat("--- a\n", MaxDocuments+1), "the file has more than 1000 documents"},
		{"an anchor in itself", "&a [*a]", "the alias *a is inside the value that it stands for"},
		{"an anchor in itself, merged", "&a {<<: *a}", "the alias *a is inside the value that it stands for"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var errs Collector
			Parse("f.yaml", []byte(test.text), &errs)
			if err := errs.Err(); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("the error is %v, want %s", err, test.want)
			}
		})
	}
}

func TestManyErrors(t *testing.T) {
	var got struct{}
	err := read(t, strings.Repeat("a: 1\n", 3*MaxErrors), &got)
	var errs Errors
	if !errors.As(err, &errs) || len(errs) != MaxErrors+1 {
		t.Fatalf("there are %d errors", len(errs))
	}
	if last := errs[MaxErrors].Error(); last != "f.yaml: and 2000 more errors" {
		t.Error(last)
	}
}

// TestTaggedKeys rejects the tags of keys, as those of values.
func TestTaggedKeys(t *testing.T) {
	for _, text := range []string{"!!int Z: x", "!!str Y: x", "!a b: x", "? !!bool \"c\"\n: x"} {
		var got map[string]string
		if err := read(t, text, &got); err == nil || !strings.Contains(err.Error(), "is not supported: leave it out") {
			t.Errorf("%s is %v, and the error is %v", text, got, err)
		}
	}
}

// TestLongNames refuses names of 100,000 characters. Each message says where and why, and does not
// repeat the whole name.
func TestLongNames(t *testing.T) {
	long := strings.Repeat("é", 50_000)
	for _, text := range []string{"a: *" + strings.Repeat("x", 100_000), "a: !" + strings.Repeat("x", 100_000) + " b",
		long + ": &a [*a]"} {
		var got map[string]any
		err := read(t, text, &got)
		if err == nil || len(err.Error()) > 2000 || !strings.HasPrefix(err.Error(), "f.yaml:1:") ||
			!strings.Contains(err.Error(), "…") {
			t.Errorf("%.100s: the error is %.3000v", text, err)
		}
	}
	var errs Collector
	errs.Addf("f.yaml", "%s is wrong: correct it", long)
	if text := errs.Err().Error(); len(text) > 1100 || !strings.HasSuffix(text, "é is wrong: correct it") ||
		strings.Contains(text, `\x`) {
		t.Error(text)
	}
}

func TestErrorsAreSorted(t *testing.T) {
	var c Collector
	for _, e := range []Error{
		{Pos{"b.yaml", 1, 1}, "", "x"}, {Pos{"a.yaml", 2, 1}, "p", "x"}, {Pos{"a.yaml", 1, 9}, "p", "x"},
		{Pos{"a.yaml", 1, 9}, "o", "x"}, {Pos{"a.yaml", 1, 9}, "p", "x"}, {Pos{File: "a.yaml"}, "", "x"},
	} {
		c.Add(e)
	}
	want := "a.yaml: x\na.yaml:1:9: o: x\na.yaml:1:9: p: x\na.yaml:2:1: p: x\nb.yaml:1:1: x"
	if got := c.Err().Error(); got != want {
		t.Errorf("the error is\n%s\nwant\n%s", got, want)
	}
}

func TestDidYouMean(t *testing.T) {
	known := []string{"livenessProbe", "readinessProbe", "name", "ok"}
	for word, want := range map[string]string{
		"livenesProbe": "livenessProbe", "LivenessProbe": "livenessProbe", "livensesProbe": "livenessProbe",
		"nmae": "name", "okk": "ok",
		"a": "", "probe": "", "x": "", strings.Repeat("x", 1000): "",
	} {
		if want != "" {
			want = ` (did you mean "` + want + `"?)`
		}
		if got := DidYouMean(word, known).String(); got != want {
			t.Errorf("%s: %q", word, got)
		}
	}
}

// TestOrList lists what exists if no word is similar.
func TestOrList(t *testing.T) {
	var many []string
	for i := range maxListed + 1 {
		many = append(many, fmt.Sprint("pod-", i))
	}
	for _, test := range []struct {
		known []string
		want  string
	}{
		{nil, ""},
		{[]string{""}, ""},
		{[]string{"app"}, "; there is only app"},
		{[]string{"app", "logs", "app"}, "; there are app and logs"},
		{[]string{"app", "logs", "proxy", "sidecar"}, ` (did you mean "sidecar"?)`},
		{many[:maxListed], "; there are pod-0, " + strings.Join(many[1:maxListed-1], ", ") + " and pod-23"},
		{many, "; there are pod-0, " + strings.Join(many[1:maxListed], ", ") + ", and others"},
	} {
		if got := OrList("sidecars", test.known).String(); got != test.want {
			t.Errorf("of %v: %s, want %s", test.known, got, test.want)
		}
	}
}

func TestText(t *testing.T) {
	var errs Collector
	docs, _ := Parse("f.yaml", []byte("a: 1\nname: x\nb:\n- {c: \"d e\", f: [g, ~]}\n- {}\n- []\n"), &errs)
	if got, want := docs[0].Text("name"), `{a: 1, b: [{c: "d e", f: [g, ~]}, {}, []]}`; got != want {
		t.Errorf("the text is %s, want %s", got, want)
	}
}
