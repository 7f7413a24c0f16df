package apiserver

import "maps"

// Copy returns a server with the pods of s, on another simulation. It has neither the watch nor the calls of the kubelet of s. The
// servers share the pods, which do not change.
func (s *Server) Copy(o Options) *Server {
	return &Server{
		o: o, pods: maps.Clone(s.pods), names: maps.Clone(s.names), uids: maps.Clone(s.uids), steps: maps.Clone(s.steps), down: s.down,
	}
}
