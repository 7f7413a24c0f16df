package release

// EnterBubble prepares the process for a bubble. Call it first in each bubble, and call leave after the bubble.
func EnterBubble() (leave func()) { return func() {} }
