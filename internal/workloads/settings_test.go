package workloads

import (
	"slices"
	"strings"
	"testing"

	"probesim.dev/internal/input"
)

const twoWorkloads = `# of the shop
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - name: app
    image: example.com/web:1
    startupProbe: {httpGet: {path: /, port: 80}, periodSeconds: 5, failureThreshold: 6} # 30 s
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: cart}
spec:
  selector: {matchLabels: {app: cart}}
  template:
    metadata: {labels: {app: cart}}
    spec:
      initContainers:
      - name: proxy
        image: example.com/proxy:1
        restartPolicy: Always
        livenessProbe:
          tcpSocket: {port: 81}
      containers:
      - {name: app, image: example.com/cart:1}
`

func TestSet(t *testing.T) {
	tests := []struct {
		name    string
		setting Setting
		was     int32
		want    string // a line of the file
	}{
		{"in braces", Setting{Line: 2, Container: "app", Probe: "startupProbe", Field: "failureThreshold", Value: 7}, 6,
			"    startupProbe: {httpGet: {path: /, port: 80}, periodSeconds: 5, failureThreshold: 7} # 30 s\n"},
		{"a default", Setting{Line: 11, Container: "proxy", Probe: "livenessProbe", Field: "periodSeconds", Value: 3},
			10, "          periodSeconds: 3\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := input.File{Name: "shop.yaml", Data: []byte(twoWorkloads)}
			data, err := Set(f, test.setting)
			if err != nil {
				t.Fatal(err)
			}
			lines := slices.Collect(strings.SplitAfterSeq(string(data), "\n"))
			if !slices.Contains(lines, test.want) {
				t.Errorf("no line %q in\n%s", test.want, data)
			}
			same := func(s Setting) bool {
				s.Value, s.list, s.template = test.setting.Value, "", ""
				return s == test.setting
			}
			value := func(data []byte) int32 {
				list, err := Settings(input.File{Data: data})
				i := slices.IndexFunc(list, same)
				if err != nil || i < 0 {
					t.Fatalf("Settings: %v, %v", list, err)
				}
				return list[i].Value
			}
			if was, is := value([]byte(twoWorkloads)), value(data); was != test.was || is != test.setting.Value {
				t.Errorf("the value was %d and is %d, want %d and %d", was, is, test.was, test.setting.Value)
			}
		})
	}
	f := input.File{Data: []byte(twoWorkloads)}
	if data, err := Set(f, Setting{Line: 2, Container: "other"}); err != nil || string(data) != twoWorkloads {
		t.Errorf("a setting that is not there: %v\n%s", err, data)
	}
	if _, err := Set(input.File{Data: []byte("kind: Pod\n")}, Setting{}); err == nil {
		t.Error("no error for an invalid manifest")
	}
}
