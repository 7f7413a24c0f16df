package value

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"probesim.dev/internal/strict"
)

// Answer is the response of a program to a request, written WORD or WORD in LATENCY.
type Answer struct {
	Word string
	In   *Draw // nil: the usual response time
}

// Built-in words.
const (
	OK    = "ok"
	Fail  = "fail"
	Down  = "down"
	Hang  = "hang"
	Stall = "stall"
	Warn  = "warn"
	Break = "error"
)

// Words are the built-in words, in the order of the reference.
var Words = []string{OK, Fail, Down, Hang, Stall, Warn, Break}

// maxWord is the maximum length of a word in bytes.
const maxWord = 63

var namePattern = regexp.MustCompile(`^[A-Za-z][-_A-Za-z0-9]*$`)

// UnmarshalText parses an answer. It does not check whether the word is known.
func (a *Answer) UnmarshalText(text []byte) error {
	words := strings.Fields(string(text))
	switch {
	case len(words) == 1:
	case len(words) == 3 && words[1] == "in":
		a.In = new(Draw)
		if err := a.In.UnmarshalText([]byte(words[2])); err != nil {
			return err
		}
	default:
		return fmt.Errorf("%s is not an answer: write a word such as ok, or ok in 2s", strict.Quote(string(text)))
	}
	a.Word = words[0]
	if _, isCode := ParseCode(a.Word); !isCode && !IsName(a.Word) {
		return fmt.Errorf("%s is neither a word such as ok nor a code such as 503%s", strict.Quote(a.Word),
			strict.DidYouMean(a.Word, []string{WithDigits(a.Word)}))
	}
	if a.In != nil && (a.Word == Hang || a.Word == Stall) {
		return fmt.Errorf("%s cannot be used with \"in\": it has no latency", a.Word)
	}
	return nil
}

// WithDigits returns the code that a word with letters in place of digits stands for, such as 503
// for 5o3, or an empty string.
func WithDigits(word string) string {
	text := strings.NewReplacer("o", "0", "O", "0", "l", "1", "I", "1").Replace(word)
	if _, isCode := ParseCode(text); !isCode {
		return ""
	}
	return text
}

func (a Answer) String() string {
	if a.In == nil {
		return a.Word
	}
	return a.Word + " in " + a.In.String()
}

// IsName reports whether s can be a word.
func IsName(s string) bool { return len(s) <= maxWord && namePattern.MatchString(s) }

// Code is the code of an answer as written: a number, or the status of a gRPC health check.
type Code string

// grpcCodes are the statuses of a gRPC health check and the codes with which a call can fail
// (google.golang.org/grpc/codes).
var grpcCodes = map[string]bool{
	"SERVING": true, "NOT_SERVING": true, "UNKNOWN": true, "SERVICE_UNKNOWN": true,
	"CANCELLED": true, "INVALID_ARGUMENT": true, "DEADLINE_EXCEEDED": true, "NOT_FOUND": true,
	"ALREADY_EXISTS": true, "PERMISSION_DENIED": true, "RESOURCE_EXHAUSTED": true,
	"FAILED_PRECONDITION": true, "ABORTED": true, "OUT_OF_RANGE": true, "UNIMPLEMENTED": true,
	"INTERNAL": true, "UNAVAILABLE": true, "DATA_LOSS": true, "UNAUTHENTICATED": true,
}

// HealthStatuses returns the statuses of a gRPC health check and the codes with which a call can
// fail, sorted.
func HealthStatuses() []string { return slices.Sorted(maps.Keys(grpcCodes)) }

// ParseCode returns s as a code, and reports whether it is one.
func ParseCode(s string) (Code, bool) {
	n, err := strconv.Atoi(s)
	isNumber := err == nil && n >= 0 && n <= 599 && strconv.Itoa(n) == s
	return Code(s), isNumber || grpcCodes[s]
}

// UnmarshalText parses a code.
func (c *Code) UnmarshalText(text []byte) error {
	code, ok := ParseCode(string(text))
	if !ok {
		return fmt.Errorf("%s is not a code: write an exit code, an HTTP status or a gRPC status such as SERVING",
			strict.Quote(string(text)))
	}
	*c = code
	return nil
}

// StatusCode returns the code as the status of an HTTP response. An empty code is 200.
func (c Code) StatusCode() (int32, error) {
	if c == "" {
		return 200, nil
	}
	n, err := strconv.Atoi(string(c))
	if err != nil || n < 100 || n > 599 {
		return 0, fmt.Errorf("%s is not an HTTP status: those are 100 to 599", c)
	}
	return int32(n), nil
}

// HealthStatus returns the code as the status of a gRPC health check. An empty code is SERVING.
func (c Code) HealthStatus() (string, error) {
	switch {
	case c == "":
		return "SERVING", nil
	case !grpcCodes[string(c)]:
		return "", fmt.Errorf("%s is not the status of a gRPC health check, such as NOT_SERVING or UNAVAILABLE", c)
	}
	return string(c), nil
}

// ExitCode returns the code as the exit code of a command. An empty code is 0.
func (c Code) ExitCode() (int32, error) {
	if c == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(string(c))
	if err != nil || n > 255 {
		return 0, fmt.Errorf("%s is not an exit code: those are 0 to 255", c)
	}
	return int32(n), nil
}

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
