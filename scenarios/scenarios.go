package scenarios

import (
	"probesim.dev/internal/strict"
	"probesim.dev/scenarios/plan"
)

// Error is an error in a scenario file or manifest, with its position and field path.
type Error = strict.Error

// Errors is a list of all errors in the loaded files, sorted by position. Its text has one error
// per line, in the form file:line:column: field.path: message.
type Errors = strict.Errors

// Scenario is a scenario of a file.
type Scenario = plan.Scenario

// Plan is a run of a scenario.
type Plan = plan.Plan
