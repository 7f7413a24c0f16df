package value

import (
	"fmt"
	"strconv"
	"strings"

	"probesim.dev/internal/strict"
)

// Percent is a share from 0 to 1, written 5%.
type Percent float64

// UnmarshalText parses a percentage above 0% and at most 100%.
func (p *Percent) UnmarshalText(text []byte) error {
	s := string(text)
	number, isPercent := strings.CutSuffix(s, "%")
	f, err := strconv.ParseFloat(number, 64)
	if !isPercent || err != nil {
		return fmt.Errorf("%s is not a percentage such as 5%%", strict.Quote(s))
	}
	if !(f > 0 && f <= 100) {
		return fmt.Errorf("%s is not above 0%% and at most 100%%", strict.Quote(s))
	}
	*p = Percent(f / 100)
	return nil
}

func (p Percent) String() string { return strconv.FormatFloat(float64(p)*100, 'g', -1, 64) + "%" }
