package realkubelet

import "sync"

// shared is a map that goroutines share. The zero value is empty.
type shared[K comparable, V any] struct{ of sync.Map }

// get returns the value of a key, or the zero value if there is none.
func (s *shared[K, V]) get(key K) V {
	found, _ := s.of.Load(key)
	value, _ := found.(V)
	return value
}

func (s *shared[K, V]) set(key K, value V) { s.of.Store(key, value) }
func (s *shared[K, V]) remove(key K)       { s.of.Delete(key) }
