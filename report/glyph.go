package report

// glyphs are the characters of a timeline.
type glyphs struct {
	success, successes rune // one probe run in a column, several
	failed, someFailed rune // all runs in the column, some of several
	warning, broken    rune

	running, killing, stopping, waiting rune
	exit, done                          rune // with another code than 0, with 0

	yes, no, both, up, down rune // of a condition; up and down: it changes in this column

	axis, tick, first, last, gap rune
	mark                         rune
	ellipsis                     string
}

var unicodeGlyphs = glyphs{
	success: '·', successes: '•', failed: '✗', someFailed: '×', warning: 'w', broken: '!',
	running: '█', killing: '░', stopping: '▒', waiting: '┄', exit: '╳', done: '┤',
	yes: '━', no: '─', both: '╍', up: '╼', down: '╾',
	axis: '─', tick: '┴', first: '└', last: '┘', gap: '┈',
	mark: '▼', ellipsis: "…",
}

var asciiGlyphs = glyphs{
	success: '.', successes: ':', failed: 'X', someFailed: 'x', warning: 'w', broken: '!',
	running: '#', killing: ',', stopping: '/', waiting: '~', exit: '*', done: ']',
	yes: '=', no: '-', both: '%', up: '=', down: '-',
	axis: '-', tick: '+', first: '+', last: '+', gap: '.',
	mark: 'v', ellipsis: "..",
}

func (o Options) glyphs() *glyphs {
	if o.ASCII {
		return &asciiGlyphs
	}
	return &unicodeGlyphs
}
