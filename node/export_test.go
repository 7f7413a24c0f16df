package node

// FullLists makes the kubelet of a node with these options list all pods each time; see
// kubelet.Options.
func (o Options) FullLists() Options {
	o.fullLists = true
	return o
}

// EveryTick makes the sync loop receive every tick; see kubelet.Options.
func (o Options) EveryTick() Options {
	o.everyTick = true
	return o
}

// Events returns the number of kernel events of the run so far.
func (n *Node) Events() int64 { return n.sim.Events() }
