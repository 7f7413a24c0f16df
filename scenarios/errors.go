package scenarios

import (
	"probesim.dev/internal/strict"
)

// Pos is a place in a file.
type Pos = strict.Pos

// Error is one thing that is wrong in a scenario file, and where.
type Error = strict.Error

// Errors is everything that is wrong in the files that were loaded, sorted by place, one to a line:
// file:line:column: field.path: message.
type Errors = strict.Errors
