//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package terminal

import (
	"os"
	"syscall"
	"unsafe"
)

// windowSize is struct winsize of ioctl_tty(2).
type windowSize struct{ rows, columns, x, y uint16 }

// columns returns the width of the window of a terminal. It returns false for another character
// device.
func columns(f *os.File) (n int, terminal bool) {
	var size windowSize
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), syscall.TIOCGWINSZ, uintptr(unsafe.Pointer(&size)))
	return int(size.columns), errno == 0
}
