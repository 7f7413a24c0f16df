package fakeruntime

import (
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestDelaySets checks that each set has a valid range of each delay, which begins and ends no
// later than the range of the next slower set, and that the defaults are those of a typical node,
// except for times that the default node does not need.
func TestDelaySets(t *testing.T) {
	names := DelaySets()
	if want := []string{"fast", "typical", "slow"}; !slices.Equal(names, want) {
		t.Fatalf("the sets are %q, want %q", names, want)
	}
	if _, ok := DelaySet("default"); ok {
		t.Error("there is a set without a name in DelaySets")
	}
	var faster [DelayKinds]*Draw
	defaults := DefaultDelays()
	for _, name := range names {
		set, ok := DelaySet(name)
		if err := set.Validate(); err != nil || !ok {
			t.Fatalf("%s: %v, %t", name, err, ok)
		}
		for kind, d := range set.fields() {
			field := reflect.TypeFor[Delays]().Field(kind).Name
			if d == nil || d.Min == d.Max {
				t.Fatalf("%s: %s has no range", name, field)
			}
			if f := faster[kind]; f != nil && (d.Min < f.Min || d.Max <= f.Max) {
				t.Errorf("%s: %s is %v; the next faster set has %v", name, field, *d, *f)
			}
			faster[kind] = d
			if normal := defaults.fields()[kind]; name == "typical" && normal.Max > 0 && (normal.Min < d.Min ||
				normal.Max > d.Max) {
				t.Errorf("%s: %s does not contain the default %v", name, field, *normal)
			}
		}
	}
	one, _ := DelaySet("fast")
	one.Exec.Max = time.Hour
	if other, _ := DelaySet("fast"); other.Exec.Max == time.Hour {
		t.Error("two callers share the ranges of a set")
	}
}

func TestDelaysOver(t *testing.T) {
	base, own := Delays{Exec: exactly(1), GRPC: exactly(2)}, Delays{GRPC: exactly(3), APIGet: exactly(4)}
	if got, want := own.Over(base),
		(Delays{Exec: exactly(1), GRPC: exactly(3), APIGet: exactly(4)}); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestDelaySetsAreDocumented checks the table of docs/nodes.md.
func TestDelaySetsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../docs/nodes.md")
	if err != nil {
		t.Fatal(err)
	}
	for kind := range DelayKinds {
		name := reflect.TypeFor[Delays]().Field(int(kind)).Name
		row := "| `" + scenarioName(name) + "` |"
		for _, set := range DelaySets() {
			d, _ := DelaySet(set)
			row += fmt.Sprintf(" %s |", ranged(*d.fields()[kind]))
		}
		if !strings.Contains(string(page), "\n"+row+"\n") {
			t.Errorf("docs/nodes.md lacks the row\n%s", row)
		}
	}
}

// scenarioName returns the name of a delay in scenario files.
func scenarioName(field string) string {
	for _, acronym := range []string{"API", "HTTP", "TCP", "GRPC"} {
		if rest, ok := strings.CutPrefix(field, acronym); ok {
			return strings.ToLower(acronym) + rest
		}
	}
	return strings.ToLower(field[:1]) + field[1:]
}

func ranged(d Draw) string {
	short := func(d time.Duration) string {
		if d == 0 || d >= time.Second {
			return fmt.Sprintf("%gs", d.Seconds())
		}
		return fmt.Sprintf("%gms", d.Seconds()*1000)
	}
	return short(d.Min) + " to " + short(d.Max)
}
