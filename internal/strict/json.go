package strict

import "encoding/json"

// JSON returns the node as JSON, without the parts that are wrong.
func (n *Node) JSON() []byte {
	data, err := json.Marshal(n.plain())
	if err != nil { // plain returns only values that JSON has
		panic(err)
	}
	return data
}

// plain returns the node as encoding/json would decode it, with numbers as json.Number.
func (n *Node) plain() any {
	switch n.Kind {
	case Mapping:
		m := make(map[string]any, len(n.Keys))
		for i, k := range n.Keys {
			if !n.Items[i].wrong {
				m[k.Name] = n.Items[i].plain()
			}
		}
		return m
	case Sequence:
		list := make([]any, 0, len(n.Items))
		for _, item := range n.Items {
			if !item.wrong {
				list = append(list, item.plain())
			}
		}
		return list
	case Scalar:
		return n.plainScalar()
	}
	return nil
}

func (n *Node) plainScalar() any {
	switch n.Tag {
	case "!!null":
		return nil
	case "!!bool":
		return booleans[n.Value]
	}
	if number, is := n.number(); is {
		return number
	}
	return n.Value
}
