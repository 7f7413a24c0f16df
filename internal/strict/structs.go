package strict

import (
	"reflect"
	"strings"
	"sync"
)

// structInfo describes a struct type for decoding.
type structInfo struct {
	fields map[string][]int // index by json name, including inlined structs
	names  []string
	listed []string // names without the fields that files cannot set yet
	pos    []int    // index of the field of type Pos; nil if there is none
}

var structs sync.Map // reflect.Type to *structInfo

func structOf(t reflect.Type) *structInfo {
	if info, ok := structs.Load(t); ok {
		return info.(*structInfo)
	}
	info := &structInfo{fields: map[string][]int{}}
	info.add(t, nil)
	structs.Store(t, info)
	return info
}

func (s *structInfo) add(t reflect.Type, prefix []int) {
	for i := range t.NumField() {
		f := t.Field(i)
		index := append(prefix[:len(prefix):len(prefix)], i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Type == posType && len(prefix) == 0:
			s.pos = index
		case name == "-" || !f.IsExported():
		case name == "" && (f.Anonymous || strings.Contains(options, "inline")):
			s.add(f.Type, index)
		default:
			s.addName(name, f, index)
		}
	}
}

func (s *structInfo) addName(name string, f reflect.StructField, index []int) {
	if name == "" {
		name = f.Name
	}
	if _, has := s.fields[name]; has {
		return // an outer field hides an inlined one of the same name
	}
	s.fields[name] = index
	s.names = append(s.names, name)
	if _, refused := reflect.Zero(f.Type).Interface().(interface{ Refused() }); !refused {
		s.listed = append(s.listed, name)
	}
}
