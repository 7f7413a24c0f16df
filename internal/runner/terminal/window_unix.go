//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package terminal

import (
	"os"
	"syscall"
	"unsafe"
)

// windowSize is struct winsize of ioctl_tty(2).
type windowSize struct{ rows, columns, x, y uint16 }

func window(f *os.File) (size windowSize, ok bool) {
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, f.Fd(), syscall.TIOCGWINSZ, uintptr(unsafe.Pointer(&size)))
	return size, errno == 0
}

// hasWindow distinguishes a terminal from other character devices.
func hasWindow(f *os.File) bool {
	_, ok := window(f)
	return ok
}

func columns(f *os.File) int {
	size, _ := window(f)
	return int(size.columns)
}
