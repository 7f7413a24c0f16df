package command

import (
	"fmt"
	"os"
)

// progress says how far long work is: always on a terminal, now and then elsewhere.
type progress struct {
	to       *os.File
	total    int
	terminal bool
	shown    bool
	told     int
}

// progressEvery is after how many seeds there is a line where no terminal is.
const progressEvery = 50

func newProgress(to *os.File, total int) *progress {
	info, err := to.Stat()
	return &progress{to: to, total: total, terminal: err == nil && info.Mode()&os.ModeCharDevice != 0}
}

// show says that some seeds are done and some of them differ.
func (p *progress) show(done, differ int) {
	text := fmt.Sprintf("%d of %d seeds, %d differ", done, p.total, differ)
	switch {
	case p.terminal:
		fmt.Fprint(p.to, "\r\x1b[K", text)
		p.shown = true
	case done/progressEvery > p.told && done < p.total:
		p.told = done / progressEvery
		fmt.Fprintln(p.to, text)
	}
}

// clear makes room for output.
func (p *progress) clear() {
	if p.shown {
		fmt.Fprint(p.to, "\r\x1b[K")
		p.shown = false
	}
}
