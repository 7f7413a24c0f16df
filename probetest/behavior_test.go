package probetest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"testing"
)

// TestRuleIsDocumented checks that go doc shows the fields of Rule: the type is a struct, and not
// another name for one of another package.
func TestRuleIsDocumented(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "behavior.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	rule, ok := file.Scope.Lookup("Rule").Decl.(*ast.TypeSpec).Type.(*ast.StructType)
	if !ok || len(rule.Fields.List) < 15 {
		t.Error("go doc probetest.Rule shows no fields")
	}
}
