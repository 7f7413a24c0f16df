package incident

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"probesim.dev/internal/podutil"
	"probesim.dev/prober"
)

// place completes the facts after all files: names that only messages tell, the containers of
// events, and the times that count from an unknown moment.
func (r *reader) place() {
	for _, f := range slices.Clone(r.rec.Facts) {
		if f.Kind == Lifecycle && f.Pod != nil {
			for _, of := range r.ofID[f.Message] {
				of.Pod, of.Container = f.Pod, r.ids[f.Message]
				r.text.addLog(of)
			}
			delete(r.ofID, f.Message)
		}
	}
	r.placeExecs()
	r.nameUnnamed()
	for _, l := range r.lateProbes {
		r.placeProbe(l)
	}
	for _, p := range r.rec.Pods {
		if t := r.rec.fromTemplate(p); t != nil && (p.Object == nil || p.Partial) {
			r.useTemplate(p, t)
		}
	}
	for _, f := range r.rec.Facts {
		switch {
		case f.Pod == nil:
		case f.Kind == Lifecycle:
			f.Container = r.ids[f.Message]
		case f.Kind == Event && f.Container == "":
			f.Container = containerIn(f.Message)
			f.Pod.addContainer(f.Container)
		}
		if f.Kind == Event && strings.HasSuffix(f.Message, " probe failed:") {
			f.Message += " " // kubectl describe cuts it off before an empty output
		}
	}
	r.nameContainers()
	r.placeTimes()
}

// placeExecs gives commands that took too long to the probe whose command they are, which fails for
// it.
func (r *reader) placeExecs() {
	for _, f := range r.execs {
		l := theOnly(r.lateProbes, func(l lateProbe) bool {
			return l.probe.Exec != nil && strings.Join(l.probe.Exec.Command, " ") == f.Value
		})
		if l.probe != nil {
			f.Probe, f.Pod = l.which, r.text.ofText(f.Place)
			r.text.addLog(f)
		}
	}
}

// theOnly returns the only element of a list that fits, or the zero value.
func theOnly[T comparable](list []T, fits func(T) bool) (found T) {
	var none T
	for _, e := range list {
		if fits(e) && found != none {
			return none
		} else if fits(e) {
			found = e
		}
	}
	return found
}

// assigned matches a message that names the pod and its node.
var assigned = pattern("assigned")

// quotedPod matches a message that names the pod alone.
var quotedPod = regexp.MustCompile(`\bpod "([a-z0-9][-a-z0-9.]*)"`)

// namesOf returns the names that messages give to the pods of rows that name none. A name of "?"
// stands for several.
func (r *Recording) namesOf() map[*Pod]Pod {
	named := map[*Pod]Pod{}
	for _, f := range r.Facts {
		if f.Pod == nil || !f.Pod.Unnamed || f.Kind != Event && f.Kind != Waiting {
			continue
		}
		old, name := named[f.Pod], Pod{}
		if m := assigned.FindStringSubmatch(f.Message); m != nil {
			name = Pod{Namespace: m[1], Name: m[2], Node: m[3]}
		} else if m := sandboxName.FindStringSubmatch(f.Message); m != nil {
			name = Pod{Namespace: m[2], Name: m[1]}
		} else if m := podName.FindStringSubmatch(f.Message); m != nil && f.Reason != "Unhealthy" {
			name = Pod{Namespace: m[2], Name: m[1]}
		} else if m := quotedPod.FindStringSubmatch(f.Message); m != nil && f.Reason != "Unhealthy" {
			name = Pod{Name: m[1]}
		}
		if old.Name != "" && name.Name != "" && old.Name != name.Name {
			name = Pod{Name: "?"}
		}
		named[f.Pod] = Pod{Namespace: cmp.Or(name.Namespace, old.Namespace), Name: cmp.Or(name.Name, old.Name),
			Node: cmp.Or(name.Node, old.Node)}
	}
	return named
}

// nameUnnamed names the pods of rows that name none: a message names it, or it is the only other
// pod of its file, or of all files.
func (r *reader) nameUnnamed() {
	named := r.rec.namesOf()
	for _, p := range slices.Clone(r.rec.Pods) {
		if !p.Unnamed {
			continue
		}
		name := named[p]
		to := cmp.Or(theOnly(r.rec.Pods, func(o *Pod) bool { return !o.Unnamed && o.Place.File == p.Place.File }),
			theOnly(r.rec.Pods, func(o *Pod) bool { return !o.Unnamed }))
		switch {
		case name.Name == "?":
			to = nil
		case name.Name != "":
			if to = r.pod(name.Namespace, name.Name, "", p.Place); to != nil {
				to.Node = cmp.Or(to.Node, name.Node)
			}
		case to != nil:
			r.problem(p.Place, false, "the text does not name its pod: it is taken as %s, the only pod that the "+
				"input names", to.Name)
		}
		if to != nil {
			r.join(p, to)
			continue
		}
		p.Name, p.Mixed = "pod", slices.ContainsFunc(r.rec.Pods, func(o *Pod) bool { return !o.Unnamed })
		taken := "pod: all of it is taken as one pod, shown as \"pod\""
		if theOnly(r.rec.Pods, func(o *Pod) bool { return o.Unnamed && o.Place.File == p.Place.File }) == nil {
			taken = "pods: rows that cannot be of one pod are taken as several"
		}
		r.problem(p.Place, false, "the text does not name its %s", taken)
	}
}

// join gives the facts of a pod to another pod.
func (r *reader) join(p, to *Pod) {
	for _, f := range r.rec.Facts {
		if f.Pod == p {
			f.Pod = to
		}
	}
	for _, name := range p.containers {
		to.addContainer(name)
	}
	if to.Object == nil && p.Object != nil {
		to.Object, to.Partial = p.Object, true
		to.Object.Name = to.Name
	}
	r.rec.Pods = slices.DeleteFunc(r.rec.Pods, func(o *Pod) bool { return o == p })
}

// placeProbe gives a probe in a text to the only container of the only pod of its file.
func (r *reader) placeProbe(l lateProbe) {
	p := theOnly(r.rec.Pods, func(p *Pod) bool { return p.Place.File == l.at.File })
	if p != nil && p.Object == nil {
		p.Object, p.Partial = &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: p.Name, Namespace: p.Namespace}}, true
	}
	if p == nil || len(p.Object.Spec.Containers) > 1 {
		r.problem(l.at, true, "this %s probe was not used: the text does not say which of its pods or containers "+
			"has it", l.which)
		return
	}
	if p.Object.Spec.Containers == nil {
		p.Object.Spec.Containers = []v1.Container{{}}
	}
	prober.SetProbe(&p.Object.Spec.Containers[0], l.which, l.probe)
}

func (r *reader) useTemplate(p *Pod, t *template) {
	object := t.pod.DeepCopy()
	object.Name, object.Namespace = p.Name, p.Namespace
	if t.kind != "" {
		object.OwnerReferences = []metav1.OwnerReference{{Kind: t.kind, Name: t.pod.Name, Controller: new(true)}}
	}
	if p.Object != nil {
		object.Status = p.Object.Status
	}
	p.Object, p.Partial, p.Template = object, false, t.place
	p.addContainers(&object.Spec)
}

// naming matches the name of a container in messages of all versions of the kubelet.
var naming = pattern("naming")

// containerIn returns the container that a message names, or nothing.
func containerIn(message string) string {
	if !strings.Contains(message, "ontainer") && !strings.Contains(message, "Need to kill") { // a search costs less
		return ""
	}
	for _, name := range slices.Backward(naming.FindStringSubmatch(message[:min(len(message), 1000)])) {
		if isContainer(name) && name != "with" {
			return name
		}
	}
	return ""
}

// ofAContainer has the reasons of events about containers, among those whose messages may not name
// the container.
var ofAContainer = wordSet(`Unhealthy ProbeWarning ProbeError Pulled Pulling Created Started Killing BackOff Failed`)

// ofContainer reports whether a fact is about a container.
func (f *Fact) ofContainer() bool {
	state := slices.Contains([]Kind{Running, Waiting, Terminated, Restarts, Ready}, f.Kind)
	return f.Kind == Event && ofAContainer[f.Reason] || f.Source != FromLog && state
}

// pulled matches the image in the event Pulled.
var pulled = regexp.MustCompile(`^(?:Container image|Successfully pulled image) "([^"]+)"`)

// nameContainers gives the facts that name no container to the only one of the pod that can have
// them. A container whose name no text shows has the name "".
func (r *reader) nameContainers() {
	unnamed, images := map[*Pod][]*Fact{}, map[*Pod][]string{}
	for _, f := range r.rec.Facts {
		if m := pulled.FindStringSubmatch(f.Message); m != nil && len(images[f.Pod]) < 2 &&
			!slices.Contains(images[f.Pod], m[1]) {
			images[f.Pod] = append(images[f.Pod], m[1])
		}
		if f.Pod != nil && f.Container == "" && f.ofContainer() {
			unnamed[f.Pod] = append(unnamed[f.Pod], f)
		}
	}
	for _, p := range r.rec.Pods {
		var before, spec []v1.Container
		if p.Object != nil {
			before, spec = p.Object.Spec.InitContainers, p.Object.Spec.Containers
		}
		one := len(spec) == 1 && spec[0].Name == "" && len(p.containers) == 1
		if one && len(before) == 0 && len(podutil.Probes(&spec[0])) > 0 && r.isInit(p, p.containers[0]) {
			p.Object.Spec.InitContainers = []v1.Container{{Name: p.containers[0]}}
			p.containers = append(p.containers, "")
		} else if one {
			spec[0].Name = p.containers[0]
		}
		if len(p.containers) == 0 && len(unnamed[p])+len(spec) > 0 {
			p.containers = []string{""}
		}
		p.More = (p.Object == nil || p.Partial) && len(p.containers) == 1 && p.containers[0] != "" &&
			(len(images[p]) > 1 || slices.ContainsFunc(slices.Concat(before, spec),
				func(c v1.Container) bool { return c.Name == "" }))
		var open []*Fact
		for _, f := range unnamed[p] {
			if p.More || f.Kind != Event && len(spec) > 1 {
				continue // of a container whose name is cut off
			}
			if f.Container = p.onlyFor(f); f.Container == "" && !slices.Contains(p.containers, "") {
				open = append(open, f)
			}
		}
		if len(open) > 0 {
			r.problem(open[0].Place, false, "pod %s has %d containers, and %d facts do not say to which of them they "+
				"belong", p.Name, len(p.containers), len(open))
		}
	}
}

// isInit reports whether events name a container as an init container, and none tells of a probe or
// a stop, as of a sidecar.
func (r *reader) isInit(p *Pod, name string) bool {
	of := slices.DeleteFunc(slices.Clone(r.rec.Facts), func(f *Fact) bool { return f.Pod != p || f.Container != name })
	named := func(f *Fact) bool { return strings.Contains(f.Text, "spec.initContainers{"+name) }
	return slices.ContainsFunc(of, named) &&
		!slices.ContainsFunc(of, func(f *Fact) bool { return f.Reason == "Unhealthy" || f.Reason == "Killing" })
}

// onlyFor returns the only container that can have an event, or nothing: it is the only one, has
// the image, or has the probe, with the port of the request if several have one.
func (p *Pod) onlyFor(f *Fact) string {
	if len(p.containers) == 1 {
		return p.containers[0]
	}
	if p.Object == nil {
		return ""
	}
	u, containers := ParseUnhealthy(f.Message), slices.Collect(podutil.Containers(&p.Object.Spec))
	c := theOnly(containers, func(c *v1.Container) bool {
		return prober.ProbeOf(c, u.Probe) != nil ||
			u.Probe == "" && c.Image != "" && strings.Contains(f.Message, `"`+c.Image+`"`)
	})
	if c == nil {
		c = theOnly(containers, func(c *v1.Container) bool {
			port := prober.ProbePort(c, prober.ProbeOf(c, u.Probe))
			return port > 0 && strings.Contains(u.Output, fmt.Sprint(":", port))
		})
	}
	if c == nil {
		return ""
	}
	return c.Name
}
