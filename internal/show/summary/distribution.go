package summary

import (
	"encoding/json"
	"slices"
)

// Distribution collects the values of one number over many runs. The zero value is empty.
type Distribution struct {
	values  []int64
	sorted  bool
	max     int64
	maxSeed int64
	min     int64
	never   Seeds
	nevers  int
}

// Add adds the value of a run with a seed. The value int64(Never) counts as Never.
func (d *Distribution) Add(seed, value int64) {
	if len(d.values) == 0 || value > d.max || value == d.max && seed < d.maxSeed {
		d.max, d.maxSeed = value, seed
	}
	if len(d.values) == 0 || value < d.min {
		d.min = value
	}
	if value == int64(Never) {
		d.never.Add(seed)
		d.nevers++
	}
	d.values = append(d.values, value)
	d.sorted = false
}

// Count returns the number of values.
func (d *Distribution) Count() int { return len(d.values) }

// Max returns the greatest value, and the lowest seed of a run that has it. There must be a value.
func (d *Distribution) Max() (value, seed int64) { return d.max, d.maxSeed }

// Never returns the number of values that are Never, and the seeds of their runs.
func (d *Distribution) Never() (int, Seeds) { return d.nevers, d.never }

// Min returns the smallest value. There must be a value.
func (d *Distribution) Min() int64 { return d.min }

// Quantile returns the quantile of p percent by nearest rank: the smallest value such that at least
// p percent of all values are not greater. It is always one of the values. There must be a value,
// and p must be from 1 to 100.
func (d *Distribution) Quantile(p int) int64 {
	values := d.Values()
	return values[(len(values)*p+99)/100-1]
}

// Median returns the quantile of 50 percent: of an even number of values, the smaller one of the
// middle two.
func (d *Distribution) Median() int64 { return d.Quantile(50) }

// Same reports whether all values are equal, or there are none.
func (d *Distribution) Same() bool { return len(d.values) == 0 || d.Min() == d.max }

// Values returns all values in increasing order. Do not modify the list.
func (d *Distribution) Values() []int64 {
	if !d.sorted {
		slices.Sort(d.values)
		d.sorted = true
	}
	return d.values
}

// Figures are a distribution for programs. A value is nil if it is Never.
type Figures struct {
	Count      int    `json:"count"`
	Min        *int64 `json:"min"`
	Median     *int64 `json:"median"`
	P95        *int64 `json:"p95"`
	Max        *int64 `json:"max"`
	MaxSeed    int64  `json:"maxSeed"`
	Never      int    `json:"never,omitempty"`
	NeverSeeds Seeds  `json:"neverSeeds,omitempty"`
}

// Figures returns the figures of the distribution, or nil without a value.
func (d *Distribution) Figures() *Figures {
	if d.IsZero() {
		return nil
	}
	return &Figures{d.Count(), orNil(d.min), orNil(d.Median()), orNil(d.Quantile(95)), orNil(d.max), d.maxSeed,
		d.nevers, d.never}
}

// MarshalJSON writes the figures of the distribution.
func (d *Distribution) MarshalJSON() ([]byte, error) { return json.Marshal(d.Figures()) }

// IsZero reports whether the distribution has no value.
func (d *Distribution) IsZero() bool { return d.Count() == 0 }

// orNil returns a value, or nil if it is Never.
func orNil(v int64) *int64 {
	if v == int64(Never) {
		return nil
	}
	return &v
}
