package bounds

// aim returns the time from the misfortune until the container gets the stop signal if a sync of the pod comes just before the
// verdict. The kill then waits for a newer look at the runtime.
func (s *Subject) aim(Nodes, Misfortune) (Bound, error) { return Bound{Least: Never}, nil }
