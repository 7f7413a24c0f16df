package strict

// Limits of a file.
const (
	MaxFileSize  = 4 << 20 // bytes
	MaxDepth     = 64      // of nested mappings and lists
	MaxNodes     = 500_000 // values in a file, with all aliases expanded
	MaxDocuments = 1_000   // per file
	MaxErrors    = 1_000   // further errors are only counted
)
