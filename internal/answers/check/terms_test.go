package check_test

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"probesim.dev/internal/answers/check"
	"probesim.dev/internal/input"
	"probesim.dev/internal/require"
	"probesim.dev/internal/value"
)

// meshed returns a Deployment whose program app has a restartable init container envoy, and another
// program if there is one.
func meshed(t *testing.T, others ...string) string {
	t.Helper()
	data, err := os.ReadFile("testdata/meshed-deployment.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Replace(string(data), "      containers:\n", "      containers:\n"+strings.Join(others, ""), 1)
}

const helper = "      - {name: helper, image: helper:1}\n"

func durations(t *testing.T, text string) value.Durations {
	t.Helper()
	if text == "" {
		return value.Durations{}
	}
	d, err := value.ParseDurations(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func requirements(t *testing.T, text string) check.Requirements {
	t.Helper()
	if text == "" {
		return nil
	}
	list, err := parseRequirements(text)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestStartIsOfOrdinaryContainers checks that a start without a name is about app and not about its
// sidecar, whose name overrides it.
func TestStartIsOfOrdinaryContainers(t *testing.T) {
	for _, test := range []struct {
		start, envoy, app string // the known start, and the share of the starts that come up
		killed            []string
	}{
		{"40s..70s", "none", "40s..1m10s 59%", []string{"app"}},
		{"app=40s..70s", "none", "40s..1m10s 59%", []string{"app"}},
		{"40s..70s, envoy=40s", "40s 0%", "40s..1m10s 59%", []string{"envoy", "app"}},
		{"envoy=5s", "5s 100%", "none", nil},
		{"70s, app=20s", "none", "20s 100%", nil},
	} {
		r := checked(t, meshed(t), check.Options{Nodes: typical, Start: durations(t, test.start)})
		var killed []string
		said := map[string]string{}
		for _, c := range r.Workloads[0].Containers {
			said[c.Name] = "none"
			if c.Start != nil {
				said[c.Name] = fmt.Sprintf("%s %s", c.Start, check.Percent(*c.StartShare))
			}
			if slices.ContainsFunc(c.Findings, func(f check.Finding) bool { return f.ID == check.StartKilled }) {
				killed = append(killed, c.Name)
			}
		}
		if said["envoy"] != test.envoy || said["app"] != test.app || !slices.Equal(killed, test.killed) {
			t.Errorf("--start %s: the starts are %v, and killed are those of %v, want %+v", test.start, said, killed,
				test)
		}
	}
	c := checked(t, meshed(t), check.Options{Start: durations(t, "40s..70s")}).Workloads[0].Containers
	var data []byte
	for _, one := range c {
		text, _ := json.Marshal(one)
		data = append(data, text...)
	}
	for _, want := range []string{`"sidecar":"restartable init container"`, `"start":{"least":40,"greatest":70}`} {
		if strings.Count(string(data), want) != 1 {
			t.Errorf("the JSON has not once %s", want)
		}
	}
}

// TestStop checks the time from SIGTERM to the exit against the time until SIGKILL: 45 s of grace,
// of which the preStop hook of app takes 15 s.
func TestStop(t *testing.T) {
	for _, test := range []struct {
		stop, exit string
		want       string // the finding
	}{
		{"3s..8s", "18s..23s", ""},
		{"app=3s..29s", "18s..44s", ""},
		{"3s..40s", "18s..45s", "The program takes 3s..40s to exit after SIGTERM, and gets SIGKILL after 30.0s. The " +
			"preStop hook takes 15.0s of the grace period."},
		{"envoy=1s", "<nil>", ""},
	} {
		r := checked(t, meshed(t), check.Options{Stop: durations(t, test.stop)})
		app := r.Workloads[0].Containers[1]
		exit, got := "<nil>", ""
		if e := app.Deleted.Exit; e != nil {
			exit = fmt.Sprintf("%s..%s", e.Min.Round(time.Second), e.Max.Round(time.Second))
		}
		for _, f := range app.Findings {
			if f.ID == check.ShortGrace {
				got = f.Message
				if f.Severity != check.Error || f.Line != 66 {
					t.Errorf("the finding is %+v", f)
				}
			}
		}
		if exit != test.exit || got != test.want {
			t.Errorf("--stop %s: app exits after %s with the finding %q, want %s and %q", test.stop, exit, got,
				test.exit, test.want)
		}
	}
	// A sidecar gets SIGTERM after its hook of 20 s, and when app has exited.
	for stop, want := range map[string]string{"envoy=1s": "20s", "app=2s": "20s", "app=1s..8s": "23s"} {
		envoy := checked(t, meshed(t), check.Options{Stop: durations(t, stop)}).Workloads[0].Containers[0]
		if got := time.Duration(envoy.Deleted.SIGTERM).Round(time.Second).String(); got != want {
			t.Errorf("--stop %s: envoy gets SIGTERM after %s, want %s", stop, got, want)
		}
		if unknown := stop == "envoy=1s"; unknown != (envoy.Deleted.Condition == "once app has exited") ||
			unknown != (envoy.Deleted.Condition != "") {
			t.Errorf("--stop %s: envoy gets SIGTERM %q", stop, envoy.Deleted.Condition)
		}
	}
	// A stop that is known to be short enough needs no more time.
	r := checked(t, pod("lifecycle: {preStop: {sleep: {seconds: 8}}}\nreadinessProbe: {httpGet: {port: 80}, "+
		"periodSeconds: 2}"), check.Options{Stop: durations(t, "1s")})
	if list := special(r.Workloads[0].Containers[0].Findings); len(list) > 0 {
		t.Errorf("the findings are %+v", list)
	}
}

// TestRequirementsAreOfAllOrdinaryContainers checks which containers a requirement is about, and
// that it is not met unless each has a probe for it.
func TestRequirementsAreOfAllOrdinaryContainers(t *testing.T) {
	for _, test := range []struct{ require, other, want string }{
		{"start>=50s", "", "start>=50s [app] met by app"},
		{"start>=70s", "", "start>=1m10s [app] not met by app"},
		{"app/start>=70s", "", "app/start>=1m10s [app] not met by app"},
		{"envoy/start>=29s", "", "envoy/start>=29s [envoy] met by envoy"},
		{"start>=50s", helper, "start>=50s [helper app] container helper has no startup or liveness probe"},
		{"app/start>=50s", helper, "app/start>=50s [app] met by app"},
		{"detect<=1m, helper/detect<=5m", helper,
			"detect<=1m [app] met by app; helper/detect<=5m [helper] container helper has no liveness probe"},
		{"envoy/detect<=1m", "", "envoy/detect<=1m [envoy] container envoy has no liveness probe"},
		{"migrate/ready<=5s", "", "migrate/ready<=5s [migrate] container migrate has no readiness or startup probe"},
	} {
		r := checked(t, meshed(t, test.other), check.Options{Require: requirements(t, test.require)})
		if got := verified(r); got != test.want {
			t.Errorf("--require %s: %s, want %s", test.require, got, test.want)
		}
	}
	istio := strings.NewReplacer("name: helper", "name: istio-proxy", "helper:1}",
		"istio/proxyv2:1.24.0, livenessProbe: {httpGet: {port: 15021}}}").Replace(helper)
	onlyProxy := strings.Replace(meshed(t, istio),
		"        livenessProbe:\n          httpGet: {path: /actuator/health/liveness, port: management}\n          "+
			"periodSeconds: 10\n          timeoutSeconds: 2\n          failureThreshold: 3\n", "", 1)
	r := checked(t, onlyProxy, check.Options{Require: requirements(t, "detect<=45s")})
	if got, want := verified(r), "detect<=45s [app] container app has no liveness probe"; got != want || r.Met() {
		t.Errorf("a probe of the proxy alone: %s, want %s", got, want)
	}
}

// verified describes the requirements of the first workload.
func verified(r *check.Report) string {
	var list []string
	for _, v := range r.Workloads[0].Requirements {
		text := fmt.Sprintf("%s %v ", v.Requirement, v.Containers)
		switch {
		case v.Reason != "":
			text += v.Reason
		case v.Met:
			text += "met by " + v.Container
		default:
			text += "not met by " + v.Container
		}
		list = append(list, text)
	}
	return strings.Join(list, "; ")
}

// TestAnnotations checks that annotations ask for more than the command line, and for less only if
// they may.
func TestAnnotations(t *testing.T) {
	for _, test := range []struct {
		annotation, asked, require string
		allow                      bool
		want                       string // the requirements with their containers
	}{
		{annotation: "detect<=1m", asked: "start>=50s", want: "start>=50s[helper app] detect<=1m[helper app]"},
		{annotation: "start>=90s", asked: "start>=50s", want: "start>=1m30s[helper app]"},
		{annotation: "start>=30s", asked: "start>=50s", want: "start>=50s[helper app]"},
		{annotation: "start>=30s", asked: "start>=50s", allow: true, want: "start>=30s[helper app]"},
		{annotation: "detect<=30s", asked: "detect<=45s", want: "detect<=30s[helper app]"},
		{annotation: "detect<=1m", asked: "detect<=45s", want: "detect<=45s[helper app]"},
		{annotation: "detect<=45s", asked: "detect<=45s", want: "detect<=45s[helper app]"},
		// A name in an annotation does not take the requirement from the other containers.
		{annotation: "app/detect<=30s", asked: "detect<=45s", want: "detect<=45s[helper] app/detect<=30s[app]"},
		{annotation: "app/detect<=1m", asked: "detect<=45s", want: "detect<=45s[helper app]"},
		{annotation: "app/detect<=1m", asked: "detect<=45s, start>=50s", allow: true,
			want: "start>=50s[helper app] app/detect<=1m[app]"},
		{annotation: "start>=50s", asked: "app/start>=70s", want: "app/start>=1m10s[app] start>=50s[helper]"},
		{annotation: "start>=50s, app/start>=90s", asked: "start>=70s, envoy/start>=20s",
			want: "start>=1m10s[helper] envoy/start>=20s[envoy] app/start>=1m30s[app]"},
	} {
		manifest := strings.Replace(meshed(t, helper), "  name: orders\n",
			"  name: orders\n  annotations: {probesim.dev/require: '"+test.annotation+"'}\n", 1)
		o := check.Options{Require: requirements(t, test.asked), AllowAnnotations: test.allow}
		w := checked(t, manifest, o).Workloads[0]
		var list []string
		for _, v := range w.Requirements {
			list = append(list, fmt.Sprint(v.Requirement, v.Containers))
		}
		if got := strings.Join(list, " "); got != test.want {
			t.Errorf("%s under --require %s: %s, want %s", test.annotation, test.asked, got, test.want)
		}
		o.IgnoreAnnotations = true
		if w := checked(t, manifest, o).Workloads[0]; len(w.Requirements) != len(o.Require) {
			t.Errorf("%s counts although annotations are ignored", test.annotation)
		}
	}
}

// TestStartAnnotation checks that an annotation can make a known start longer, or stand alone, and
// be shorter only if it may.
func TestStartAnnotation(t *testing.T) {
	for _, test := range []struct {
		annotation, asked string
		allow             bool
		want              string // of app
	}{
		{annotation: "app=40s..70s", want: "40s..1m10s"},
		{annotation: "40s..70s", want: "40s..1m10s"},
		{annotation: "envoy=5s", asked: "30s", want: "30s"},
		{annotation: "app=40s..70s", asked: "30s", want: "40s..1m10s"},
		{annotation: "app=20s", asked: "30s", want: "30s"},
		{annotation: "20s", asked: "app=30s", allow: true, want: "20s"},
	} {
		for key, of := range map[string]func(*check.Options) *value.Durations{
			"start": func(o *check.Options) *value.Durations { return &o.Start },
			"stop":  func(o *check.Options) *value.Durations { return &o.Stop },
		} {
			manifest := strings.Replace(meshed(t), "    metadata:\n",
				"    metadata:\n      annotations: {probesim.dev/"+key+": "+test.annotation+"}\n", 1)
			o := check.Options{AllowAnnotations: test.allow}
			*of(&o) = durations(t, test.asked)
			w := checked(t, manifest, o).Workloads[0]
			got := map[string]*value.Interval{"start": w.Containers[1].Start, "stop": w.Containers[1].Stop}[key]
			if fmt.Sprint(got) != test.want {
				t.Errorf("%s %s under %q: %s, want %s", key, test.annotation, test.asked, got, test.want)
			}
		}
	}
}

// TestWrongAnnotations checks that annotations which can mean nothing are errors.
func TestWrongAnnotations(t *testing.T) {
	for annotation, want := range map[string]string{
		"probesim.dev/require: ap/start>=3s": `the pod has no container "ap" (did you mean "app"?)`,
		"probesim.dev/start: web=3s":         `the pod has no container "web"; there are `,
		"probesim.dev/stop: app=x":           `app: `,
		"probesim.dev/starts: app=3s":        `probesim has no such annotation (did you mean "probesim.dev/start"?)`,
	} {
		manifest := strings.Replace(meshed(t), "  name: orders\n", "  name: orders\n  annotations: {"+annotation+"}\n",
			1)
		_, err := check.New([]input.File{{Name: "web.yaml", Data: []byte(manifest)}}, check.Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", annotation, err, want)
		}
	}
}

// TestParseDurations checks the lists that --start and --stop take.
func TestParseDurations(t *testing.T) {
	for text, want := range map[string]string{
		"40s..70s":                "40s..1m10s",
		" envoy = 5s , 40s..70s ": "40s..1m10s,envoy=5s",
		"app=1s,web=2s..3s":       "app=1s,web=2s..3s",
		"":                        "a duration is missing",
		"5s,6s":                   "6s is the second one without the name of a container: write app=6s",
		"app=1s,app=2s":           "app is there twice",
		"=1s":                     "the name of a container is missing before =",
		"app=7h":                  "app: must be at most 6h",
		"app=5s..":                "app: ",
	} {
		d, err := value.ParseDurations(text)
		got := d.String()
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, want) || err == nil && got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
		if err == nil {
			if again, err := value.ParseDurations(got); err != nil || !reflect.DeepEqual(again, d) {
				t.Errorf("%q: %s is %v, %v when it is read again", text, got, again, err)
			}
		}
	}
}

// TestUnknownContainers checks that an option about a container which no workload has is an error.
func TestUnknownContainers(t *testing.T) {
	files := []input.File{{Name: "web.yaml", Data: []byte(meshed(t))}}
	for _, o := range []check.Options{{Start: durations(t, "ap=3s")}, {Stop: durations(t, "ap=3s")},
		{Require: requirements(t, "ap/stall>=3s")}} {
		if err := o.UnknownContainers(files); err == nil ||
			err.Error() != `no workload has a container "ap" (did you mean "app"?)` {
			t.Errorf("the error is %v", err)
		}
	}
	o := check.Options{Start: durations(t, "3s, migrate=1s"), Require: requirements(t, "app/stall>=3s, stall>=2s")}
	if err := o.UnknownContainers(files); err != nil {
		t.Error(err)
	}
}

// TestBase checks that annotations can only ask for more than an earlier report does.
func TestBase(t *testing.T) {
	pod := func(annotations string) string {
		return "apiVersion: v1\nkind: Pod\nmetadata: {name: web, annotations: {" + annotations +
			"}}\nspec: {containers: [{name: app, image: a, livenessProbe: {httpGet: {port: 80}, periodSeconds: 2}}]}\n"
	}
	for _, test := range []struct {
		base, now   string
		o           check.Options
		start, stop string
		required    string
	}{
		{base: "probesim.dev/start: 8s", now: "probesim.dev/start: 1s..3s", start: "8s"},
		{base: "probesim.dev/start: 8s", now: "probesim.dev/start: 9s", start: "9s"},
		{base: "probesim.dev/start: 8s", start: "8s"},
		{now: "probesim.dev/stop: 1s", stop: "none"},
		{base: "probesim.dev/stop: 3s", now: "probesim.dev/stop: 3s", stop: "3s"},
		{base: "probesim.dev/stop: 3s", now: "probesim.dev/stop: 1s", o: check.Options{AllowAnnotations: true},
			stop: "1s"},
		{now: "probesim.dev/start: 1s", o: check.Options{Start: durations(t, "5s")}, start: "5s"},
		{base: "probesim.dev/require: stall>=5s", now: "probesim.dev/require: stall>=2s", required: "stall>=5s"},
		{base: "probesim.dev/require: stall>=5s", required: "stall>=5s"},
		{base: "probesim.dev/require: stall>=5s", now: "probesim.dev/require: 'stall>=6s, detect<=9s'",
			required: "stall>=6s detect<=9s"},
		{base: "probesim.dev/require: stall>=5s", o: check.Options{Require: requirements(t, "stall>=5s")},
			required: "stall>=5s"},
	} {
		o := test.o
		text, _ := json.Marshal(checked(t, pod(test.base), check.Options{}))
		o.Base = &check.Report{}
		if err := json.Unmarshal(text, o.Base); err != nil {
			t.Fatal(err)
		}
		w := checked(t, pod(test.now), o).Workloads[0]
		known := func(s *value.Interval) string {
			if s == nil {
				return "none"
			}
			return s.String()
		}
		var required []string
		for _, v := range w.Requirements {
			required = append(required, v.Requirement)
		}
		c := w.Containers[0]
		if test.start != "" && known(c.Start) != test.start || test.stop != "" && known(c.Stop) != test.stop ||
			strings.Join(required, " ") != test.required {
			t.Errorf("base %q, now %q: start %s, stop %s, requirements %q, want %+v", test.base, test.now,
				known(c.Start), known(c.Stop), required, test)
		}
	}
}

// parseRequirements parses requirements on containers.
func parseRequirements(text string) (check.Requirements, error) {
	list, err := require.Parse(text)
	return check.RequirementsOf(list), err
}
