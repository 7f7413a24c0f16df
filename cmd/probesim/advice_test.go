package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	sigsyaml "sigs.k8s.io/yaml"

	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/answers/compare"
	"probesim.dev/internal/answers/rollout"
)

// The forms of what tune and rollout print, in one line.
var (
	tunedContainer = regexp.MustCompile(`(Pod|Deployment|DaemonSet|StatefulSet|ReplicaSet|Job|CronJob) (?:[\w.-]+/)?` +
		`([\w.-]+), container ([\w.-]+) Kubernetes v`)
	tunedField = regexp.MustCompile(`(\w+Probe)\.(\w+): (?:none|\d+) -> (\d+)`)
	tunedProbe = regexp.MustCompile(`(startup|readiness)Probe: none -> .*?(?: after (\d+)s)? every (\d+)s, ` +
		`(\d+) failures?, timeout (\d+)s`)
	rollsOut   = regexp.MustCompile(`Deployment (?:[\w.-]+/)?([\w.-]+): `)
	rolloutFix = regexp.MustCompile(` (?:fix|helps) (.*?): (?:always enough, )?(?:none lost in|at most ([\d,<]+) lost, ` +
		`[\d,<]+ in the median of) (\d+) runs?, and the rollout takes`)
	fixedField = regexp.MustCompile(`(seconds|terminationGracePeriodSeconds|minReadySeconds|maxSurge|` +
		`maxUnavailable): (\d+)`)
)

// object is an object of a manifest.
type object map[string]any

// child returns an object in a field, which it makes if there is none.
func (o object) child(path ...string) object {
	for _, name := range path {
		next, _ := o[name].(map[string]any)
		if next == nil {
			next = map[string]any{}
			o[name] = next
		}
		o = next
	}
	return o
}

func (o object) podSpec() object {
	switch o["kind"] {
	case "Pod":
		return o.child("spec")
	case "CronJob":
		return o.child("spec", "jobTemplate", "spec", "template", "spec")
	}
	return o.child("spec", "template", "spec")
}

// container returns a container of a pod spec, or nil.
func (o object) container(name string) object {
	for _, field := range []string{"containers", "initContainers"} {
		list, _ := o[field].([]any)
		for _, c := range list {
			if c := object(c.(map[string]any)); c["name"] == name {
				return c
			}
		}
	}
	return nil
}

// edit writes a copy of a manifest with a change of an object.
func edit(t *testing.T, file, kind, name string, change func(object)) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var docs [][]byte
	found := false
	for _, doc := range regexp.MustCompile(`(?m)^---.*$`).Split(string(data), -1) {
		o := object{}
		if err := sigsyaml.Unmarshal([]byte(doc), &o); err != nil {
			t.Fatal(err)
		}
		if o["kind"] == kind && o.child("metadata")["name"] == name {
			change(o)
			found = true
		}
		text, err := sigsyaml.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		if len(o) > 0 {
			docs = append(docs, text)
		}
	}
	to := filepath.Join(t.TempDir(), "changed.yaml")
	if err := os.WriteFile(to, bytes.Join(docs, []byte("---\n")), 0o600); err != nil || !found {
		t.Fatalf("%s has no %s %s: %v", file, kind, name, err)
	}
	return to
}

// output returns what a command prints on standard output.
func output(t *testing.T, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if code := execute(t.Context(), args, &out, &errs); code > 1 {
		t.Fatalf("%q: exit code %d\n%s", args, code, errs.String())
	}
	return out.String()
}

func readJSON[T any](t *testing.T, args ...string) *T {
	t.Helper()
	r := new(T)
	if err := json.Unmarshal([]byte(output(t, append(args, "-o", "json")...)), r); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestTunedSettings makes the changes that tune prints: the requirements are met then, and tune
// names what compare finds worse, and what check finds anew.
func TestTunedSettings(t *testing.T) {
	t.Chdir("../..")
	made, brought := 0, 0
	for i, file := range append(someOf(t, "scenarios/library/manifests/charts", `\.yaml$`, 2),
		someOf(t, "internal/answers/rollout/testdata/reports", `\.yaml$`, 20)...) {
		for k, q := range []string{"start>=70s", "detect<=20s, stall>=5s", "answer>=4s", "ready<=4s", "unready<=5s"} {
			if (i+k)%2 > 0 {
				continue
			}
			text := strings.Join(strings.Fields(output(t, "tune", file, "--require", q)), " ")
			sections := tunedContainer.FindAllStringSubmatchIndex(text, -1)
			for n, at := range sections {
				section := text[at[0]:]
				if n+1 < len(sections) {
					section = text[at[0]:sections[n+1][0]]
				}
				kind, name, container := text[at[2]:at[3]], text[at[4]:at[5]], text[at[6]:at[7]]
				if !strings.Contains(section, " -> ") {
					continue
				}
				made++
				changed := edit(t, file, kind, name, func(o object) { makeChanges(t, o, container, section) })
				brought += testTuned(t, file, changed, q, kind+" "+name, container, section)
			}
		}
	}
	if made < 10 || brought == 0 {
		t.Errorf("%d proposals were made, and %d bring a finding", made, brought)
	}
}

// TestStartupProbesAreAlike checks that check and tune add the same startup probe.
func TestStartupProbesAreAlike(t *testing.T) {
	for _, liveness := range []string{"httpGet: {port: 80}, periodSeconds: 2",
		"httpGet: {port: 80}, timeoutSeconds: 30", "exec: {command: [live]}",
		"tcpSocket: {port: 80}, periodSeconds: 15, timeoutSeconds: 3"} {
		file := filepath.Join(t.TempDir(), "web.yaml")
		pod := "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers:\n  - name: app\n" +
			"    image: web:1\n    livenessProbe: {" + liveness + "}\n"
		if err := os.WriteFile(file, []byte(pod), 0o600); err != nil {
			t.Fatal(err)
		}
		probe := regexp.MustCompile(`every \d+s, \d+ failures(?:, timeout \d+s)?`)
		added := func(args ...string) string {
			return probe.FindString(strings.Join(strings.Fields(output(t, args...)), " "))
		}
		checked := added("check", file, "--start", "60s..120s")
		tuned := added("tune", file, "--require", "start>=120s")
		if checked == "" || strings.TrimSuffix(tuned, ", timeout 1s") != checked {
			t.Errorf("{%s}: check adds one %q, and tune %q", liveness, checked, tuned)
		}
	}
}

// makeChanges makes the changes of a section that tune prints.
func makeChanges(t *testing.T, o object, container, section string) {
	t.Helper()
	c := o.podSpec().container(container)
	for _, m := range tunedProbe.FindAllStringSubmatch(section, -1) {
		like, _ := c["livenessProbe"].(map[string]any)
		if like == nil {
			like, _ = c["startupProbe"].(map[string]any)
		}
		probe := maps.Clone(like)
		if ports, _ := c["ports"].([]any); like == nil && len(ports) > 0 {
			probe = map[string]any{"tcpSocket": map[string]any{"port": ports[0].(map[string]any)["containerPort"]}}
		}
		for _, field := range []string{"initialDelaySeconds", "successThreshold", "terminationGracePeriodSeconds"} {
			delete(probe, field)
		}
		for i, field := range []string{"initialDelaySeconds", "periodSeconds", "failureThreshold", "timeoutSeconds"} {
			if m[2+i] != "" {
				probe[field], _ = strconv.Atoi(m[2+i])
			}
		}
		c[m[1]+"Probe"] = probe
	}
	for _, m := range tunedField.FindAllStringSubmatch(section, -1) {
		c.child(m[1])[m[2]], _ = strconv.Atoi(m[3])
	}
}

// testTuned tests a proposal of tune, and returns how many findings it brings.
func testTuned(t *testing.T, file, changed, require, workload, container, section string) (brought int) {
	t.Helper()
	if again := output(t, "tune", changed, "--require", container+"/"+strings.ReplaceAll(require, " ", " "+container+
		"/")); strings.Contains(again, " -> ") {
		t.Errorf("%s: tune makes other changes of what it has changed:\n%s\n%s", file, section, again)
	}
	for _, w := range readJSON[compare.Report](t, "compare", file, changed).Workloads {
		for _, c := range w.Containers {
			if w.Kind+" "+w.Name != workload || c.Name != container {
				if len(c.Appeared) > 0 {
					t.Errorf("%s: %s, container %s has other findings", file, w.Name, c.Name)
				}
				continue
			}
			for _, f := range c.Appeared {
				if brought++; !strings.Contains(section, "("+string(f.ID)+")") {
					t.Errorf("%s, %s: it brings %s: %s\n%s", file, require, f.ID, f.Message, section)
				}
			}
			for _, row := range c.Rows {
				added := strings.Contains(section, "readinessProbe: none") &&
					strings.HasPrefix(string(row.Row), "serving")
				said, _, _ := strings.Cut(row.Row.Worse(0, 0), " 0s, not")
				if !added && row.Change == compare.Worse && !strings.Contains(section, " "+said+" ") {
					t.Errorf("%s, %s: %s gets worse\n%s", file, require, row.Row, section)
				}
			}
		}
	}
	return brought
}

// TestIncidentAdvice runs the command with which incident ends, and makes the changes that it
// prints: the start that was killed comes up then.
func TestIncidentAdvice(t *testing.T) {
	t.Chdir("../..")
	file := "cmd/probesim/testdata/printed/not-ready.yaml"
	m := printedCommand.FindStringSubmatch(continued.ReplaceAllString(output(t, "incident", file), " "))
	if m == nil || !strings.HasPrefix(m[1], "tune ") {
		t.Fatalf("the command is %q", m)
	}
	section := strings.Join(strings.Fields(output(t, words(m[1])...)), " ")
	changed := edit(t, file, "Pod", "web-1", func(o object) { makeChanges(t, o, "app", section) })
	for name, killed := range map[string]bool{file: true, changed: false} {
		text := output(t, "check", name, "--start", "app=9s..14s")
		if strings.Contains(text, "start-killed") != killed {
			t.Errorf("with\n%s\nthe check of %s says\n%s", section, name, text)
		}
	}
}

// TestRolloutFixes makes the changes that rollout prints: runs with them lose what it says, and
// check finds nothing new.
func TestRolloutFixes(t *testing.T) {
	t.Chdir("../..")
	kinds := map[string]int{}
	reports := "internal/answers/rollout/testdata/reports"
	short := someOf(t, reports, `/grace-period-of-0\.yaml$`, 1)
	for _, file := range append(someOf(t, reports, `\.yaml$`, 7), short...) {
		flags := []string{"--rps", "100", "--start", "4s..9s", "--runs", "3"}
		var out, errs bytes.Buffer
		if execute(t.Context(), append([]string{"rollout", file}, flags...), &out, &errs) > 1 {
			continue // as a report says
		}
		text := strings.Join(strings.Fields(out.String()), " ")
		if strings.Contains(text, "an invalid ") {
			continue // check reads no such file
		}
		sections := rollsOut.FindAllStringSubmatchIndex(text, -1)
		for n, at := range sections {
			section := text[at[0]:]
			if n+1 < len(sections) {
				section = text[at[0]:sections[n+1][0]]
			}
			for _, m := range rolloutFix.FindAllStringSubmatch(section, -1) {
				name := text[at[2]:at[3]]
				changed := edit(t, file, "Deployment", name, func(o object) { makeFix(o, m[1], kinds) })
				after := readJSON[rollout.Report](t, append(append([]string{"rollout", changed}, flags...), "--runs",
					m[3], "--workload", name)...)
				lost := 0.0
				if of := after.Workloads[0].Lost; of != nil {
					lost = of.Greatest
				}
				want := strings.TrimSpace(m[2])
				if want == "" {
					want = "0"
				}
				if got := rollout.Count(lost); got != want {
					t.Errorf("%s: with %s, %s are lost, not %s", file, m[1], got, want)
				}
				sameFindings(t, file, changed, m[1])
			}
		}
	}
	if got := slices.Sorted(maps.Keys(kinds)); !slices.Equal(got, []string{"maxSurge", "maxUnavailable",
		"minReadySeconds", "readinessProbe", "seconds", "terminationGracePeriodSeconds"}) {
		t.Errorf("these were changed: %v", kinds)
	}
}

// makeFix makes the change of a Deployment that rollout prints.
func makeFix(o object, change string, kinds map[string]int) {
	spec := o.child("spec")
	pod := o.podSpec()
	for _, m := range fixedField.FindAllStringSubmatch(change, -1) {
		kinds[m[1]]++
		value, _ := strconv.Atoi(m[2])
		switch m[1] {
		case "terminationGracePeriodSeconds":
			pod[m[1]] = value
		case "minReadySeconds":
			spec[m[1]] = value
		case "maxSurge", "maxUnavailable":
			if strings.Contains(change, "type: RollingUpdate") {
				spec.child("strategy")["type"] = "RollingUpdate"
			}
			spec.child("strategy", "rollingUpdate")[m[1]] = value
		case "seconds":
			list := pod["containers"].([]any)
			_, names, some := strings.Cut(change, "}} in ")
			for _, c := range list {
				c := object(c.(map[string]any))
				if !some || strings.HasPrefix(names, "all ") ||
					slices.Contains(strings.Fields(strings.ReplaceAll(names, ",", "")), fmt.Sprint(c["name"])) {
					c.child("lifecycle")["preStop"] = map[string]any{"sleep": map[string]any{"seconds": value}}
				}
			}
		}
	}
	if strings.Contains(change, "a readinessProbe") {
		kinds["readinessProbe"]++
		c := object(pod["containers"].([]any)[0].(map[string]any))
		port := any(8080)
		if ports, _ := c["ports"].([]any); len(ports) > 0 {
			port = ports[0].(map[string]any)["containerPort"]
		}
		c["readinessProbe"] = map[string]any{"tcpSocket": map[string]any{"port": port}, "periodSeconds": 1}
	}
}

// sameFindings tests that check finds nothing new in a file.
func sameFindings(t *testing.T, file, changed, change string) {
	t.Helper()
	found := func(file string) map[string]check.Finding {
		all := map[string]check.Finding{}
		for _, w := range readJSON[check.Report](t, "check", file).Workloads {
			for _, c := range w.Containers {
				for _, f := range c.Findings {
					all[w.Name+" "+c.Name+" "+string(f.ID)] = f
				}
			}
		}
		return all
	}
	before := found(file)
	for key, f := range found(changed) {
		if _, had := before[key]; !had {
			t.Errorf("%s: %s brings %s: %s", file, change, key, f.Message)
		}
	}
}
