package fakeruntime

// Health returns what a program returns to a gRPC health check: SERVING unless the answer says otherwise, and
// with an error the message that servers of google.golang.org/grpc v1.82.1 give it, if they give one.
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
