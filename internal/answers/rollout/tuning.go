package rollout

import (
	"encoding/json"
	"slices"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"probesim.dev/internal/inplace"
	"probesim.dev/internal/input"
	"probesim.dev/internal/scenarios/manifests"
	"probesim.dev/internal/workloads"
)

// Tuning is the result of a search for changes that meet requirements. Its JSON is stable: fields
// are only added.
type Tuning struct {
	Setting
	Workloads []Tuned `json:"workloads"`
}

// Tuned is the result for a Deployment.
type Tuned struct {
	Object
	Router Router `json:"router"`
	// Met reports whether the changes meet all requirements. Without it they are those that come
	// closest, if there are any.
	Met          bool          `json:"met"`
	Changes      []FieldChange `json:"changes"`
	Requirements []TunedRow    `json:"requirements"`
	Runs         int           `json:"runs"` // with the changes
	// Takes are the seconds that the rollout takes in the median; nil: it does not complete.
	Takes *BeforeAfter `json:"takes,omitempty"`
	Note  string       `json:"note,omitempty"`
	// Patch is a strategic merge patch, in JSON.
	Patch json.RawMessage `json:"patch,omitempty"`
	// Worst are the worst runs before and with the changes, with Options.Keep.
	Worst []*Shown `json:"-"`
}

// FieldChange is a field of the Deployment that changes.
type FieldChange struct {
	Field  string `json:"field"`
	Line   int    `json:"line"`
	Before string `json:"before"`
	After  string `json:"after"`
}

// BeforeAfter is a figure before and after the changes.
type BeforeAfter struct {
	Before float64 `json:"before"`
	After  float64 `json:"after"`
}

// TunedRow is a requirement before and after the changes.
type TunedRow struct {
	Requirement string        `json:"requirement"`
	Before      *Verification `json:"before"`
	After       *Verification `json:"after"`
}

// Edit returns a file of manifests with the changes of its Deployments made in place, as
// workloads.Edit does.
func (t *Tuning) Edit(f input.File) (edited []byte, comments []inplace.Comment, err error) {
	return workloads.Edit(f, func(m *manifests.Object) map[string]any {
		i := slices.IndexFunc(t.Workloads,
			func(w Tuned) bool { return w.File == f.Name && w.Line == m.Node.Pos.Line && w.Name == m.Name })
		if i < 0 {
			return nil
		}
		return t.Workloads[i].Fields()
	})
}

// Fields returns the fields of the patch, or nil. Numbers stay whole.
func (t *Tuned) Fields() (fields map[string]any) {
	_ = utiljson.Unmarshal(t.Patch, &fields) // no patch has no fields
	return fields
}

// Met reports whether the requirements of all Deployments are met.
func (t *Tuning) Met() bool {
	return !slices.ContainsFunc(t.Workloads, func(w Tuned) bool { return !w.Met })
}
