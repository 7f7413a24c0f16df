package proof

import (
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
)

// The defaults of the recorder of client-go v0.37.2 (tools/record/events_cache.go).
const (
	maxEvents    = 10               // events with different messages before they are combined
	maxInterval  = 10 * time.Minute // since the last similar event
	spamBurst    = 25               // events about an object that are sent at once
	spamInterval = 5 * time.Minute  // for each further event
)

// event is an event of the API.
type event struct {
	object                     v1.ObjectReference
	typ, reason, message, name string
	count                      int
	first, last                time.Time
}

// correlator is the EventCorrelator of client-go (tools/record/events_cache.go), with its default
// options and without the limit of its caches: it combines events with many different messages,
// counts equal events, and drops events beyond a rate.
type correlator struct {
	similar map[string]*similar
	seen    map[string]event // by key
	spam    map[string]*bucket
}

// similar is an aggregateRecord: the messages of events that are alike but for their messages.
type similar struct {
	messages []string
	last     time.Time
}

// bucket is a token bucket with the burst and the rate of the spam filter.
type bucket struct {
	tokens float64
	at     time.Time
}

func newCorrelator() *correlator {
	return &correlator{similar: map[string]*similar{}, seen: map[string]event{}, spam: map[string]*bucket{}}
}

// observe returns the event as the recorder sends it, and whether it sends it at all.
func (c *correlator) observe(e event) (event, bool) {
	e, key := c.aggregate(e)
	if old, has := c.seen[key]; has {
		e.name, e.first, e.count = old.name, old.first, old.count+1
	}
	c.seen[key] = e
	return e, c.accept(e)
}

// aggregate is EventAggregate. One of the known messages, which one does not matter, makes room for
// the next.
func (c *correlator) aggregate(e event) (event, string) {
	object := fmt.Sprint(e.object.Namespace, "/", e.object.Name, "/", e.object.UID)
	key := strings.Join([]string{object, e.object.FieldPath, e.typ, e.reason, e.message}, "\x00")
	group := strings.Join([]string{object, e.typ, e.reason}, "\x00")
	s := c.similar[group]
	if s == nil || e.last.Sub(s.last) > maxInterval {
		s = &similar{}
		c.similar[group] = s
	}
	s.last = e.last
	known := false
	for _, m := range s.messages {
		known = known || m == e.message
	}
	if !known {
		s.messages = append(s.messages, e.message)
	}
	if len(s.messages) < maxEvents {
		return e, key
	}
	s.messages = s.messages[1:]
	e.message = "(combined from similar events): " + e.message
	return e, group
}

// accept is Filter of EventSourceObjectSpamFilter: the events about an object of one type, Normal
// or Warning, share a bucket.
func (c *correlator) accept(e event) bool {
	key := strings.Join([]string{e.object.Namespace, e.object.Name, string(e.object.UID), e.typ}, "\x00")
	b := c.spam[key]
	if b == nil {
		b = &bucket{tokens: spamBurst, at: e.last}
		c.spam[key] = b
	}
	b.tokens = min(spamBurst, b.tokens+float64(e.last.Sub(b.at))/float64(spamInterval))
	b.at = e.last
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}
