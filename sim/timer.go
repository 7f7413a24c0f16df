package sim

import "time"

// Timer calls a function, or wakes a process, at a time.
type Timer struct {
	name string
	proc *Proc
	call func()
	at   time.Duration
	seq  uint64
	pos  int // place in the heap plus one; 0: not there
	runs int64
}

// NewTimer returns a timer that is not set. When it fires, call runs in the kernel: it must not wait.
func (s *Sim) NewTimer(name string, call func()) *Timer { return &Timer{name: name, call: call} }

// Set has the timer fire at time t, or at this instant if t is past, instead of when it was set to.
func (s *Sim) Set(t *Timer, at time.Duration) { s.schedule(t, at) }

// At calls f at time t.
func (s *Sim) At(t time.Duration, name string, f func()) { s.schedule(s.NewTimer(name, f), t) }

func (s *Sim) schedule(t *Timer, at time.Duration) {
	s.Stop(t)
	s.seq++
	t.at, t.seq = max(at, s.now), s.seq
	s.timers.push(t)
}

// Stop keeps the timer from firing.
func (s *Sim) Stop(t *Timer) {
	if t.pos > 0 {
		s.timers.remove(t)
		return
	}
	for i := range s.due.len() {
		if s.due.at(i) == t {
			s.due.remove(i)
			return
		}
	}
}

func (t *Timer) fire(s *Sim) {
	t.runs++
	if t.proc != nil {
		s.ready.push(t.proc)
		return
	}
	t.call()
}

// Ticker sends on C at a fixed period; a tick finds no room while one is waiting there.
type Ticker struct {
	C      *Chan[struct{}]
	sim    *Sim
	timer  Timer
	period time.Duration
	idle   func() bool
}

// NewTicker returns a ticker whose first tick is one period away. The period must be positive.
func (s *Sim) NewTicker(name string, period time.Duration) *Ticker {
	t := &Ticker{C: NewChan[struct{}](s, name, 1), sim: s, period: period}
	t.timer = Timer{name: name, call: t.tick}
	s.schedule(&t.timer, s.now+period)
	return t
}

func (t *Ticker) tick() {
	t.sim.schedule(&t.timer, t.timer.at+t.period)
	if t.idle == nil || !t.C.awaited() || !t.idle() {
		t.C.TrySend(struct{}{})
	}
}

// Unless spares ticks that would be received at once and lead to nothing: those that find the receiver
// waiting and idle true.
func (t *Ticker) Unless(idle func() bool) { t.idle = idle }

// Reset starts a new period now and drops a tick that waits, as Go's tickers do since 1.23.
func (t *Ticker) Reset(period time.Duration) {
	t.period = period
	t.C.buf.clear()
	t.sim.schedule(&t.timer, t.sim.now+period)
}

// Stop ends the ticks.
func (t *Ticker) Stop() { t.sim.Stop(&t.timer) }

// timerHeap is a binary heap of timers by time, then by the order in which they were set.
type timerHeap []*Timer

func (h timerHeap) next() (time.Duration, bool) {
	if len(h) == 0 {
		return 0, false
	}
	return h[0].at, true
}

func (h timerHeap) less(i, j int) bool {
	return h[i].at < h[j].at || h[i].at == h[j].at && h[i].seq < h[j].seq
}

func (h *timerHeap) push(t *Timer) {
	*h = append(*h, t)
	t.pos = len(*h)
	h.up(len(*h) - 1)
}

func (h *timerHeap) pop() *Timer {
	t := (*h)[0]
	h.remove(t)
	return t
}

func (h *timerHeap) remove(t *Timer) {
	i, n := t.pos-1, len(*h)-1
	h.swap(i, n)
	(*h)[n], *h = nil, (*h)[:n]
	t.pos = 0
	if i < n {
		h.down(i)
		h.up(i)
	}
}

func (h timerHeap) swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].pos, h[j].pos = i+1, j+1
}

func (h timerHeap) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !h.less(i, parent) {
			return
		}
		h.swap(i, parent)
		i = parent
	}
}

func (h timerHeap) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(h) {
			return
		}
		if child+1 < len(h) && h.less(child+1, child) {
			child++
		}
		if !h.less(child, i) {
			return
		}
		h.swap(i, child)
		i = child
	}
}
