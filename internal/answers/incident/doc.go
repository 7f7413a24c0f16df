// Package incident reads what a cluster recorded about its pods: events, pods, the texts of
// kubectl, logs of the kubelet, and what people paste of them.
//
// [Read] takes any mixture of these and returns a [Recording]: the pods, and facts about them. Each
// line of a text has an anchor, words that do not move, such as the type and the reason of an
// event. So headers, columns and indentation may be missing. Each [Fact] has the place where it is
// written, and the time at which it happened as exactly as its source tells. Nothing is guessed:
// what a text does not show is unknown. Lines that fit nothing are [Unread]; facts that contradict
// each other, and parts that are cut off, are [Problem]s with their places.
//
// [Recording.RunOf] returns the recording in the form of a run of the simulator, which package
// report draws. [Recording.Redact] replaces all names and addresses, and leaves only the words of
// Kubernetes in messages. Package verdict says what the facts prove.
package incident
