package text

import (
	"strings"

	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/strict"
)

// Schema is the name of the JSON Schema file to which the files of Modeline refer, for editors.
const Schema = "probesim.schema.json"

// Modeline is the comment that names the schema for the YAML language server. Each document needs
// its own.
const Modeline = "yaml-language-server: $schema=" + Schema

// Copy returns the workloads of a manifest, each as a document that three dashes follow. It leaves
// out all other objects, because a scenario file cannot have them.
func Copy(name string, data []byte) ([]byte, error) {
	errs := &strict.Collector{}
	var out strings.Builder
	for _, object := range manifests.Parse(name, data, errs).Manifests {
		out.WriteString(object.YAML() + "---\n# " + Modeline + "\n")
	}
	return []byte(out.String()), errs.Err()
}
