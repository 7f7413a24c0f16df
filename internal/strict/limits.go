package strict

// What a file may be. A file that is larger is not parsed.
const (
	MaxFileSize  = 4 << 20 // bytes
	MaxDepth     = 64      // of nested mappings and lists
	MaxNodes     = 500_000 // values in a file, with every alias written out
	MaxDocuments = 1_000   // in a file
	MaxErrors    = 1_000   // that are listed; the others are counted
)
