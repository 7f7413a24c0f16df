package command

import (
	"fmt"
	"io"
	"sync/atomic"

	"probesim.dev/internal/runner/terminal"
)

// progress shows the progress of long work: continuously on a terminal, and every minute elsewhere.
type progress struct {
	*terminal.Line
	text atomic.Pointer[string]
}

func newProgress(to io.Writer) *progress {
	p := &progress{}
	p.show("")
	p.Line = terminal.NewLine(to, true, func() string { return *p.text.Load() })
	return p
}

func (p *progress) show(format string, args ...any) { p.text.Store(new(fmt.Sprintf(format, args...))) }
