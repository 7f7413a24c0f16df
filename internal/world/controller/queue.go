package controller

import (
	"time"

	"probesim.dev/sim"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// Queue is a work queue of keys, with the workers that process them (util/workqueue of client-go
// v0.37.0). A key waits at most once, is processed by one worker at a time, and waits again if it
// is added meanwhile. Each key gets a process of its own with the name of the queue and the key,
// because which worker takes it makes no difference.
type Queue struct {
	// Base and Max bound the back-off of a key that fails: Base, twice Base, and so on. Zero: 5 ms
	// and 1000 s (DefaultTypedControllerRateLimiter in default_rate_limiters.go).
	Base, Max time.Duration
	// Retries is how often a key that fails is tried again. Zero: without end.
	Retries int

	sim        *sim.Sim
	env        *Env
	name       string
	sync       func(p *sim.Proc, key string) error
	dirty      map[string]int64 // keys to process, with the cause of the first Add
	processing map[string]bool
	fifo       []string
	busy       int // workers
	failures   map[string]int
	later      map[string]*delayed
	bucket     bucket
}

// delayed is a key of AddAfter.
type delayed struct {
	timer *sim.Timer
	at    virtual.Time
	set   bool
	cause int64
}

// NewQueue returns a queue whose keys are processed by a function. The key that it returns an error
// for is tried again after a back-off.
func NewQueue(env *Env, name string, sync func(p *sim.Proc, key string) error) *Queue {
	return &Queue{
		sim: env.Sim, env: env, name: name, sync: sync, Base: 5 * time.Millisecond, Max: 1000 * time.Second,
		dirty: map[string]int64{}, processing: map[string]bool{}, failures: map[string]int{},
		later: map[string]*delayed{},
	}
}

// Add adds a key now.
func (q *Queue) Add(key string) { q.add(key, q.sim.Cause()) }

func (q *Queue) add(key string, cause int64) {
	if _, waits := q.dirty[key]; waits {
		return
	}
	q.dirty[key] = cause
	if !q.processing[key] {
		q.fifo = append(q.fifo, key)
		q.dispatch()
	}
}

// dispatch starts the processes of the first keys, as long as workers are free.
func (q *Queue) dispatch() {
	for len(q.fifo) > 0 && q.busy < Workers {
		key := q.fifo[0]
		q.fifo = q.fifo[1:]
		q.busy++
		q.sim.WithCause(q.dirty[key], func() { q.sim.Go(q.name+" "+key, func(p *sim.Proc) { q.process(p, key) }) })
	}
}

// process processes a key, and adds it again if it fails or has been added meanwhile. Until the
// process runs, the key still waits.
func (q *Queue) process(p *sim.Proc, key string) {
	delete(q.dirty, key)
	q.processing[key] = true
	p.Turn(TurnSync)
	err := q.sync(p, key)
	if err != nil && q.env.Trace.Wants(trace.SyncFailed) {
		q.env.Trace.Add(trace.Record{
			T: p.Now(), Kind: trace.SyncFailed, Cause: p.Cause(), Reason: q.name, Message: err.Error(),
			Object: &trace.Object{Name: key},
		})
	}
	switch {
	case err == nil, q.Retries > 0 && q.failures[key] >= q.Retries:
		delete(q.failures, key)
	default:
		q.AddRateLimited(key)
	}
	delete(q.processing, key)
	q.busy--
	if _, again := q.dirty[key]; again {
		q.fifo = append(q.fifo, key)
	}
	q.dispatch()
}

// AddAfter adds a key after a delay. A key that waits already keeps the earlier time
// (delaying_queue.go).
func (q *Queue) AddAfter(key string, delay time.Duration) {
	if delay <= 0 {
		q.Add(key)
		return
	}
	d := q.later[key]
	if d == nil {
		d = &delayed{}
		d.timer = q.sim.NewTimer("delay of "+q.name+" "+key, func() {
			d.set = false
			q.add(key, d.cause)
		})
		q.later[key] = d
	}
	if at := q.sim.Now().Add(delay); !d.set || at < d.at {
		d.at, d.set, d.cause = at, true, q.sim.Cause()
		q.sim.Set(d.timer, at)
	}
}

// AddRateLimited adds a key after the back-off of its failures, or when the bucket of all keys of
// the queue has a token, whichever is later.
func (q *Queue) AddRateLimited(key string) {
	backoff := min(q.Base<<min(q.failures[key], 30), q.Max)
	q.failures[key]++
	q.AddAfter(key, max(backoff, q.bucket.reserve(q.sim.Now())))
}

// bucket is a token bucket that holds 100 tokens and gets 10 each second (BucketRateLimiter in
// default_rate_limiters.go).
type bucket struct {
	full virtual.Time // when it is full again
}

// reserve takes a token, and returns how long it takes until the token is there.
func (b *bucket) reserve(now virtual.Time) time.Duration {
	const each, size = time.Second / 10, 100
	b.full = max(b.full, now).Add(each)
	return max(0, b.full.Sub(now)-size*each)
}
