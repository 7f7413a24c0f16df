package strict

import "slices"

// Copy returns a copy of a document as a root of its own. The copy keeps positions and paths, and
// its errors go to errs.
func (n *Node) Copy(errs *Collector) *Node {
	root := n.copyTo(nil)
	root.path, root.errs = n.Path(), errs
	return root
}

// copyTo returns a copy whose parent is another node.
func (n *Node) copyTo(parent *Node) *Node {
	c := *n
	c.parent, c.index, c.Keys, c.Items = parent, nil, slices.Clone(n.Keys), make([]*Node, len(n.Items))
	for i, item := range n.Items {
		c.Items[i] = item.copyTo(&c)
	}
	return &c
}

// Remove removes a field of a mapping.
func (n *Node) Remove(name string) {
	if i, has := n.find(name); has {
		n.Keys, n.Items, n.index = slices.Delete(n.Keys, i, i+1), slices.Delete(n.Items, i, i+1), nil
	}
}

// adopt returns a copy of a node from elsewhere, which keeps its path.
func (n *Node) adopt(from *Node) *Node {
	c := from.copyTo(n)
	if from.parent != nil && from.path == "" {
		c.path = from.Path()
	}
	if c.bad {
		for above := n; above != nil; above = above.parent {
			above.bad = true
		}
	}
	return c
}

// Repeat replaces item i of a list by a copy for each value, in which a scalar field has this
// value. The copies keep position and path.
func (n *Node) Repeat(i int, field string, values []string) {
	copies := make([]*Node, len(values))
	for j, value := range values {
		copies[j] = n.Items[i].copyTo(n)
		copies[j].Field(field).Value = value
	}
	n.Items = slices.Replace(n.Items, i, i+1, copies...)
}

// Append adds a copy of a value to a list. The copy keeps its path.
func (n *Node) Append(value *Node) { n.Items = append(n.Items, n.adopt(value)) }

// Set sets a field of a mapping to a copy of field i of another mapping. The copy keeps its path.
func (n *Node) Set(from *Node, i int) {
	if at, has := n.find(from.Keys[i].Name); has {
		n.Keys[at], n.Items[at] = from.Keys[i], n.adopt(from.Items[i])
		return
	}
	n.Add(from, i)
}

// Add adds a copy of field i of another mapping, even if the mapping has a field of this name.
// Field returns the first, and Decode decodes them one after the other into the same value.
func (n *Node) Add(from *Node, i int) {
	n.Keys, n.index = append(n.Keys, from.Keys[i]), nil
	n.Items = append(n.Items, n.adopt(from.Items[i]))
}
