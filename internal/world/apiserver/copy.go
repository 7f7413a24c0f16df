package apiserver

import "maps"

// Copy returns a server with the objects of s, on another simulation. It has neither the watch nor
// the calls of the kubelet of s. The servers share the objects, which do not change.
func (s *Server) Copy(o Options) *Server {
	return &Server{o: o, store: s.store.Copy(), steps: maps.Clone(s.steps), down: s.down,
		unbound: maps.Clone(s.unbound)}
}
