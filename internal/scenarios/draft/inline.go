package draft

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v4"

	"probesim.dev/internal/printable"
	"probesim.dev/internal/scenarios/manifests"
)

// Workloads returns the workloads of manifests, each as a separate document, followed by three
// dashes. It leaves out all other objects, because a scenario file cannot have them. The manifests
// must be valid YAML.
func Workloads(data []byte) ([]byte, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var out bytes.Buffer
	for {
		var doc yaml.Node
		err := decoder.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return out.Bytes(), nil
		}
		if err != nil {
			return nil, err
		}
		if len(doc.Content) == 1 {
			if err := writeWorkloads(&out, doc.Content[0], "", ""); err != nil {
				return nil, err
			}
		}
	}
}

// writeWorkloads writes an object if it is a workload, and the workloads in a list. A list can set
// the apiVersion and kind of its items.
func writeWorkloads(out *bytes.Buffer, n *yaml.Node, apiVersion, kind string) error {
	if own := scalar(n, "kind"); own != "" {
		apiVersion, kind = scalar(n, "apiVersion"), own
	} else if kind != "" && n.Kind == yaml.MappingNode {
		n.Content = append(text("apiVersion", apiVersion, "kind", kind), n.Content...)
	}
	of, isList := strings.CutSuffix(kind, "List")
	if !isList {
		template := field(field(field(n, "spec"), "template"), "spec")
		if !manifests.IsWorkload(apiVersion, kind) && (!manifests.IsCustom(apiVersion) ||
			field(template, "containers") == nil) {
			return nil
		}
		return writeDocument(out, n)
	}
	if of == "" {
		apiVersion = ""
	}
	items := field(n, "items")
	if items == nil {
		return nil
	}
	for _, item := range items.Content {
		if err := writeWorkloads(out, item, apiVersion, of); err != nil {
			return err
		}
	}
	return nil
}

func writeDocument(out *bytes.Buffer, n *yaml.Node) error {
	quoteHostile(n)
	var text bytes.Buffer
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	if err := encoder.Encode(n); err != nil {
		return fmt.Errorf("cannot copy the manifest: %w; name its file instead", err)
	}
	out.WriteString(printable.Lines(text.String()) + "---\n" + modeline)
	return nil
}

// atLineStart finds what is a command if the encoder writes it at the beginning of a line.
var atLineStart = regexp.MustCompile(`(^|\s)::`)

// quoteHostile sets double quotes for scalars that printable.Lines changes. Within them its escapes
// do not change the value.
func quoteHostile(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && (printable.Lines(n.Value) != n.Value || atLineStart.MatchString(n.Value)) {
		n.Style = yaml.DoubleQuotedStyle
	}
	for _, item := range n.Content {
		quoteHostile(item)
	}
}

func text(words ...string) []*yaml.Node {
	var nodes []*yaml.Node
	for _, w := range words {
		nodes = append(nodes, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: w})
	}
	return nodes
}

// field returns the value of a field, or nil. n may be nil.
func field(n *yaml.Node, name string) *yaml.Node {
	if n == nil {
		return nil
	}
	if n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	for i := 0; i+1 < len(n.Content) && n.Kind == yaml.MappingNode; i += 2 {
		if n.Content[i].Value == name {
			return n.Content[i+1]
		}
	}
	return nil
}

func scalar(n *yaml.Node, name string) string {
	if f := field(n, name); f != nil {
		return f.Value
	}
	return ""
}
