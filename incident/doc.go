// Package incident reads what a cluster recorded about its pods: events, pods, the texts of kubectl, and logs of the kubelet.
//
// [Read] takes any mixture of these formats and returns a [Recording]: the pods, and facts about them. Each [Fact] has the place
// where it is written, and the time at which it happened as exactly as its source tells. Nothing is guessed: input that Read
// cannot use, and facts that contradict each other, are [Problem]s with their places.
//
// [Recording.Runs] returns the recording in the form of runs of the simulator, which package report draws. Redact replaces all
// names, addresses and messages.
package incident
