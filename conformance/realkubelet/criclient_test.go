package realkubelet

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"runtime"
	"strconv"
	"testing"
	"time"

	"google.golang.org/grpc/backoff"
	remote "k8s.io/cri-client/pkg"

	"probesim.dev/kube/kubeletconfig"
	simulated "probesim.dev/kubelet"
)

// The simulated CRI client, and the back-off that this package gives the real one, have the
// constants in the sources of the real client, of gRPC and of the kubelet's defaults.
func TestConstantsOfCRIClient(t *testing.T) {
	client := constantsBeside(t, remote.NewRemoteRuntimeService, "remote_runtime.go")
	own := constantsBeside(t, simulated.New, "cri_client.go")
	config, err := kubeletConfiguration(kubeletconfig.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what      string
		real, has float64
	}{
		{"the simulator's first delay", client["baseBackoffDelay"], own["leastReconnect"]},
		{"the simulator's longest delay", client["maxBackoffDelay"], own["mostReconnect"]},
		{"the simulator's growth", backoff.DefaultConfig.Multiplier, own["reconnectGrowth"]},
		{"the simulator's timeout", float64(config.RuntimeRequestTimeout.Duration), own["defaultRequestTimeout"]},
		{"the harness's first delay", client["baseBackoffDelay"], float64(criParams.Backoff.BaseDelay)},
		{"the harness's longest delay", client["maxBackoffDelay"], float64(criParams.Backoff.MaxDelay)},
		{"the harness's growth", backoff.DefaultConfig.Multiplier, criParams.Backoff.Multiplier},
		{"the harness's timeout", client["minConnectionTimeout"], float64(criParams.MinConnectTimeout)},
	} {
		if c.real == 0 || c.real != c.has {
			t.Errorf("%s is %v, and the kubelet has %v", c.what, c.has, c.real)
		}
	}
}

// constantsBeside returns the constants in a file in the directory of a function that are a number,
// or a multiple of a unit of time in nanoseconds.
func constantsBeside(t *testing.T, function any, file string) map[string]float64 {
	t.Helper()
	at, _ := runtime.FuncForPC(reflect.ValueOf(function).Pointer()).FileLine(reflect.ValueOf(function).Pointer())
	parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(filepath.Dir(at), file), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	constants := map[string]float64{}
	ast.Inspect(parsed, func(n ast.Node) bool {
		if spec, is := n.(*ast.ValueSpec); is && len(spec.Names) == len(spec.Values) {
			for i, name := range spec.Names {
				if v, known := numberOf(spec.Values[i]); known {
					constants[name.Name] = v
				}
			}
		}
		return true
	})
	return constants
}

var units = map[string]time.Duration{"Millisecond": time.Millisecond, "Second": time.Second, "Minute": time.Minute}

func numberOf(e ast.Expr) (v float64, known bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		v, err := strconv.ParseFloat(e.Value, 64)
		return v, err == nil
	case *ast.SelectorExpr:
		unit, known := units[e.Sel.Name]
		return float64(unit), known
	case *ast.BinaryExpr:
		x, xKnown := numberOf(e.X)
		y, yKnown := numberOf(e.Y)
		return x * y, e.Op == token.MUL && xKnown && yKnown
	}
	return 0, false
}
