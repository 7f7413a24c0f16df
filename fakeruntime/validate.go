package fakeruntime

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
)

// Validate returns an error that lists all delays that are negative or have an empty range, or nil.
func (d Delays) Validate() error {
	v := &validator{}
	v.delays("", d)
	return errors.Join(v.errs...)
}

// Validate returns an error that lists all invalid fields of the program, or nil.
func (p Pod) Validate() error {
	v := &validator{}
	if p.Replica < 0 {
		v.errorf("program.Replica", "is %d: it must not be negative", p.Replica)
	}
	v.delays("program.Delays.", p.Delays)
	for _, name := range slices.Sorted(maps.Keys(p.Containers)) {
		c, path := p.Containers[name], fmt.Sprintf("program.Containers[%q].", name)
		v.delays(path+"Delays.", c.Delays)
		if signal := c.Program.PreStopSignal; c.Program.PostStartSleep < 0 || c.Program.PreStopSleep < 0 ||
			signal != nil && *signal < 0 {
			v.errorf(path+"Program", "has a negative PostStartSleep, PreStopSleep or PreStopSignal")
		}
		for _, asks := range slices.Sorted(maps.Keys(c.Program.AnsweredBy)) {
			if agent := c.Program.AnsweredBy[asks].Container; agent == "" || agent == name {
				v.errorf(fmt.Sprintf("%sProgram.AnsweredBy[%q]", path, asks), "is %q: name another container", agent)
			}
		}
		for i := range c.Program.Rules {
			v.rule(fmt.Sprintf("%sProgram.Rules[%d].", path, i), &c.Program.Rules[i])
		}
	}
	return errors.Join(v.errs...)
}

// validator collects the errors of a program. A path ends with a period unless it is a whole field.
type validator struct {
	errs []error
	seen map[*Answer]bool // answers of Then; they can form a cycle
}

func (v *validator) errorf(path, format string, args ...any) {
	v.errs = append(v.errs, fmt.Errorf("%s "+format, append([]any{path}, args...)...))
}

func (v *validator) delays(path string, d Delays) {
	for i, draw := range d.fields() {
		if draw != nil {
			v.draw(path+reflect.TypeFor[Delays]().Field(i).Name, draw)
		}
	}
}

func (v *validator) draw(path string, d *Draw) {
	switch {
	case d == nil:
	case d.Min < 0:
		v.errorf(path, "is from %s to %s: it must not be negative", d.Min, d.Max)
	case d.Max < d.Min:
		v.errorf(path, "is from %s to %s: the range is empty", d.Min, d.Max)
	}
}

func (v *validator) integers(path string, r Range) {
	if r.Set && r.Max < r.Min {
		v.errorf(path, "is from %d to %d: the range is empty", r.Min, r.Max)
	}
}

func (v *validator) rule(path string, r *Rule) {
	v.integers(path+"Replica", r.Replica)
	v.integers(path+"Instance", r.Instance)
	if r.Clock < AfterStart || r.Clock > AtMoment {
		v.errorf(path+"Clock", "is %d: use AfterStart, AtScenario, AfterSigterm or AtMoment", r.Clock)
	}
	v.draw(path+"From", &r.From)
	v.draw(path+"For", r.For)
	v.draw(path+"Every", r.Every)
	if r.Every != nil && r.Every.Max == 0 {
		v.errorf(path+"Every", "is 0s: it must be positive")
	}
	if c := r.Chance; c != nil && !(0 <= *c && *c <= 1) { // NaN too
		v.errorf(path+"Chance", "is %v: it must be from 0 to 1", *c)
	}
	v.series(path+"Liveness", r.Liveness)
	v.series(path+"Readiness", r.Readiness)
	v.series(path+"Startup", r.Startup)
	v.series(path+"Probes", r.Probes)
	v.series(path+"PostStart", r.PostStart)
	v.series(path+"PreStop", r.PreStop)
	if x := r.Exit; x != nil && (x.Code < 0 || x.Code > 255) {
		v.errorf(path+"Exit.Code", "is %d: it must be from 0 to 255", x.Code)
	}
	if x := r.Exit; x != nil && x.Never && r.Clock != AfterSigterm {
		v.errorf(path+"Exit.Never", "needs the Clock AfterSigterm")
	}
	if r.Listens != nil && r.Chance != nil {
		v.errorf(path+"Listens", "cannot be used with Chance: a chance is of requests")
	}
	if r.Refuse && r.Clock != AfterSigterm {
		v.errorf(path+"Refuse", "needs the Clock AfterSigterm")
	}
}

func (v *validator) series(path string, s *Series) {
	if s == nil {
		return
	}
	if len(s.Items) == 0 {
		v.errorf(path+".Items", "is empty: leave out the series, or give an answer")
	}
	for i := range s.Items {
		item := fmt.Sprintf("%s.Items[%d]", path, i)
		if n := s.Items[i].Count; n < 0 {
			v.errorf(item+".Count", "is %d: it must not be negative", n)
		}
		v.answer(item+".Answer", &s.Items[i].Answer)
	}
}

var words = []Word{Answers, Refuses, Hangs, Stalls, Breaks}

func (v *validator) answer(path string, a *Answer) {
	if !slices.Contains(words, a.Word) {
		v.errorf(path+".Word", "is %q: use Answers, Refuses, Hangs, Stalls or Breaks", a.Word)
	}
	if a.Code < 0 || a.Code > 999 {
		v.errorf(path+".Code", "is %d: it must be from 0 to 999", a.Code)
	}
	v.draw(path+".Latency", a.Latency)
	if a.Handler != nil && a.Word != Answers {
		v.errorf(path+".Handler", "has no effect: it needs the Word Answers")
	}
	if IsNilFunc(a.Handler) {
		v.errorf(path+".Handler", "is a nil %T", a.Handler)
	}
	if then := a.Then; then != nil && !v.seen[then] {
		if v.seen == nil {
			v.seen = map[*Answer]bool{}
		}
		v.seen[then] = true
		v.answer(path+".Then", then)
	}
}

// IsNilFunc reports whether a handler is a nil function, such as http.HandlerFunc(nil).
func IsNilFunc(h http.Handler) bool {
	value := reflect.ValueOf(h)
	return value.Kind() == reflect.Func && value.IsNil()
}
