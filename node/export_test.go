package node

// FullLists makes the kubelet of a node with these options list all pods each time; see kubelet.Options.
func (o Options) FullLists() Options {
	o.fullLists = true
	return o
}

// EveryTick makes the sync loop receive every tick; see kubelet.Options.
func (o Options) EveryTick() Options {
	o.everyTick = true
	return o
}
