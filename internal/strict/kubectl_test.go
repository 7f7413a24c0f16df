package strict

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	kyaml "sigs.k8s.io/yaml"
)

// spellings are plain and quoted scalars that YAML 1.1, YAML 1.2 and JSON may read differently.
var spellings = []string{
	"true", "True", "TRUE", "tRue", "false", "False", "FALSE",
	"yes", "Yes", "YES", "yEs", "no", "No", "NO", "on", "On", "ON", "off", "Off", "OFF", "y", "Y", "n", "N", "yess",
	"none",
	`"yes"`, `'on'`, `"true"`, `"5"`, "|\n  yes", ">-\n  5",
	"~", "null", "Null", "NULL", "nULL", "", `""`, `"null"`,
	"0", "-0", "+0", "5", "+5", "-5", "007", "010", "0777", "08", "09", "0o17", "0O17", "0x1F", "0X1f", "-0x10",
	"+0x10", "0b101", "-0b11", "0b12", "0x",
	"1_000", "1__0", "_1", "1_", "0x_1F", "0_7", "1_0.5", "+1_0",
	"5.0", "5.5", "5.", ".5", "-.5", "+.5", "1e3", "1E3", "1e+3", "1e-3", "-1e3", "1.5e3", "1e", "e3", "80.0", "8e1",
	"1e20", "1e21", "1e22", "0.1", "1e6", "1e-7",
	"-0.0", "0.0", ".inf", "-.inf", "+.inf", ".Inf", ".nan", ".NaN", "inf", "nan", "Infinity", "1e400", "-1e400",
	"2147483647", "2147483648", "-2147483648", "-2147483649", "9223372036854775807", "9223372036854775808",
	"18446744073709551615", "18446744073709551616", "99999999999999999999",
	"1:20", "1:20:30", "190:20:30", "20:30.15", "12:30", "2001-01-01", "2001-1-1", "2001-01-01T00:00:00Z",
	"2001-01-01 00:00:00", "2001-12-14t21:59:43.10-05:00",
	"=", "<<", "1.2.3", "10.0.0.1", "1,000", "50%", "100m", "1.5", "64Mi", "1Ki", "1e3Mi", "http", "8080", "0xZZ", ".",
	"..", "-", "+", "a: b", "[1]", "{}", "{a: 1}",
}

// stricter are the spellings that this package rejects on purpose, by type.
var stricter = map[string][]string{
	"quantity": {"1e400", "-1e400"},               // the API server would compute with all digits
	"list":     {"~", "null", "Null", "NULL", ""}, // an empty item is a mistake
}

// TestScalarsAsKubectl decodes each spelling into fields of several types. kubectl reads a file
// with sigs.k8s.io/yaml and sends JSON, which the API server decodes. Both must reject the same
// spellings, and decode the others to equal values.
func TestScalarsAsKubectl(t *testing.T) {
	types := map[string]func() any{
		"bool":     func() any { return new(bool) },
		"*bool":    func() any { return new(*bool) },
		"string":   func() any { return new(string) },
		"int32":    func() any { return new(int32) },
		"int64":    func() any { return new(int64) },
		"float64":  func() any { return new(float64) },
		"port":     func() any { return new(intstr.IntOrString) },
		"quantity": func() any { return new(resource.Quantity) },
		"label":    func() any { return new(map[string]string) },
		"list":     func() any { return new([]string) },
		"any":      func() any { return new(any) },
	}
	for name, fresh := range types {
		for _, spelling := range spellings {
			text := "f: " + spelling + "\n"
			switch name {
			case "label":
				text = "f:\n  a: " + spelling + "\n"
				if len(spelling) > 2 && spelling[1] == '\n' || len(spelling) > 2 && spelling[2] == '\n' {
					continue // the indentation differs
				}
			case "list":
				text = "f:\n- " + spelling + "\n"
			}
			ours, ourErr := decodeField(text, fresh())
			theirs, theirErr := kubectlField(text, fresh())
			switch {
			case ourErr != nil && slices.Contains(stricter[name], spelling):
			case (ourErr == nil) != (theirErr == nil):
				t.Errorf("%q as %s: the error is %v, kubectl's is %v", spelling, name, ourErr, theirErr)
			case ourErr == nil && !cmp.Equal(ours, theirs):
				t.Errorf("%q as %s is %#v, kubectl's is %#v", spelling, name, ours, theirs)
			}
		}
	}
}

// decodeField decodes the field f with this package.
func decodeField(text string, out any) (any, error) {
	var errs Collector
	docs, _ := Parse("f.yaml", []byte(text), &errs)
	if len(docs) == 1 {
		Decode(docs[0].Field("f"), out)
	}
	return reflect.ValueOf(out).Elem().Interface(), errs.Err()
}

// kubectlField decodes the field f as kubectl and the API server do.
func kubectlField(text string, out any) (any, error) {
	data, err := kyaml.YAMLToJSON([]byte(text))
	if err != nil {
		return nil, err
	}
	var object struct {
		F json.RawMessage `json:"f"`
	}
	if err := json.Unmarshal(data, &object); err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(object.F))
	decoder.UseNumber()
	err = decoder.Decode(out)
	return reflect.ValueOf(out).Elem().Interface(), err
}

// TestKeysAsKubectl compares the keys of a mapping.
func TestKeysAsKubectl(t *testing.T) {
	for _, spelling := range spellings {
		if spelling == "" || spelling[0] == '|' || spelling[0] == '>' || spelling == "<<" || spelling == "a: b" ||
			spelling == "-" {
			continue // these are no keys
		}
		text := "f:\n  ? " + spelling + "\n  : x\n"
		ours, ourErr := decodeField(text, new(map[string]string))
		theirs, theirErr := kubectlField(text, new(map[string]string))
		if (ourErr == nil) != (theirErr == nil) || ourErr == nil && !cmp.Equal(ours, theirs) {
			t.Errorf("the key %s is %v (%v), kubectl's is %v (%v)", spelling, ours, ourErr, theirs, theirErr)
		}
	}
}

// TestPodAsKubectl decodes fields of a pod with unusual spellings.
func TestPodAsKubectl(t *testing.T) {
	const text = `
f:
  metadata: {name: web, labels: {on: a, 0x10: b, "y": c}, annotations: {a: "1:20"}}
  spec:
    hostNetwork: off
    shareProcessNamespace: yes
    priority: 1e3
    terminationGracePeriodSeconds: 0_30
    containers:
    - name: app
      image: 1:20
      stdin: ON
      ports: [{containerPort: 8e1}]
      resources: {limits: {cpu: 1_0, memory: 1e9, a.b/c: 0b11}}
      livenessProbe: {httpGet: {port: 0x50}, periodSeconds: 10.0}
      readinessProbe: {tcpSocket: {port: http}, initialDelaySeconds: ~}
`
	ours, ourErr := decodeField(text, new(v1.Pod))
	theirs, theirErr := kubectlField(text, new(v1.Pod))
	if ourErr != nil || theirErr != nil {
		t.Fatal(ourErr, theirErr)
	}
	if diff := cmp.Diff(theirs, ours); diff != "" {
		t.Error(diff)
	}
}
