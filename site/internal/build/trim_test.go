package build

import (
	"go/ast"
	"strings"
	"testing"
)

// TestWithout checks that declarations go with the imports that only they need.
func TestWithout(t *testing.T) {
	got, err := without([]byte(`package p

import (
	"errors"
	"fmt"
	other "strings"
)

var err = errors.New("x")

func Marshal() { fmt.Println(other.ToLower("x")) }

func (x T) String() string { return fmt.Sprint(int(x)) }
`), func(d ast.Decl, _ []byte) bool {
		f, is := d.(*ast.FuncDecl)
		return is && f.Name.Name == "Marshal"
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{`"errors"`, `"fmt"`, "func (x T) String()"} {
		if !strings.Contains(string(got), text) {
			t.Errorf("%s is missing in\n%s", text, got)
		}
	}
	for _, text := range []string{"Marshal", "strings"} {
		if strings.Contains(string(got), text) {
			t.Errorf("%s is left in\n%s", text, got)
		}
	}
}

// TestTrimmed checks which files of the modules change.
func TestTrimmed(t *testing.T) {
	const source = "package p\n\nfunc Size() {}\n"
	for name, want := range map[string]string{
		"api@v0.37.2/core/v1/types_swagger_doc_generated.go":                "",
		"api@v0.37.2/core/v1/generated.pb.go":                               "package p\n",
		"api@v0.37.2/core/v1/types.go":                                      source,
		"apimachinery@v0.37.2/pkg/apis/meta/v1/generated.pb.go":             source,
		"apimachinery@v0.37.2/pkg/util/strategicpatch/types.go":             "",
		"apimachinery@v0.37.2/pkg/runtime/serializer/cbor/direct/direct.go": noCBOR,
	} {
		got, err := trimmed(name, []byte(source))
		if err != nil || strings.TrimSpace(string(got)) != strings.TrimSpace(want) {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
	}
}
