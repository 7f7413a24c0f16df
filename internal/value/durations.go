package value

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

// Durations are how long something takes in containers, such as a start. In the zero value, nothing
// is known.
type Durations struct {
	// in each container that Of does not name, except sidecars and init containers; nil: not known
	Ordinary *Interval
	Of       map[string]Interval // by the name of the container
}

// ParseDurations parses a list with commas of ranges, such as "40s..70s, envoy=1s..3s". One without
// a name is Ordinary. The error lists all errors.
func ParseDurations(text string) (Durations, error) {
	var d Durations
	var wrong []string
	for _, part := range strings.Split(text, ",") {
		name, written, named := strings.Cut(part, "=")
		if !named {
			name, written = "", part
		}
		name, written = strings.TrimSpace(name), strings.TrimSpace(written)
		i, err := ParseInterval(written)
		if err == nil && i.Max > LongestLimit {
			err = fmt.Errorf("must be at most %s", Format(LongestLimit))
		}
		switch {
		case named && name == "":
			err = errors.New("the name of a container is missing before =")
		case err != nil && named:
			err = fmt.Errorf("%s: %w", name, err)
		case err != nil:
		case d.Set(name, i):
		case named:
			err = fmt.Errorf("%s is there twice", name)
		default:
			err = fmt.Errorf("%s is the second one without the name of a container: write app=%[1]s", written)
		}
		if err != nil {
			wrong = append(wrong, err.Error())
		}
	}
	if len(wrong) > 0 {
		return Durations{}, errors.New(strings.Join(wrong, "; "))
	}
	return d, nil
}

// Set notes what is known of a container, or of the ordinary ones if it has no name. It returns
// false if that is known already.
func (d *Durations) Set(container string, i Interval) bool {
	_, known := d.Of[container]
	switch {
	case known || container == "" && d.Ordinary != nil:
		return false
	case container == "":
		d.Ordinary = &i
	case d.Of == nil:
		d.Of = map[string]Interval{container: i}
	default:
		d.Of[container] = i
	}
	return true
}

// In returns what is known of a container, or nil. An ordinary container is no sidecar.
func (d Durations) In(container string, ordinary bool) *Interval {
	if own, named := d.Of[container]; named {
		return &own
	}
	if !ordinary {
		return nil
	}
	return d.Ordinary
}

// Within returns what is known of the containers of a workload: a name such as web/app or
// prod/web/app is that of a container in it.
func (d Durations) Within(namespace, workload string) Durations {
	of := map[string]Interval{}
	for _, name := range d.Names() {
		in, container := path.Split(name)
		if _, has := of[container]; in == workload+"/" || in == namespace+"/"+workload+"/" || in == "" && !has {
			of[container] = d.Of[name]
		}
	}
	return Durations{d.Ordinary, of}
}

// String returns the durations as ParseDurations reads them.
func (d Durations) String() string {
	var list []string
	if d.Ordinary != nil {
		list = append(list, d.Ordinary.String())
	}
	for _, name := range d.Names() {
		list = append(list, name+"="+d.Of[name].String())
	}
	return strings.Join(list, ",")
}

// Names returns the containers that have a name here, sorted.
func (d Durations) Names() []string { return slices.Sorted(maps.Keys(d.Of)) }
