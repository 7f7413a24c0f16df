// Package render writes the report of a check for people and programs: as tables for a terminal, as
// Markdown, as annotations for GitHub, and as SARIF for code scanning. The report itself is stable
// JSON.
package render
