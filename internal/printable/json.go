package printable

import (
	"bytes"
	"encoding/json"
	"io"
)

// WriteJSON writes a value as JSON that is safe to print.
func WriteJSON(w io.Writer, doc any) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(doc); err != nil {
		return err
	}
	_, err := w.Write(JSON(nil, b.Bytes()))
	return err
}
