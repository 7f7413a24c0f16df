package report

import "probesim.dev/internal/show/document"

// glyphs are the characters of a timeline.
type glyphs struct {
	success, successes rune // one success in the column, several
	failed, someFailed rune // all probe runs in the column failed, some failed
	warning, broken    rune

	running, killing, stopping, waiting rune
	exit, done                          rune // exit code other than 0, exit code 0

	yes, no, both, up, down rune // condition; up and down: it changes in this column

	axis, tick, first, last, gap rune
	mark                         rune
	busy                         rune   // a hook, an image pull or a wait for volumes
	window                       rune   // a rule is open
	unknown                      rune   // a recording does not tell
	levels                       []rune // heights of bars
	ellipsis                     string
}

var unicodeGlyphs = glyphs{
	success: '·', successes: '•', failed: '✗', someFailed: '×', warning: 'w', broken: '!',
	running: '█', killing: '░', stopping: '▒', waiting: '┄', exit: '╳', done: '┤',
	yes: '━', no: '─', both: '╍', up: '╼', down: '╾',
	axis: '─', tick: '┴', first: '└', last: '┘', gap: '┈',
	mark: '▼', busy: '▬', window: '▀', unknown: '╱', levels: []rune("▁▂▃▄▅▆▇█"), ellipsis: "…",
}

var asciiGlyphs = glyphs{
	success: '.', successes: ':', failed: 'X', someFailed: 'x', warning: 'w', broken: '!',
	running: '#', killing: ',', stopping: '/', waiting: '~', exit: '*', done: ']',
	yes: '=', no: '-', both: '%', up: '=', down: '-',
	axis: '-', tick: '+', first: '+', last: '+', gap: '.',
	mark: 'v', busy: '^', window: '@', unknown: '?', levels: []rune("_oO#"), ellipsis: "..",
}

func glyphsOf(o document.Options) *glyphs {
	if o.ASCII {
		return &asciiGlyphs
	}
	return &unicodeGlyphs
}
