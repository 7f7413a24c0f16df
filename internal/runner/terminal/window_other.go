//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package terminal

import "os"

func columns(*os.File) (n int, terminal bool) { return 0, true }
