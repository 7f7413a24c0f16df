package value

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"probesim.dev/internal/strict"
)

// Series is a list of answers to consecutive requests, written as one answer or a list: [ok x10,
// fail x3, ok]. The last item repeats forever. If Repeat is set, written as a final repeat, the
// whole list does.
type Series struct {
	Items  []Item
	Repeat bool
}

// One returns the series of an answer that repeats forever.
func One(a Answer) *Series { return &Series{Items: []Item{{a, 1}}} }

// MarshalNode encodes what UnmarshalNode decodes.
func (s *Series) MarshalNode() *strict.Node {
	list := strict.NewMapping(nil)
	list.Kind = strict.Sequence
	for _, item := range s.Items {
		text := item.Answer.String()
		if item.Count > 1 {
			text += " x" + strconv.Itoa(item.Count)
		}
		list.Put("", "["+strconv.Itoa(len(list.Items))+"]", strict.Scalar, text)
	}
	if s.Repeat {
		list.Put("", "["+strconv.Itoa(len(list.Items))+"]", strict.Scalar, "repeat")
	} else if len(list.Items) == 1 {
		return list.Items[0]
	}
	return list
}

// Item is an answer to Count consecutive requests.
type Item struct {
	Answer
	Count int // 1 if not written
}

// maxItems is the maximum number of items in a series.
const maxItems = 10_000

var countPattern = regexp.MustCompile(`^(.*\S)\s+x(\d+)$`)

// UnmarshalNode decodes an answer or a list of answers.
func (s *Series) UnmarshalNode(n *strict.Node) {
	switch n.Kind {
	case strict.Scalar:
		s.add(n)
	case strict.Sequence:
		s.readList(n)
	default:
		n.Errorf("must be an answer such as ok, or a list such as [ok x3, fail]")
	}
}

func (s *Series) readList(n *strict.Node) {
	if len(n.Items) > maxItems {
		n.Errorf("the series has more than %d items", maxItems)
		return
	}
	items := n.Items
	if last := len(items) - 1; last >= 0 && items[last].Kind == strict.Scalar && items[last].Value == "repeat" {
		s.Repeat = true
		items = items[:last]
	}
	n.ErrorIf(len(items) == 0, "the series has no answers")
	for _, item := range items {
		s.add(item)
	}
	if !s.Repeat && len(items) > 0 {
		s.checkLast(items[len(items)-1])
	}
}

// checkLast reports a count of the last item, which has no effect.
func (s *Series) checkLast(n *strict.Node) {
	if last := s.Items[len(s.Items)-1]; last.Count > 1 {
		n.Errorf("the last answer repeats forever: leave out x%d, or add another answer or repeat", last.Count)
	}
}

// add appends an item, even an invalid one, so that items and nodes have the same indexes.
func (s *Series) add(n *strict.Node) {
	item := Item{Count: 1}
	if err := item.parse(n); err != nil {
		n.Errorf("%s", err)
	}
	s.Items = append(s.Items, item)
}

func (i *Item) parse(n *strict.Node) error {
	if n.Kind != strict.Scalar {
		return fmt.Errorf("must be an answer such as ok, fail x3 or ok in 2s")
	}
	text := strings.TrimSpace(n.Value)
	if text == "repeat" {
		return fmt.Errorf("repeat must be the last item of a list of answers")
	}
	if m := countPattern.FindStringSubmatch(text); m != nil {
		count, err := strconv.Atoi(m[2])
		if err != nil || count < 1 || count > maxCount {
			return fmt.Errorf("x%s is not a count from 1 to %d", m[2], maxCount)
		}
		text, i.Count = m[1], count
	}
	return i.Answer.UnmarshalText([]byte(text))
}
