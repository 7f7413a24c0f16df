package status_test

import (
	"reflect"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"probesim.dev/status"
)

// Equal agrees with reflect.DeepEqual about statuses that differ in any one field, at any depth. A
// new field of the API that Equal does not know fails this test.
func TestEqual(t *testing.T) {
	full := filled(t, reflect.TypeFor[v1.PodStatus]()).Interface().(v1.PodStatus)
	usual := *full.DeepCopy()
	usual.ResourceClaimStatuses, usual.ExtendedResourceClaimStatus, usual.NodeAllocatableResourceClaimStatuses = nil,
		nil, nil
	usual.AllocatedResources, usual.Resources, usual.VolumeHealth = nil, nil, nil
	for _, list := range [][]v1.ContainerStatus{usual.ContainerStatuses, usual.InitContainerStatuses,
		usual.EphemeralContainerStatuses} {
		c := &list[0]
		c.AllocatedResources, c.VolumeMounts, c.User, c.AllocatedResourcesStatus, c.StopSignal = nil, nil, nil, nil, nil
	}
	for name, s := range map[string]v1.PodStatus{"full": full, "usual": usual, "empty": {}} {
		same := s.DeepCopy()
		if !status.Equal(&s, same) || !status.Equal(same, &s) {
			t.Fatalf("the %s status differs from its copy", name)
		}
		changed := s.DeepCopy()
		n := 0
		eachChange(t, name, reflect.ValueOf(changed).Elem(), func(path string) {
			n++
			if want := reflect.DeepEqual(&s, changed); status.Equal(&s, changed) != want ||
				status.Equal(changed, &s) != want {
				t.Errorf("%s: Equal does not report %v", path, want)
			}
		})
		if n < 20 {
			t.Errorf("the %s status has only %d changes", name, n)
		}
	}
}

// eachChange changes one thing after the other in v, calls check, and restores it.
func eachChange(t *testing.T, path string, v reflect.Value, check func(path string)) {
	before := reflect.ValueOf(v.Interface())
	try := func(what string, to reflect.Value) {
		v.Set(to)
		check(path + what)
		v.Set(before)
	}
	switch v.Interface().(type) {
	case metav1.Time:
		try(" later", reflect.ValueOf(metav1.NewTime(v.Interface().(metav1.Time).Add(time.Second))))
		try(" elsewhere", reflect.ValueOf(metav1.NewTime(v.Interface().(metav1.Time).In(time.FixedZone("zone", 3600)))))
		try(" in an equal zone", reflect.ValueOf(
			metav1.NewTime(v.Interface().(metav1.Time).In(time.FixedZone("zone", 60)))))
		return
	case resource.Quantity:
		try(" more", reflect.ValueOf(resource.MustParse("17")))
		return
	}
	if !v.IsZero() {
		try(" zero", reflect.Zero(v.Type()))
	} else {
		try(" filled", filled(t, v.Type()))
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			eachChange(t, path+"."+v.Type().Field(i).Name, v.Field(i), check)
		}
	case reflect.Slice:
		try(" empty", reflect.MakeSlice(v.Type(), 0, 0))
		try(" longer", reflect.Append(before, filled(t, v.Type().Elem())))
		for i := range v.Len() {
			eachChange(t, path+"[]", v.Index(i), check)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			eachChange(t, path, v.Elem(), check)
		}
	case reflect.String:
		try(" other", reflect.ValueOf(v.String()+"x").Convert(v.Type()))
	case reflect.Int32, reflect.Int64:
		try(" other", reflect.ValueOf(v.Int()+1).Convert(v.Type()))
	}
}

// filled returns a value of a type whose fields are all set.
func filled(t *testing.T, of reflect.Type) reflect.Value {
	v := reflect.New(of).Elem()
	switch v.Interface().(type) {
	case metav1.Time:
		v.Set(reflect.ValueOf(metav1.NewTime(time.Date(2000, 1, 2, 3, 4, 5, 0, time.FixedZone("zone", 60)))))
		return v
	case resource.Quantity:
		v.Set(reflect.ValueOf(resource.MustParse("3")))
		return v
	}
	switch of.Kind() {
	case reflect.Struct:
		for i := range of.NumField() {
			v.Field(i).Set(filled(t, of.Field(i).Type))
		}
	case reflect.Slice:
		v.Set(reflect.Append(v, filled(t, of.Elem())))
	case reflect.Pointer:
		v.Set(reflect.New(of.Elem()))
		v.Elem().Set(filled(t, of.Elem()))
	case reflect.Map:
		v.Set(reflect.MakeMap(of))
		v.SetMapIndex(filled(t, of.Key()), filled(t, of.Elem()))
	case reflect.String:
		v.SetString("text")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int32, reflect.Int64:
		v.SetInt(7)
	default:
		t.Fatalf("no value for %v", of)
	}
	return v
}
