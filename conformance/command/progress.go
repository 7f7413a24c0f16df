package command

import (
	"fmt"
	"os"
)

// progress shows the progress of long work: continuously on a terminal, and occasionally elsewhere.
type progress struct {
	to       *os.File
	total    int
	terminal bool
	shown    bool
	reported int
}

// progressEvery is the number of seeds between two lines if the output is not a terminal.
const progressEvery = 50

func newProgress(to *os.File, total int) *progress {
	info, err := to.Stat()
	return &progress{to: to, total: total, terminal: err == nil && info.Mode()&os.ModeCharDevice != 0}
}

// show reports how many seeds are done and how many of their runs differ.
func (p *progress) show(done, differ int) {
	text := fmt.Sprintf("%d of %d seeds, %d differ", done, p.total, differ)
	switch {
	case p.terminal:
		fmt.Fprint(p.to, "\r\x1b[K", text)
		p.shown = true
	case done/progressEvery > p.reported && done < p.total:
		p.reported = done / progressEvery
		fmt.Fprintln(p.to, text)
	}
}

// clear removes the progress line before other output.
func (p *progress) clear() {
	if p.shown {
		fmt.Fprint(p.to, "\r\x1b[K")
		p.shown = false
	}
}
