package node

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
)

// Errors of methods that a node refuses. Methods without an error result panic with them.
var (
	// ErrClosed is the error of a method after Close.
	ErrClosed = errors.New("the node is closed")
	// ErrInUse is the error of a method while another call uses the node: a call from another goroutine, or a call from a
	// handler, a function of At or an observer that must not call the method.
	ErrInUse = errors.New("the node is in use")
)

// use is one use of a node: a call of a method, or a call of a function of the user by the node. Uses nest.
type use struct {
	kind    useKind
	name    string      // of a function; a method has its name in its frames
	callers [12]uintptr // frames of the call of the method, or of the registration of the function
	outer   *use
}

type useKind int

const (
	method   useKind = iota // nothing else may use the node
	function                // of At: may call all methods except RunUntil and Close
	listener                // a handler or an observer: may call At, Now and Trace
)

// demand is what a method does, and so which functions may call it.
type demand int

const (
	schedule demand = iota
	change
	passTime
)

// newUse returns a use with the frames of the caller of the method of the node.
func newUse(kind useKind, name string) *use {
	u := &use{kind: kind, name: name}
	runtime.Callers(2, u.callers[:])
	return u
}

// begin begins a call of a method. It returns an error if the node is closed, or if a call that is in progress does not allow
// the method. RunUntil reports the latter error too, because the caller may ignore it.
func (n *Node) begin(d demand) (*use, error) {
	u := newUse(method, "")
	if n == nil || n.sim == nil {
		panic(fmt.Sprintf("node: %s: this is not a node: create it with node.New", u))
	}
	if err := n.refuses(u, d); err != nil {
		if errors.Is(err, ErrInUse) {
			n.misuse.CompareAndSwap(nil, &err)
		}
		return nil, err
	}
	return u, nil
}

// refuses begins a use, or returns the reason why the node refuses it.
func (n *Node) refuses(u *use, d demand) error {
	if by := n.closed.Load(); by != nil {
		return fmt.Errorf("%s: %w, by %s", u, ErrClosed, by)
	}
	u.outer = n.use.Load()
	switch o := u.outer; {
	case o == nil:
	case o.kind == method:
		return fmt.Errorf("%s: %w by %s: use a node from one goroutine", u, ErrInUse, o)
	case d == passTime:
		return fmt.Errorf("%s: %w by %s: return from that function first", u, ErrInUse, o)
	case d == change && o.kind == listener:
		return fmt.Errorf("%s: %w by %s, which can only call At: schedule the change with At, for the present time", u, ErrInUse, o)
	}
	if !n.use.CompareAndSwap(u.outer, u) {
		return fmt.Errorf("%s: %w by another call at the same time: use a node from one goroutine", u, ErrInUse)
	}
	return nil
}

// mustBegin is begin for methods without an error result.
func (n *Node) mustBegin(d demand) *use {
	u, err := n.begin(d)
	if err != nil {
		panic(err)
	}
	return u
}

// end ends a use. If another one has begun in the meantime, two goroutines use the node.
func (n *Node) end(u *use) {
	if n.use.CompareAndSwap(u, u.outer) {
		return
	}
	err := fmt.Errorf("%s: %w", u, ErrInUse)
	if o := n.use.Load(); o != nil {
		err = fmt.Errorf("%s: %w by %s: use a node from one goroutine", u, ErrInUse, o)
	}
	n.misuse.CompareAndSwap(nil, &err)
}

// Usable returns nil if you can call methods that change the node now. Otherwise its error says why not: ErrClosed, ErrInUse, or
// the error that has ended the run.
func (n *Node) Usable() error {
	u, err := n.begin(change)
	if err != nil {
		return err
	}
	n.end(u)
	return n.ended
}

// runEnded is the panic value with which a function of the user ends the run. RunUntil returns its error.
type runEnded struct{ error }

// call calls a function of the user. It ends the run if the function panics, ends its goroutine, or has misused the node.
func (n *Node) call(u *use, f func()) {
	u.outer = n.use.Load()
	began, returned := n.use.CompareAndSwap(u.outer, u), false
	defer func() {
		var exits bool // the goroutine ends
		if !returned {
			p := recover()
			exits = p == nil
			if n.ended == nil {
				n.ended = &callError{what: u.String(), panicked: p, frames: panicFrames("probesim.dev/node.(*Node).call")}
			}
		}
		n.end(u)
		if misuse := n.misuse.Load(); n.ended == nil && misuse != nil {
			n.ended = *misuse
		}
		if n.ended != nil && !exits {
			panic(runEnded{n.ended})
		}
	}()
	if began {
		f()
	}
	returned = true
}

// callError is the error of a run that ended because a function of the user did not return.
type callError struct {
	what     string
	panicked any // nil: the function ended its goroutine
	frames   string
}

func (e *callError) Error() string {
	if e.panicked == nil {
		return e.what + " ended its goroutine, as t.FailNow and t.Fatal do"
	}
	return fmt.Sprintf("%s panicked: %v\n\n%s", e.what, e.panicked, e.frames)
}

// Unwrap returns the value of the panic if it is an error, such as ErrInUse.
func (e *callError) Unwrap() error {
	err, _ := e.panicked.(error)
	return err
}

// String describes the use and its place, such as "Advance at /src/web_test.go:12".
func (u *use) String() string {
	if u.callers[0] == 0 {
		return u.name
	}
	name, place := origin(u.callers[:])
	if u.name != "" {
		name = u.name
	}
	return name + " at " + place
}

// api are the prefixes of the functions of the Go API. Its caller is the first function without such a prefix, or in a test.
var api = []string{"probesim.dev/node.", "probesim.dev/probetest."}

// origin returns the name of the function of the Go API that the user called, and the place of that call.
func origin(callers []uintptr) (name, place string) {
	frames := runtime.CallersFrames(callers)
	for {
		f, more := frames.Next()
		if strings.HasSuffix(f.File, "_test.go") || !slices.ContainsFunc(api, func(prefix string) bool { return strings.HasPrefix(f.Function, prefix) }) {
			if f.File != "" {
				place = fmt.Sprintf("%s:%d", f.File, f.Line)
			}
			return name, place
		}
		name = f.Function[strings.LastIndexByte(f.Function, '/')+1:] // such as node.(*Node).At or node.New
		_, name, _ = strings.Cut(name, ".")
		if _, of, ok := strings.Cut(name, ")."); ok {
			name = of
		}
		name, _, _ = strings.Cut(name, ".") // the function around a function literal
		if !more {
			return name, ""
		}
	}
}

// panicFrames returns the frames of a function of the user, from the statement that panicked up to the function end of this
// package. It must be called while the function panics.
func panicFrames(end string) string {
	callers := make([]uintptr, 200)
	frames := runtime.CallersFrames(callers[:runtime.Callers(0, callers)])
	var b strings.Builder
	panicking := false
	for {
		f, more := frames.Next()
		switch {
		case f.Function == "runtime.gopanic":
			b.Reset() // of several panics, the first is the lowest
			panicking = true
		case !panicking || b.Len() == 0 && strings.HasPrefix(f.Function, "runtime."): // such as sigpanic
		case strings.HasPrefix(f.Function, end):
			return b.String()
		default:
			fmt.Fprintf(&b, "    %s\n        %s:%d\n", f.Function, f.File, f.Line)
		}
		if !more {
			return b.String()
		}
	}
}
