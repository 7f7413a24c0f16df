package summary

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Seeds is a set of seeds as ranges, in increasing order.
type Seeds [][2]int64

// Add adds a seed. Seeds that are added in increasing order take the least time.
func (s *Seeds) Add(seed int64) {
	i, found := slices.BinarySearchFunc(*s, seed, func(r [2]int64, seed int64) int {
		switch {
		case r[1] < seed:
			return -1
		case r[0] > seed:
			return 1
		}
		return 0
	})
	if found {
		return
	}
	before := i > 0 && (*s)[i-1][1] == seed-1
	after := i < len(*s) && (*s)[i][0] == seed+1
	switch {
	case before && after:
		(*s)[i-1][1] = (*s)[i][1]
		*s = slices.Delete(*s, i, i+1)
	case before:
		(*s)[i-1][1] = seed
	case after:
		(*s)[i][0] = seed
	default:
		*s = slices.Insert(*s, i, [2]int64{seed, seed})
	}
}

// Count returns the number of seeds.
func (s Seeds) Count() int {
	n := int64(0)
	for _, r := range s {
		n += r[1] - r[0] + 1
	}
	return int(n)
}

// few is the number of ranges in the text of Seeds.
const few = 5

// String formats up to five ranges for people: "2, 7, 9..11 and 12 more". The number at the end
// counts seeds.
func (s Seeds) String() string {
	shown := s
	if len(s) > few+1 { // one more range is as short as the number of seeds left
		shown = s[:few]
	}
	text := shown.join(", ")
	if left := s.Count() - shown.Count(); left > 0 {
		text += fmt.Sprintf(" and %d more", left)
	}
	return text
}

// Label formats seeds with the word before them: "seed 2", "seeds 2, 7..9".
func (s Seeds) Label() string {
	if s.Count() == 1 {
		return "seed " + s.String()
	}
	return "seeds " + s.String()
}

// MarshalText formats all ranges, for programs: "2,7,9..11".
func (s Seeds) MarshalText() ([]byte, error) { return []byte(s.join(",")), nil }

func (s Seeds) join(separator string) string {
	var parts []string
	for _, r := range s {
		if r[0] == r[1] {
			parts = append(parts, strconv.FormatInt(r[0], 10))
		} else {
			parts = append(parts, fmt.Sprintf("%d..%d", r[0], r[1]))
		}
	}
	return strings.Join(parts, separator)
}
