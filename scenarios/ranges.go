package scenarios

import (
	"slices"

	"probesim.dev/internal/strict"
	"probesim.dev/scenarios/format"
)

// expandRanges replaces the entries of spec.pods whose name has a range by one entry for each name,
// and so the entries of their containers. It does the same in the variants.
func (l *loader) expandRanges(spec *strict.Node) {
	l.expandNames(spec.Field("pods"))
	for _, v := range spec.Field("variants").Items {
		l.expandNames(v.Field("pods"))
	}
}

func (l *loader) expandNames(list *strict.Node) {
	if list.Kind != strict.Sequence {
		return
	}
	for i, item := range slices.Backward(list.Items) {
		l.expandNames(item.Field("containers"))
		name := item.Field("name")
		if name.Kind != strict.Scalar || !format.IsRange(name.Value) {
			continue
		}
		names := l.used.CheckRange(name.Value, name)
		values, text := item.Size()
		l.copied, l.copiedText = l.copied+values*len(names), l.copiedText+text*len(names)
		switch {
		case names == nil:
		case l.copied > maxVariantValues || l.copiedText > maxVariantText:
			name.Errorf("with all ranges and variants written out, the scenarios of this file have more than %d "+
				"values or %d MiB of text",
				maxVariantValues, maxVariantText>>20)
		default:
			list.Repeat(i, "name", names)
		}
	}
}
