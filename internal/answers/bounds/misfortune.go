package bounds

// Misfortune is what happens to a healthy program.
type Misfortune string

const (
	// Hang is a program that does not answer. Requests that arrive in the meantime get no answer at
	// all.
	Hang Misfortune = "hang"
	// Stall is a program that stands still, as in a garbage collection, and answers the requests
	// that have arrived in the meantime when it goes on.
	Stall Misfortune = "stall"
	// Slow is a program that answers each request, but later than the timeout of the probe. It
	// still accepts connections at once.
	Slow Misfortune = "slow"
	// Refuse is a program that refuses connections, or whose commands fail.
	Refuse Misfortune = "down"
	// Fail is a program that answers each request at once, with a failure: status 503, NOT_SERVING,
	// or an exit code.
	Fail Misfortune = "fail"
)
