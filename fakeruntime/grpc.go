package fakeruntime

// Health returns the response to a gRPC health check: the status, SERVING unless the answer sets
// another, and the message that a server of google.golang.org/grpc v1.82.1 sends with an error.
func (a *Answer) Health() (status, message string) {
	switch a.Status {
	case "":
		return "SERVING", ""
	case "UNIMPLEMENTED":
		return a.Status, "unknown service grpc.health.v1.Health"
	case "NOT_FOUND":
		return a.Status, "unknown service"
	}
	return a.Status, ""
}
