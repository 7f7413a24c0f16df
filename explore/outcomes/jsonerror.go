package outcomes

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// JSONError returns the error of a decoder with its place in the data, as "line:column: what is wrong".
func JSONError(data []byte, err error) error {
	at := func(offset int64) string {
		before := data[:max(0, min(offset, int64(len(data))))]
		return fmt.Sprintf("%d:%d", bytes.Count(before, []byte("\n"))+1, len(before)-bytes.LastIndexByte(before, '\n'))
	}
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("%s: not valid JSON: %w", at(e.Offset-1), err)
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		what := "an object"
		switch kind := e.Type.Kind().String(); {
		case strings.Contains(kind, "int") || strings.Contains(kind, "float"):
			what = "a number"
		case kind == "slice":
			what = "a list"
		case kind == "string" || kind == "bool":
			what = "a " + kind
		}
		got := "a " + e.Value
		switch literal, number := strings.CutPrefix(e.Value, "number "); {
		case number && what == "a number":
			what, got = "a whole number of 64 bits", literal
		case e.Value == "array" || e.Value == "object":
			got = "an " + e.Value
		}
		return fmt.Errorf("%s: %s must be %s, and is %s", at(e.Offset-1), e.Field, what, got)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%s: the file ends too early", at(int64(len(data))))
	}
	return err
}
