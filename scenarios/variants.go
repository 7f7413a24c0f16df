package scenarios

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/strict"
	"probesim.dev/scenarios/format"
	"probesim.dev/scenarios/plan"
)

// Limits of variants.
const (
	maxVariants      = 100     // of a scenario
	maxVariantValues = 100_000 // in the variants of a file, with the fields of their scenarios
	maxVariantText   = 4 << 20 // bytes of keys and values in them
)

// Lists in a scenario and in its variants: an entry of a named list changes the entry of the same
// name, and the entries of an added list follow those of the scenario. A variant replaces all other
// lists.
var (
	namedLists = []string{"pods", "containers", "answers", "services", "routers"}
	addedLists = []string{"behavior", "steps", "expect"}
)

// variant is a copy of a scenario with the changes of an entry of spec.variants.
type variant struct {
	name string
	at   string       // path of the entry
	root *strict.Node // of the copy
	errs *strict.Collector
}

// loadVariants loads each variant of a scenario as a scenario of its own.
func (l *loader) loadVariants(f *manifests.Objects, n *strict.Node, names map[string]strict.Pos) []*plan.Scenario {
	var loaded []*plan.Scenario
	var checked []variant
	wrong := 0
	for v := range l.variants(n) {
		s := readScenario(v.root)
		if len(checked) == 0 {
			checkTwice(s, n, names)
		}
		l.check(f, s, v.root)
		s.Metadata.Name += "/" + v.name
		loaded, checked = append(loaded, s), append(checked, v)
		if wrong += v.errs.Len(); wrong > strict.MaxErrors {
			break // further errors are only counted
		}
	}
	l.join(checked)
	return loaded
}

// variants yields the variants of a scenario, and reports entries that are none.
func (l *loader) variants(n *strict.Node) func(yield func(variant) bool) {
	return func(yield func(variant) bool) {
		list := n.Find("spec.variants")
		switch {
		case list.Kind != strict.Sequence:
			list.Errorf("must be a list of variants, each with a name")
			return
		case len(list.Items) == 0 || len(list.Items) > maxVariants:
			list.Errorf("must have from 1 to %d variants", maxVariants)
			return
		}
		taken := map[string]bool{}
		n.Field("spec").Remove("variants")
		values, text := n.Size()
		for _, item := range list.Items {
			ok := checkVariant(item, taken)
			own, ownText := item.Size()
			l.copied, l.copiedText = l.copied+values+own, l.copiedText+text+ownText
			if l.copied > maxVariantValues || l.copiedText > maxVariantText {
				item.Errorf("with all variants written out, the scenarios of this file have more than %d values or "+
					"%d MiB of text",
					maxVariantValues, maxVariantText>>20)
				return
			}
			if !ok {
				continue
			}
			v := variant{name: item.Field("name").Value, at: item.Path(), errs: &strict.Collector{}}
			v.root = n.Copy(v.errs)
			change(v.root.Field("spec"), item)
			if !yield(v) {
				return
			}
		}
	}
}

// checkVariant checks the fields of a variant itself, and reports whether it has a name of its own.
func checkVariant(n *strict.Node, taken map[string]bool) bool {
	if n.Kind != strict.Mapping {
		n.Errorf("must be a mapping with a name and the fields that differ")
		return false
	}
	strict.CheckKeys(n, variantFields...)
	for _, key := range slices.Clone(n.Keys) {
		if !slices.Contains(variantFields, key.Name) {
			n.Remove(key.Name) // it is reported
		}
	}
	name := n.Field("name")
	switch {
	case name.Bad():
	case !name.Written() || name.Value == "":
		name.Errorf("is required: the name of the variant")
	case name.Kind != strict.Scalar || name.Tag != "!!str":
		name.Errorf("must be a string")
	case taken[name.Value]:
		name.Errorf("the variant %s is already listed above", strict.Quote(name.Value))
	default:
		for _, message := range validation.IsDNS1123Subdomain(name.Value) {
			name.Errorf("%s is not a valid name: %s", strict.Quote(name.Value), message)
		}
	}
	taken[name.Value] = true
	return !name.Bad()
}

// variantFields are the fields of a Variant.
var variantFields = []string{"name", "description", "kubernetesVersions", "duration", "seeds", "kubelet", "delays",
	"controlPlane", "pods", "services", "traffic", "steps", "expect"}

// change sets the fields of a mapping that another mapping has.
func change(n, by *strict.Node) {
	for i, key := range by.Keys {
		old, item := n.Field(key.Name), by.Items[i]
		isList := slices.Contains(namedLists, key.Name) || slices.Contains(addedLists, key.Name)
		switch {
		case key.Name == "name", isList && !item.Written():
		case !old.Written():
			n.Set(by, i)
		case key.Name == "patch":
			n.Add(by, i)
		case slices.Contains(namedLists, key.Name) && old.Kind == strict.Sequence && item.Kind == strict.Sequence:
			changeNamed(old, item)
		case slices.Contains(addedLists, key.Name) && old.Kind == strict.Sequence && item.Kind == strict.Sequence:
			for _, entry := range item.Items {
				old.Append(entry)
			}
		case old.Kind == strict.Mapping && item.Kind == strict.Mapping:
			change(old, item)
		default:
			n.Set(by, i)
		}
	}
}

// changeNamed changes the entries of a list that entries of another list name, and adds the others.
// An entry of pods also names the kind and the file, if several entries have its name.
func changeNamed(list, by *strict.Node) {
	byName := map[string][]*strict.Node{}
	for _, entry := range list.Items {
		name := entry.Field("name").Value
		byName[name] = append(byName[name], entry)
	}
	for _, entry := range by.Items {
		same := slices.DeleteFunc(slices.Clone(byName[entry.Field("name").Value]), func(old *strict.Node) bool {
			return differs(old, entry, "kind") || differs(old, entry, "file")
		})
		switch {
		case entry.Kind != strict.Mapping || !entry.Field("name").Written() || len(same) == 0:
			list.Append(entry)
		case len(same) == 1:
			change(same[0], entry)
		default:
			entry.Field("name").Errorf("several entries of the scenario have this name: set kind or file as they do")
		}
	}
}

// differs reports whether an entry sets a field to another value.
func differs(old, entry *strict.Node, field string) bool {
	return entry.Field(field).Written() && entry.Field(field).Value != old.Field(field).Value
}

// join adds the errors of the variants. An error in a common part that not all variants have says
// which have it.
func (l *loader) join(all []variant) {
	in := map[Error][]string{}
	for _, v := range all {
		for _, e := range v.errs.List() {
			if names := in[e]; len(names) == 0 || names[len(names)-1] != v.name {
				in[e] = append(names, v.name)
			}
		}
	}
	for _, v := range all {
		one := &strict.Collector{}
		for _, e := range v.errs.List() {
			if names := in[e]; len(names) < len(all) && !strings.HasPrefix(e.Path, v.at) {
				e.Message += " (" + variantWords(names) + ")"
			}
			one.Add(e)
		}
		l.errs.Join(one)
	}
}

func variantWords(names []string) string {
	const few = 6
	if len(names) == 1 {
		return "in the variant " + names[0]
	}
	if len(names) > few {
		names = append(slices.Clone(names[:few]), "others")
	}
	return "in the variants " + strings.Join(names, ", ")
}

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
