package value

import (
	"fmt"
	"strconv"

	"probesim.dev/internal/strict"
)

// Exit is how a program exits by itself, written as an exit code or never.
type Exit struct {
	Code  int32
	Never bool
}

// UnmarshalText parses an exit code from 0 to 255, or never.
func (e *Exit) UnmarshalText(text []byte) error {
	s := string(text)
	if s == "never" {
		e.Never = true
		return nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 || n > 255 {
		return fmt.Errorf("%s is neither an exit code from 0 to 255 nor never", strict.Quote(s))
	}
	e.Code = int32(n)
	return nil
}

func (e Exit) String() string {
	if e.Never {
		return "never"
	}
	return strconv.Itoa(int(e.Code))
}
