package value

import (
	"errors"
	"time"
)

// Offset is a signed length of time, from -MaxDuration to MaxDuration, but not 0.
type Offset time.Duration

// UnmarshalText parses Go's notation, such as -1m30s or 45s.
func (o *Offset) UnmarshalText(text []byte) error {
	d, err := parseSigned(string(text))
	switch {
	case err != nil:
		return err
	case d == 0:
		return errors.New("must not be 0s")
	}
	*o = Offset(d)
	return nil
}

// Time returns o as a time.Duration.
func (o Offset) Time() time.Duration { return time.Duration(o) }

func (o Offset) String() string { return Format(time.Duration(o)) }
