package check

import "slices"

// rows lists all rows in the order of a report: their texts, and what a requirement on them means.
var rows = []struct {
	id    RowID
	limit bool // how long something may last; otherwise how long it takes
	text  string
	means string
}{
	{Start, true, "comes up if its start takes up to", "a start may take this long"},
	{Restart, true, "comes up again if its start takes up to", "a start after a kill or a crash may take this long"},
	{Retry, true, "comes up after a crash in its start within", "a start after a crash while starting may take this long"},
	{Stall, true, "survives a stall of up to", "a container survives a stall of this length"},
	{Silence, true, "survives not answering for up to", "a container survives not answering for this long"},
	{Serving, true, "stays in its Service in a stall of up to", "a container stays ready in a stall of this length"},
	{Ready, false, "up -> Ready", "a container that is up becomes ready within this time"},
	{Unready, false, "broken -> out of the Service", "a broken container leaves its Service within this time"},
	{Detect, false, "hung -> SIGTERM", "a hung container is stopped within this time"},
	{Recover, false, "hung -> Ready again", "a hung container is ready again within this time"},
}

// Rows returns all rows, in the order of a report.
func Rows() []RowID {
	var list []RowID
	for _, row := range rows {
		list = append(list, row.id)
	}
	return list
}

// CompareRows orders rows as a report does.
func CompareRows(a, b RowID) int {
	list := Rows()
	at := func(id RowID) int {
		if i := slices.Index(list, id); i >= 0 {
			return i
		}
		return len(list)
	}
	return at(a) - at(b)
}

// IsLimit reports whether a row is a limit and not a time.
func (id RowID) IsLimit() bool {
	for _, row := range rows {
		if row.id == id {
			return row.limit
		}
	}
	return false
}
