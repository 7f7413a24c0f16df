// Package format has the types of scenario files, as they are decoded: a scenario with its pods,
// rules, steps and expectations. docs/format.md describes every field.
package format
