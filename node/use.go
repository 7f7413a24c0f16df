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
	// ErrInUse is the error of a method while another call uses the node: a call from another
	// goroutine, or a call from a handler, a function of At or an observer that must not call the
	// method.
	ErrInUse = errors.New("the node is in use")
)

// use is one use of a node: a call of a method, or a call of a function of the user by the node.
// Uses nest.
type use struct {
	kind    useKind
	name    string      // of a listener; the others have theirs in their frames
	callers [12]uintptr // frames of the call of the method, or of the registration of the function
	outer   *use
	root    *use // the outermost use
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

// within makes a use the innermost one, inside another one or nil.
func (u *use) within(outer *use) {
	if u.outer, u.root = outer, u; outer != nil {
		u.root = outer.root
	}
}

// begin begins a call of a method. It returns an error if the node is closed, or if a call that is
// in progress does not allow the method. RunUntil reports the latter error too, because the caller
// may ignore it.
func (n *Node) begin(d demand) (*use, error) {
	u := &use{kind: method}
	isNode := n != nil && n.sim != nil
	if !isNode || n.use.Load() == nil { // a use inside another one needs its place only if the node refuses it
		u.locate()
	}
	if !isNode {
		panic(fmt.Sprintf("node: %s: this is not a node: create it with node.New", u))
	}
	err := n.refuses(u, d)
	if err != nil && u.callers[0] == 0 {
		u.locate()
		err = n.refuses(u, d)
	}
	if err != nil {
		if errors.Is(err, ErrInUse) {
			n.misuse.CompareAndSwap(nil, &err)
		}
		return nil, err
	}
	return u, nil
}

// locate notes the frames of the call of a method. That takes longer than most methods do, and few
// frames are nearly always enough to find the caller.
func (u *use) locate() {
	const few = 5
	runtime.Callers(2, u.callers[:few])
	if last := runtime.FuncForPC(u.callers[few-1]); last != nil && isAPI(last.Name()) {
		runtime.Callers(2, u.callers[:])
	}
}

// refuses begins a use, or returns the reason why the node refuses it.
func (n *Node) refuses(u *use, d demand) error {
	if by := n.closed.Load(); by != nil {
		return fmt.Errorf("%s: %w, by %s", u, ErrClosed, by)
	}
	u.within(n.use.Load())
	switch o := u.outer; {
	case o == nil:
	case o.kind == method:
		return fmt.Errorf("%s: %w by %s: use a node from one goroutine", u, ErrInUse, o.root)
	case d == passTime:
		return fmt.Errorf("%s: %w by %s: return from that function first", u, ErrInUse, o)
	case d == change && o.kind == listener:
		return fmt.Errorf("%s: %w by %s, which can only call At: schedule the change with At, for the present time", u,
			ErrInUse, o)
	}
	if !n.use.CompareAndSwap(u.outer, u) {
		return fmt.Errorf("%s: %w by another call at the same time: use a node from one goroutine", u, ErrInUse)
	}
	return nil
}

// change makes a change in a method with an error result.
func (n *Node) change(do func() error) error {
	u, err := n.begin(change)
	if err != nil {
		return err
	}
	defer n.end(u)
	return do()
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
	if o := n.use.Load(); o != nil && o.kind == method {
		err = fmt.Errorf("%s: %w by %s: use a node from one goroutine", u, ErrInUse, o)
	}
	n.misuse.CompareAndSwap(nil, &err)
}

// Usable returns nil if you can call At now, and otherwise ErrClosed or ErrInUse.
func (n *Node) Usable() error {
	u, err := n.begin(schedule)
	if err == nil {
		n.end(u)
	}
	return err
}

// call calls a function of the user. It ends the run if the function panics, ends its goroutine, or
// misuses the node. An observer that adds a record to the trace observes it at once.
func (n *Node) call(u *use, f func()) {
	if n.use.Load() == u {
		f()
		return
	}
	u.within(n.use.Load())
	began, returned := n.use.CompareAndSwap(u.outer, u), false
	defer func() {
		if !returned {
			n.sim.Fail(unreturned(u, recover()))
		}
		n.end(u)
		if misuse := n.misuse.Load(); misuse != nil {
			n.sim.Fail(*misuse)
		}
	}()
	if began {
		f()
	}
	returned = true
}

// unreturned describes the end of a function that did not return. It must be called while the
// function panics.
func unreturned(u *use, panicked any) error {
	if panicked == nil {
		return fmt.Errorf("%s ended its goroutine, as t.FailNow and t.Fatal do", u)
	}
	return fmt.Errorf("%s panicked: %w\n\n%s", u, errorOf(panicked), panicFrames("probesim.dev/node.(*Node).call"))
}

// errorOf returns the value of a panic as an error, such as ErrInUse.
func errorOf(panicked any) error {
	if err, ok := panicked.(error); ok {
		return err
	}
	return fmt.Errorf("%v", panicked)
}

// String describes the use and its place, such as "Advance at /src/web_test.go:12".
func (u *use) String() string {
	if u.callers[0] == 0 {
		if u.name == "" && u.root != nil && u.root != u {
			return u.root.String()
		}
		return u.name
	}
	name, place := origin(u.callers[:])
	switch {
	case u.kind == function:
		name = "the function of " + name
	case u.name != "":
		name = u.name
	}
	return name + " at " + place
}

// api are the prefixes of the functions of the Go API. Its caller is the first function without
// such a prefix, or in a test.
var api = []string{"probesim.dev/node.", "probesim.dev/probetest."}

func inAPI(f runtime.Frame) bool {
	return !strings.HasSuffix(f.File, "_test.go") && isAPI(f.Function)
}

func isAPI(function string) bool {
	return slices.ContainsFunc(api, func(prefix string) bool { return strings.HasPrefix(function, prefix) })
}

// origin returns the name of the function of the Go API that the user called, and the place of that
// call.
func origin(callers []uintptr) (name, place string) {
	frames := runtime.CallersFrames(callers)
	for {
		f, more := frames.Next()
		if !inAPI(f) {
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

// panicFrames returns the frames of a function of the user, from the statement that panicked up to
// the function end of this package, without the frames of the Go API. It must be called while the
// function panics.
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
		case !inAPI(f):
			fmt.Fprintf(&b, "    %s\n        %s:%d\n", f.Function, f.File, f.Line)
		}
		if !more {
			return b.String()
		}
	}
}
