package render_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"probesim.dev/internal/answers/incident"
	"probesim.dev/internal/answers/incident/verdict"
	"probesim.dev/internal/answers/incident/verdict/render"
	"probesim.dev/internal/githubrunner"
	"probesim.dev/internal/input"
	"probesim.dev/internal/show/document"
	"probesim.dev/trace"
)

// answer returns an answer about n pods of a workload, each killed by its liveness probe, and a pod
// without trouble.
func answer(n int) *render.Answer {
	text := "NAME READY STATUS RESTARTS AGE\n"
	for i := range n {
		text += fmt.Sprintf("web-%d 0/1 CrashLoopBackOff %d 9m\n", i, i+2)
	}
	rec := incident.Read([]input.File{{Name: "pods.txt", Data: []byte(text + "calm-0 1/1 Running 0 9m\n")}})
	r := &verdict.Report{}
	for i, p := range rec.Pods {
		if p.Name == "calm-0" {
			r.Quiet = append(r.Quiet, p)
			continue
		}
		code := int32(137)
		r.Verdicts = append(r.Verdicts,
			verdict.Verdict{Pod: p, Container: "app", Cause: verdict.LivenessProbe, Sure: verdict.Certain,
				Sentence: fmt.Sprintf("app was killed by its liveness probe %d times.", i+2),
				Because:  "The server answers 404 for /helth: it runs, but has no such path.",
				Details: []string{fmt.Sprintf("%d failures / %d kills = 3, so no run of the probe ever succeeded.",
					3*(i+2), i+2)},
				Advice: []string{"Correct the path of the probe. A higher failureThreshold would only delay the " +
					"kills."},
				Question: &verdict.Question{Asks: "Which paths does the server have?", Command: "kubectl logs " +
					p.Name +
					" --previous"},
				Evidence: []verdict.Evidence{{Place: incident.Place{File: "pods.txt", Line: i + 2},
					Text: p.Name + " 0/1 CrashLoopBackOff"}},
				Probe: trace.Liveness, Class: verdict.WrongPath, Kills: i + 2, Restarts: i + 2, ExitCode: &code,
				Life: &verdict.Span{Least: 29 * time.Second, Greatest: 31 * time.Second}})
	}
	return &render.Answer{Recording: rec, Report: r}
}

func written(t *testing.T, write func(*bytes.Buffer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestFirstScreen checks that the cause is in the first two lines, what to do in the next three,
// and that all fits the terminal.
func TestFirstScreen(t *testing.T) {
	got := written(t,
		func(b *bytes.Buffer) error { return answer(1).Document().Write(b, "text", document.Options{Width: 80}) })
	const want = `web-0: app was killed by its liveness probe 2 times. The server answers 404 for
/helth: it runs, but has no such path.
  Do: Correct the path of the probe. A higher failureThreshold would only delay
  the kills.
  Ask: Which paths does the server have?
    kubectl logs web-0 --previous
  6 failures / 2 kills = 3, so no run of the probe ever succeeded.
  Evidence:
    pods.txt:2: web-0 0/1 CrashLoopBackOff

`
	if !strings.HasPrefix(got, want) || !strings.Contains(got, "\n\nNo trouble: calm-0\npods.txt:2: the times") {
		t.Errorf("the answer begins with\n%s\nwant\n%s", got, want)
	}
	for _, line := range strings.Split(got, "\n") {
		if utf8.RuneCountInString(line) > 80 {
			t.Errorf("a line is longer than the terminal: %s", line)
		}
	}
}

// TestEachAnswerSaysWhatToDo checks that what to do or to ask follows each cause of the texts that
// people posted.
func TestEachAnswerSaysWhatToDo(t *testing.T) {
	files, err := filepath.Glob("../../testdata/*/*")
	if err != nil || len(files) < 50 {
		t.Fatal(len(files), err)
	}
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil || info.IsDir() {
			continue
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		rec := incident.Read([]input.File{{Name: filepath.Base(file), Data: data}})
		a := &render.Answer{Recording: rec, Report: verdict.Of(rec)}
		text := written(t,
			func(b *bytes.Buffer) error { return a.Document().Write(b, "text", document.Options{Width: 80}) })
		if len(a.Report.Verdicts) == 0 || a.Report.Verdicts[0].Cause == verdict.Nothing {
			continue
		}
		lines := strings.Split(text, "\n")
		next := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "  ") })
		if next < 1 || next > 4 || !strings.HasPrefix(lines[next], "  Do: ") && !strings.HasPrefix(lines[next],
			"  Ask: ") {
			t.Errorf("%s: the answer begins with\n%s", file, strings.Join(lines[:min(len(lines), 6)], "\n"))
		}
	}
}

// TestReplicasShareAVerdict checks that verdicts which differ in numbers only are one, and that
// others are not.
func TestReplicasShareAVerdict(t *testing.T) {
	a := answer(7)
	verdicts := a.Report.Verdicts
	verdicts[3].Sentence = "app was killed by its liveness probe."
	verdicts[4].Because = "Nothing listened on port 8080 (connection refused)."
	verdicts[5].Because = "Its command failed and wrote: 21:00:02 10.0.0.5 refuses"
	verdicts[6].Because = "Its command failed and wrote: 21:00:07 10.0.0.6 refuses"
	text := written(t, func(b *bytes.Buffer) error { return a.Document().Write(b, "text", document.Options{}) })
	for _, want := range []string{"web-0: app was killed", "And 3 more pods: web-1, web-2, web-3\n",
		"web-4: app was killed", "web-5: app was killed", "And 1 more pod: web-6\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("the text has no %q:\n%s", want, text)
		}
	}
	a.Pod = "web-2"
	if text = written(t, func(b *bytes.Buffer) error {
		return a.Document().Write(b, "text", document.Options{})
	}); !strings.HasPrefix(text, "web-2: ") || strings.Contains(text, "more pods") {
		t.Errorf("of web-2 alone:\n%s", text)
	}
	a.Pod = "calm-0"
	if text = written(t, func(b *bytes.Buffer) error {
		return a.Document().Write(b, "text", document.Options{})
	}); !strings.HasPrefix(text, "No trouble: calm-0\n\n") {
		t.Errorf("of calm-0 alone:\n%s", text)
	}
}

// TestPodIsNamedOnce checks that a sentence that names the pod has no other label, and that only
// the name of the pod counts.
func TestPodIsNamedOnce(t *testing.T) {
	for _, c := range []struct{ pod, container, sentence, want string }{
		{"web-0", "app", "app ended by itself.", "shop/web-0: app ended by itself."},
		{"web-0", "", "web-0 runs but is not ready.", "shop/web-0 runs but is not ready."},
		{"web-0", "", "No node takes web-0.", "No node takes shop/web-0."},
		{"web-0", "", "No node takes web-0: 0/3 nodes are free.", "No node takes shop/web-0: 0/3 nodes are free."},
		{"web-0", "app", "app cannot start: the secret web-0 is missing.",
			"shop/web-0: app cannot start: the secret web-0 is missing."},
		{"web-0", "app", "app takes web-01.", "shop/web-0: app takes web-01."},
		{"web", "web", "web was killed.", "shop/web was killed."},
		{"probe", "app", "app was killed by its probe.", "shop/probe: app was killed by its probe."},
	} {
		a := answer(1)
		v := &a.Report.Verdicts[0]
		v.Pod.Namespace, v.Pod.Name, v.Container, v.Sentence = "shop", c.pod, c.container, c.sentence
		if got := written(t, func(b *bytes.Buffer) error {
			return a.Document().Write(b, "text", document.Options{})
		}); !strings.HasPrefix(got, c.want+" The server") {
			t.Errorf("the answer begins with %q, want %q", strings.SplitN(got, "\n", 2)[0], c.want)
		}
	}
}

// TestMeaningFollowsTheSentence checks that each format has what the failures mean, and that only
// the sentence is bold.
func TestMeaningFollowsTheSentence(t *testing.T) {
	a := answer(1)
	for want, write := range map[string]func(*bytes.Buffer) error{
		"2 times.\x1b[0m The server answers 404 for\n/helth: it": func(b *bytes.Buffer) error {
			return a.Document().Write(b, "text", document.Options{Width: 80, Color: true})
		},
		"2 times.\n\nThe server answers 404 for /helth: it": func(b *bytes.Buffer) error {
			return a.Document().Write(b, "markdown", document.Options{})
		},
		`"because": "The server answers 404 for /helth: it`: func(b *bytes.Buffer) error { return a.JSON(b) },
		"2 times.</h2>\n<p>The server answers 404 for /helth: it": func(b *bytes.Buffer) error {
			return a.Document().Write(b, "html", document.Options{})
		},
	} {
		if got := written(t, write); !strings.Contains(got, want) {
			t.Errorf("there is no %q in\n%s", want, got[:min(len(got), 600)])
		}
	}
}

// TestManyVerdicts checks that the text has the worst verdicts, and names the pods of the others.
func TestManyVerdicts(t *testing.T) {
	a := answer(12)
	for i := range a.Report.Verdicts {
		a.Report.Verdicts[i].Container = fmt.Sprintf("c%d", i)
	}
	text := written(t, func(b *bytes.Buffer) error { return a.Document().Write(b, "text", document.Options{}) })
	if n := strings.Count(text, "was killed"); n != 8 ||
		!strings.Contains(text, "More verdicts: web-8, web-9, web-10, web-11. Choose one with --pod, or see "+
			"all\nwith -v.\n") {
		t.Errorf("%d verdicts:\n%s", n, text)
	}
	a.Verbose = true
	if n := strings.Count(written(t, func(b *bytes.Buffer) error {
		return a.Document().Write(b, "text", document.Options{})
	}), "was killed"); n != 12 {
		t.Errorf("%d verdicts of all", n)
	}
}

// TestUnreadLines checks that lines that were not read are counted, and listed on demand.
func TestUnreadLines(t *testing.T) {
	a := answer(1)
	a.Recording.Unread, a.Recording.UnreadLines = []incident.Unread{{Place: incident.Place{File: "a.txt", Line: 7},
		Text: "something else"}}, 3
	text := written(t, func(b *bytes.Buffer) error { return a.Document().Write(b, "text", document.Options{}) })
	if !strings.HasSuffix(text, "\nNot read: 3 lines; -v lists them\n") {
		t.Errorf("the text ends with %q", text[len(text)-60:])
	}
	a.Verbose = true
	text = written(t, func(b *bytes.Buffer) error { return a.Document().Write(b, "text", document.Options{}) })
	if !strings.HasSuffix(text, "\nNot read: 3 lines\n  a.txt:7: something else\n") {
		t.Errorf("the text ends with %q", text[len(text)-80:])
	}
}

// TestJSON checks that the object has the verdicts with their numbers, and that an unknown number
// is absent.
func TestJSON(t *testing.T) {
	a := answer(2)
	a.Report.Verdicts[1].Restarts, a.Report.Verdicts[1].ExitCode = -1, nil
	var doc struct{ Verdicts []map[string]any }
	if err := json.Unmarshal([]byte(written(t, func(b *bytes.Buffer) error {
		return a.JSON(b)
	})), &doc); err != nil || len(doc.Verdicts) != 2 {
		t.Fatalf("%d verdicts, %v", len(doc.Verdicts), err)
	}
	first, second := doc.Verdicts[0], doc.Verdicts[1]
	if first["pod"] != "/web-0" || first["cause"] != "livenessProbe" || first["sure"] != "certain" ||
		first["class"] != "404" || first["exitCode"] != 137.0 || first["restarts"] != 2.0 ||
		fmt.Sprint(first["life"]) != "map[greatest:3.1e+10 least:2.9e+10]" ||
		first["command"] != "kubectl logs web-0 --previous" {
		t.Errorf("the first verdict is %v", first)
	}
	for _, name := range []string{"restarts", "exitCode", "window", "or"} {
		if _, has := second[name]; has {
			t.Errorf("%s is unknown, and is %v", name, second[name])
		}
	}
}

// hostile has what may end a code block, give a command to a CI system, control a terminal or
// inject markup.
const hostile = "x\n```\n# a\n::error::forged\n##[error]forged\x1b[2J\u202e<script>alert(1)</script> @all " +
	"[a](http://b) **c** |"

// TestHostileText checks that text from a recording stays text in each format.
func TestHostileText(t *testing.T) {
	a := answer(1)
	v := &a.Report.Verdicts[0]
	v.Sentence, v.Because, v.Details, v.Advice, v.Question = hostile, hostile, []string{hostile}, []string{hostile},
		&verdict.Question{Asks: hostile, Command: hostile}
	v.Evidence = append(v.Evidence, verdict.Evidence{Place: incident.Place{File: hostile, Line: 1}, Text: hostile})
	a.Recording.Unread, a.Recording.UnreadLines,
		a.Verbose = []incident.Unread{{Place: incident.Place{File: hostile, Line: 2}, Text: hostile}}, 1, true
	for name, write := range map[string]func(*bytes.Buffer) error{
		"text":     func(b *bytes.Buffer) error { return a.Document().Write(b, "text", document.Options{}) },
		"markdown": func(b *bytes.Buffer) error { return a.Document().Write(b, "markdown", document.Options{}) },
		"json":     func(b *bytes.Buffer) error { return a.JSON(b) },
		"html":     func(b *bytes.Buffer) error { return a.Document().Write(b, "html", document.Options{}) },
	} {
		got := written(t, write)
		if commands := githubrunner.Commands(got); len(commands) > 0 {
			t.Errorf("%s: commands to a CI system: %q", name, commands)
		}
		for _, bad := range []string{"\x1b", "\u202e", "\n# a", "\n```\n# a"} {
			if strings.Contains(got, bad) {
				t.Errorf("%s has %q", name, bad)
			}
		}
		if (name == "html" || name == "markdown") && strings.Contains(outsideBlocks(got), "<script>alert") {
			t.Errorf("%s has markup", name)
		}
		if name == "markdown" {
			if rest := outsideBlocks(got); strings.Contains(rest, "@all") || strings.Contains(rest, " [a](") ||
				strings.Contains(rest, "**c**") {
				t.Errorf("Markdown has markup: %s", rest)
			}
		}
	}
}

// outsideBlocks returns the lines of Markdown that are not in code blocks.
func outsideBlocks(text string) string {
	var rest []string
	fence := ""
	for _, line := range strings.Split(text, "\n") {
		ticks := line[:len(line)-len(strings.TrimLeft(line, "`"))]
		switch {
		case fence == "" && len(ticks) >= 3:
			fence = ticks
		case fence != "" && line == fence:
			fence = ""
		case fence == "":
			rest = append(rest, line)
		}
	}
	return strings.Join(rest, "\n")
}
