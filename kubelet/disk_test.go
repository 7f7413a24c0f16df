package kubelet

import (
	"reflect"
	"testing"
)

// A copy of a disk has everything that the disk has, and no map of it.
func TestDiskCopy(t *testing.T) {
	d := NewDisk()
	var fill func(v reflect.Value) // an entry in each map
	fill = func(v reflect.Value) {
		for i := range v.NumField() {
			f := reflect.NewAt(v.Field(i).Type(), v.Field(i).Addr().UnsafePointer()).Elem()
			if f.Kind() == reflect.Struct {
				fill(f)
				continue
			}
			value := reflect.New(f.Type().Elem()).Elem()
			if value.Kind() == reflect.Map {
				value.Set(reflect.MakeMap(value.Type()))
			}
			f.SetMapIndex(reflect.New(f.Type().Key()).Elem(), value)
		}
	}
	fill(reflect.ValueOf(d).Elem())
	c := d.Copy()
	if !reflect.DeepEqual(c, d) {
		t.Errorf("the copy is %+v, not %+v", c, d)
	}
	var compare func(a, b reflect.Value)
	compare = func(a, b reflect.Value) {
		for i := range a.NumField() {
			switch a.Field(i).Kind() {
			case reflect.Struct:
				compare(a.Field(i), b.Field(i))
			case reflect.Map:
				if a.Field(i).Pointer() == b.Field(i).Pointer() {
					t.Errorf("the copy shares %s", a.Type().Field(i).Name)
				}
			}
		}
	}
	compare(reflect.ValueOf(c).Elem(), reflect.ValueOf(d).Elem())
	c.actuated[""]["app"] = &amounts{cpuLimit: 1}
	if len(d.actuated[""]) > 0 {
		t.Error("the copy shares the resources of a pod")
	}
}
