package schema

import (
	"reflect"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/value"
	"probesim.dev/internal/world/router"
	"probesim.dev/scenarios/format"
	"probesim.dev/trace/match"
	"probesim.dev/trace/traffic"
)

// Regular expressions for the notations of package value.
const (
	durationPattern = `\+?(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+`
	countPattern    = `[0-9]{1,10}`
	versionPattern  = `v[0-9]{1,4}\.[0-9]{1,4}(\.[0-9]{1,4}|-preview)?`
	wordPattern     = `([A-Za-z][-_A-Za-z0-9]{0,62}|[0-9]{1,3})`
	answerPattern   = `\s*` + wordPattern + `(\s+in\s+` + drawPattern + `)?\s*`
	drawPattern     = durationPattern + `(\.\.` + durationPattern + `)?`
)

func pattern(p string) map[string]any {
	return map[string]any{"type": "string", "pattern": "^" + p + "$"}
}

// rangeOf returns the pattern of a value that matches p, or of a range of such values.
func rangeOf(p string) string { return `(` + p + `|(` + p + `)?\.\.(` + p + `)?)` }

func integers(low, high int) map[string]any {
	return map[string]any{"type": "integer", "minimum": low, "maximum": high}
}

func anyOf(list ...map[string]any) map[string]any { return map[string]any{"anyOf": list} }

// answer is the schema of one answer. YAML reads a code as a number.
var answer = anyOf(pattern(answerPattern), integers(0, 599))

// item is the schema of an item in a list of answers.
var item = anyOf(pattern(answerPattern+`(\s+x[0-9]{1,10})?\s*`), integers(0, 599))

var intRange = anyOf(integers(0, 1_000_000_000), pattern(rangeOf(countPattern)))

// notations has the types of package value: their names in fields.txt, and their JSON Schemas.
var notations = map[reflect.Type]struct {
	name  string
	value map[string]any
}{
	reflect.TypeFor[value.Duration]():     {"duration", pattern(durationPattern)},
	reflect.TypeFor[value.Draw]():         {"draw", pattern(drawPattern)},
	reflect.TypeFor[value.DrawOrNever]():  {"drawOrNever", pattern("(never|" + drawPattern + ")")},
	reflect.TypeFor[value.Offset]():       {"offset", pattern(`-?` + durationPattern)},
	reflect.TypeFor[value.TimeRange]():    {"timeRange", pattern(rangeOf(durationPattern))},
	reflect.TypeFor[value.IntRange]():     {"intRange", intRange},
	reflect.TypeFor[value.VersionRange](): {"versionRange", pattern(rangeOf(versionPattern))},
	reflect.TypeFor[value.Percent]():      {"percentage", pattern(`[-+.0-9eE]+%`)},
	reflect.TypeFor[value.Answer]():       {"answer", answer},
	reflect.TypeFor[value.Series](): {"answers",
		anyOf(answer, map[string]any{"type": "array", "minItems": 1, "items": item})},
	reflect.TypeFor[format.EndpointAnswers](): {"endpointAnswers",
		anyOf(answer, map[string]any{"type": "array", "minItems": 1, "items": item}, map[string]any{
			"type": "object", "properties": map[string]any{"answeredBy": map[string]any{"type": "string"}},
			"required": []string{"answeredBy"}, "additionalProperties": false,
		})},
	reflect.TypeFor[traffic.Connections](): {"connections",
		anyOf(integers(1, traffic.MostConnections), pattern(`[1-9][0-9]{0,6}( until exit)?`))},
	reflect.TypeFor[value.Code](): {"code", anyOf(integers(0, 599), pattern(`([0-9]{1,3}|[A-Z_]+)`))},
	reflect.TypeFor[value.Exit](): {"exitCode", anyOf(integers(0, 255), pattern(`(never|[0-9]{1,3})`))},
}

// quantityPattern matches what resource.ParseQuantity accepts (pkg/api/resource/quantity.go of
// k8s.io/apimachinery).
const quantityPattern = `[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][-+]?[0-9]+)?`

// kubernetesValues are the types of Kubernetes whose form in YAML differs from their Go structs.
var kubernetesValues = map[reflect.Type]*Type{
	reflect.TypeFor[intstr.IntOrString](): scalar("IntOrString",
		map[string]any{"type": []string{"integer", "string"}}),
	reflect.TypeFor[resource.Quantity](): scalar("Quantity",
		anyOf(map[string]any{"type": "number"}, pattern(quantityPattern))),
	reflect.TypeFor[metav1.Time](): scalar("Time", map[string]any{"type": "string", "format": "date-time"}),
	reflect.TypeFor[metav1.MicroTime](): scalar("MicroTime",
		map[string]any{"type": "string", "format": "date-time"}),
	reflect.TypeFor[metav1.Duration]():      scalar("Duration", pattern(`-?`+durationPattern)),
	reflect.TypeFor[metav1.FieldsV1]():      scalar("FieldsV1", map[string]any{"type": "object"}),
	reflect.TypeFor[runtime.RawExtension](): scalar("RawExtension", map[string]any{"type": "object"}),
}

// enums has the values of those string types of Kubernetes that the simulator reads, or that people
// often mistype.
var enums = map[reflect.Type][]string{
	reflect.TypeFor[v1.RestartPolicy]():            {"Always", "OnFailure", "Never"},
	reflect.TypeFor[v1.ContainerRestartPolicy]():   {"Always", "OnFailure", "Never"},
	reflect.TypeFor[v1.PullPolicy]():               {"Always", "IfNotPresent", "Never"},
	reflect.TypeFor[v1.URIScheme]():                {"HTTP", "HTTPS"},
	reflect.TypeFor[v1.Protocol]():                 {"TCP", "UDP", "SCTP"},
	reflect.TypeFor[v1.DNSPolicy]():                {"ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"},
	reflect.TypeFor[v1.TerminationMessagePolicy](): {"File", "FallbackToLogsOnError"},
	reflect.TypeFor[v1.ConditionStatus]():          {"True", "False", "Unknown"},
}

// fieldEnums has the values of fields of scenario files whose Go type is string.
var fieldEnums = map[string][]string{
	"Expect.runs":           {format.EveryRun, format.SomeRun},
	"FailCall.call":         fakeruntime.Calls(),
	"FailCall.effect":       {format.EffectNone, format.EffectDone},
	"RuntimeDown.condition": {fakeruntime.RuntimeReady, fakeruntime.NetworkReady},
	"Delays.set":            fakeruntime.DelaySets(),
	"ControlPlane.set":      fakeruntime.DelaySets(),
	"Router.kind":           router.Names(),
}

// special returns the type of a Go type whose form in YAML differs from its structure, or nil.
func (b *builder) special(t reflect.Type) *Type {
	if n, ok := notations[t]; ok {
		return &Type{Name: n.name, Text: b.text(n.name), value: n.value}
	}
	switch t {
	case reflect.TypeFor[match.Fields]():
		return b.state()
	case reflect.TypeFor[match.Record]():
		return b.record()
	case reflect.TypeFor[match.Transitions]():
		return b.transitions()
	}
	return kubernetesValues[t]
}

// textMatch returns the schema of a match of a text field: one of the words, or an expression
// between slashes. nil words allow any text.
func textMatch(words []string) map[string]any {
	if words == nil {
		return map[string]any{"type": []string{"string", "number", "boolean"}}
	}
	return anyOf(map[string]any{"enum": words}, pattern(`/.+/`))
}

// match returns the type of a match of a field. The field can occur with several types.
func (b *builder) match(fields ...match.Described) *Type {
	t := &Type{Name: "match", Text: b.text("match")}
	var values []map[string]any
	for _, f := range fields {
		switch f.Type {
		case value.Bool:
			values = append(values, map[string]any{"enum": []any{true, false, "true", "false"}})
		case value.Int:
			values = append(values, intRange)
		case value.Time:
			values = append(values, pattern(rangeOf(durationPattern)))
		default:
			values = append(values, textMatch(f.Words))
			t.enum = f.Words
		}
	}
	t.value = values[0]
	if len(values) > 1 {
		t.value = anyOf(values...)
	}
	return t
}

// state returns the type of a matcher of the status of a pod or a container.
func (b *builder) state() *Type {
	t := &Type{Name: "State", Text: b.text("State"), id: "State"}
	byName := map[string][]match.Described{}
	var names []string
	for _, f := range slices.Concat(match.PodFields(), match.ContainerFields(), match.WorkloadFields()) {
		if byName[f.Name] == nil {
			names = append(names, f.Name)
		}
		if len(byName[f.Name]) == 0 || byName[f.Name][0].Type != f.Type {
			byName[f.Name] = append(byName[f.Name], f)
		}
	}
	for _, name := range names {
		t.Fields = append(t.Fields, &Field{Name: name, Text: b.text("State." + name), Type: b.match(byName[name]...)})
	}
	return t
}

// record returns the type of a matcher of records. The kind determines the other fields.
func (b *builder) record() *Type {
	t := &Type{Name: "Record", Text: b.text("Record"), id: "Record"}
	t.Fields = append(t.Fields, &Field{Name: "kind", Text: b.text("Record.kind"),
		Type: enum(match.RecordKinds()), required: true})
	for _, f := range match.RecordFields() {
		t.Fields = append(t.Fields, &Field{Name: f.Name, Text: b.text("Record." + f.Name), Type: b.match(f)})
	}
	for _, kind := range match.Kinds() {
		t.variants = append(t.variants, variant{string(kind.Kind), kind.Fields})
	}
	return t
}

// transitions returns the type of a matcher of the values of one field.
func (b *builder) transitions() *Type {
	t := &Type{Name: "Transitions", Text: b.text("Expect.transitions"), id: "Transitions"}
	for _, f := range b.state().Fields {
		values := anyOf(f.Type.value, map[string]any{"enum": []string{"any"}})
		elem := &Type{Name: f.Type.Name, Text: f.Type.Text, enum: f.Type.enum, value: values}
		t.Fields = append(t.Fields, &Field{Name: f.Name, Text: f.Text, Type: &Type{List: true, Elem: elem}})
	}
	return t
}
