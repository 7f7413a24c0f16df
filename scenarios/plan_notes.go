package scenarios

import "probesim.dev/apiserver/admission"

// Notes returns what a user of the run has to know besides its trace: the fields of the manifests that the API server drops
// without an error, because their feature gates are off in the version of the run.
func (p *Plan) Notes() []string {
	known, ok := p.Profile()
	if !ok {
		return nil
	}
	var notes []string
	for _, w := range p.Scenario.workloads {
		m, dropped := w.manifest, admission.DropDisabled(known, w.pod.Spec.DeepCopy())
		notes = append(notes, admission.Notes(known, m.kind.kind+" "+m.name, m.kind.template, dropped)...)
	}
	return notes
}
