package check

import (
	"path"
	"slices"
	"strings"
	"time"

	"probesim.dev/internal/value"
	"probesim.dev/trace"
)

// Ignore is a list of findings that some files ignore.
type Ignore struct {
	Path string // a file, a directory, or a pattern of path.Match for one of them; all files if empty
	IDs  []FindingID
}

// ParseIDs parses a list of findings with commas.
func ParseIDs(text string) ([]FindingID, error) {
	var list []FindingID
	for _, part := range strings.Split(text, ",") {
		rule, err := FindRule(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		list = append(list, rule.ID)
	}
	return list, nil
}

// Matches reports whether a file, or a directory that it is in, fits a pattern of path.Match.
func Matches(pattern, file string) bool {
	for file = path.Clean(file); ; file = path.Dir(file) {
		if ok, _ := path.Match(path.Clean(pattern), file); ok {
			return true
		}
		if parent := path.Dir(file); parent == file {
			return false
		}
	}
}

// sortOut moves the findings of a container that the workload or the options ignore, and those that
// the baseline has, out of its findings.
func (c *Checker) sortOut(w *workload, out *Container) {
	var ignored []FindingID
	for i := range c.options.Ignore {
		if rule := &c.options.Ignore[i]; rule.Path == "" || Matches(rule.Path, w.file) {
			ignored = append(ignored, rule.IDs...)
		}
	}
	left := []Finding{}
	for _, f := range out.Findings {
		own := slices.Contains(w.terms.ignored, f.ID) && (c.options.Base == nil ||
			c.options.Base.ignores(w, out.Name, &f))
		switch {
		case own || slices.Contains(ignored, f.ID):
			out.Ignored = append(out.Ignored, f)
		case c.options.Baseline.has(w, out.Name, &f):
			if !c.options.Baseline.find(w).container(out.Name).better(out, &f) {
				out.Known = append(out.Known, f)
				break
			}
			f.Message += " It is worse than in the baseline."
			left = append(left, f)
		default:
			left = append(left, f)
		}
	}
	out.Findings = left
}

// has reports whether a report has a finding of the same kind about the same field of a container,
// as severe or worse. The file of its workload can have another name.
func (r *Report) has(w *workload, container string, f *Finding) bool {
	same := func(o Finding) bool { return f.Same(o) && o.Severity.AtLeast(f.Severity) }
	c := r.find(w).container(container)
	return c != nil && (slices.ContainsFunc(c.Findings, same) || slices.ContainsFunc(c.Known, same))
}

// tolerance is how much a limit may differ between two versions of probesim.
const tolerance = value.Seconds(100 * time.Millisecond)

// better reports whether a figure that a finding is about is better than that of another result for
// the container: a share of starts that come up, the time to exit, or a row of the probe.
func (c *Container) better(o *Container, f *Finding) bool {
	switch {
	case f.ID == StartKilled && c.StartShare != nil && o.StartShare != nil && *c.StartShare > *o.StartShare:
		return true
	case f.ID == ShortGrace && c.Deleted != nil && o.Deleted != nil &&
		c.Deleted.SIGKILL-c.Deleted.SIGTERM > o.Deleted.SIGKILL-o.Deleted.SIGTERM:
		return true
	}
	about := func(id RowID) bool {
		return slices.ContainsFunc(id.Probes(),
			func(p trace.Probe) bool { return strings.Contains(f.Field, string(p)+"Probe") })
	}
	for _, l := range c.Limits {
		if slices.ContainsFunc(o.Limits,
			func(other Limit) bool { return other.Row == l.Row && about(l.Row) && other.Always < l.Always-tolerance }) {
			return true
		}
	}
	return slices.ContainsFunc(c.Times, func(t Time) bool {
		return slices.ContainsFunc(o.Times,
			func(other Time) bool {
				return other.Row == t.Row && about(t.Row) && other.Worst > t.Worst &&
					differ(time.Duration(t.Worst), time.Duration(other.Worst))
			})
	})
}

// ignores reports whether a report ignores a kind of finding of a container.
func (r *Report) ignores(w *workload, container string, f *Finding) bool {
	c := r.find(w).container(container)
	return c != nil && slices.ContainsFunc(c.Ignored, func(o Finding) bool { return o.ID == f.ID })
}
