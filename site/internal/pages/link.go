package pages

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
)

// State is what the playground shows: a command, its arguments, and the files that it reads.
type State struct {
	Tab   string `json:"tab"` // the command
	Args  string `json:"args"`
	Files []File `json:"files"`
}

// File is a file of the playground.
type File struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Link returns the fragment of the playground that shows a state, as assets/link.js reads it.
func (s *State) Link() string {
	list := [][2]string{}
	for _, f := range s.Files {
		list = append(list, [2]string{f.Name, f.Text})
	}
	data, _ := json.Marshal(map[string]any{"t": s.Tab, "a": s.Args, "f": list}) // texts
	var b bytes.Buffer                                                          // which takes all
	w, _ := flate.NewWriter(&b, flate.BestCompression)                          // a level that there is
	_, _ = w.Write(data)
	_ = w.Close()
	return "#v=1&d=" + base64.RawURLEncoding.EncodeToString(b.Bytes())
}

// blocks are the blocks of a page that can be tried, and the files that they read.
type blocks struct {
	site  *Docs
	files map[string]string // the text of each block that begins with the name of its file
}

var (
	nameLine = regexp.MustCompile(`^# ([\w./-]+\.(?:ya?ml|txt|json|log))\n`)
	command  = regexp.MustCompile(`^\$ (?:go run ./cmd/)?probesim (check|run|rollout|incident) ([^|><$;&\\` + "`" + `\n]+)(?: \|\| .*)?\n`)
	object   = regexp.MustCompile(`(?m)^apiVersion: .*\n(?:.*\n)*?kind: `)
)

// add remembers the file that a block is.
func (b *blocks) add(text string) {
	if m := nameLine.FindStringSubmatch(text); m != nil {
		b.files[m[1]] = text
	}
}

// state returns what a block shows: a command whose files the page or the repository has, or a file
// with objects of Kubernetes. Other blocks have none.
func (b *blocks) state(text string) *State {
	if m := command.FindStringSubmatch(text + "\n"); m != nil {
		return b.command(m[1], strings.TrimSpace(m[2]))
	}
	name := nameLine.FindStringSubmatch(text)
	if name == nil || !object.MatchString(text) {
		return nil
	}
	tab := "check"
	if strings.Contains(text, "probesim.dev/v1alpha1") {
		tab = "run"
	}
	return b.command(tab, name[1])
}

func (b *blocks) command(tab, args string) *State {
	s := &State{Tab: tab, Args: args}
	for _, word := range strings.Fields(args) {
		s.Files = append(s.Files, b.find(strings.Trim(word, `'"`))...)
	}
	if len(s.Files) == 0 || !b.complete(s) {
		return nil
	}
	return s
}

// find returns a file of the page or of the repository, or the YAML files of a directory.
func (b *blocks) find(name string) (list []File) {
	if text, has := b.files[name]; has {
		return []File{{name, text}}
	}
	if !fs.ValidPath(name) {
		return nil
	}
	_ = fs.WalkDir(b.site.repository, name, func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() && path.Ext(name) == ".yaml" {
			text, _ := fs.ReadFile(b.site.repository, name) // an example without it shows what is missing
			list = append(list, File{name, string(text)})
		}
		return nil
	})
	return list
}

// complete adds the files that a scenario of the repository names. It reports whether all are
// there.
func (b *blocks) complete(s *State) bool {
	for i := 0; i < len(s.Files); i++ {
		for _, m := range reference.FindAllStringSubmatch(s.Files[i].Text, -1) {
			name := path.Join(path.Dir(s.Files[i].Name), m[1])
			if slices.ContainsFunc(s.Files, func(f File) bool { return f.Name == name }) {
				continue
			}
			found := b.find(name)
			if found == nil {
				return false
			}
			s.Files = append(s.Files, found...)
		}
	}
	return true
}

var reference = regexp.MustCompile(`(?m)^\s*(?:- )?(?:manifests?|file): ([\w./-]+\.ya?ml)\s*(?:#.*)?$`)

// Example is an entry of the menu of the playground.
type Example struct {
	Title string `json:"title"`
	Note  string `json:"note,omitempty"`
	State
}

// menu are the examples: blocks of the pages, by their commands. An example can have another command
// and other arguments.
var menu = []struct{ title, page, command, tab, args, note string }{
	{title: "is 6 x 5 s enough for a start of 29 s?", page: "docs/limits.md", command: "check pod.yaml",
		args: "pod.yaml --start 29s",
		note: "The startup probe fails 6 times, one failure each 5 s, so the app seems to have 30 s. But the first " +
			"probe does not come at the start of the container: it comes anywhere in the first period. This is the " +
			"phase of the probe, and it differs from start to start. The 6th failure comes 25 to 30 s after the start. " +
			"Move the slider Start of the program: up to 25 s every start succeeds, from 30 s on none does, and in " +
			"between the phase decides."},
	{title: "a Deployment that takes 45 to 70 s to start", page: "docs/check.md", command: "check orders.yaml --start"},
	{title: "the first liveness probe of the Kubernetes documentation", page: "README.md",
		command: "run scenarios/library/quickstart"},
	{title: "a manifest whose app starts slowly and stalls", page: "docs/limits.md", command: "check pod.yaml", tab: "run",
		args: "pod.yaml --start 20s --app 'stall 12s at 2m'",
		note: "Nothing but the manifest is needed: the sliders say what the program does."},
	{title: "does a restart lose requests?", page: "docs/rollout.md", command: "rollout"},
	{title: "a pod that restarts, from kubectl describe", page: "docs/incident.md", command: "incident describe.txt"},
}

// Examples returns the examples of the menu. It is an error if a page has none of them.
func (d *Docs) Examples() (list []Example, err error) {
	for _, m := range menu {
		s := d.find(m.page, m.command)
		if s == nil {
			return nil, fmt.Errorf("%s has no block with the command probesim %s", m.page, m.command)
		}
		e := Example{m.title, m.note, *s}
		if m.args != "" {
			e.Args = m.args
		}
		if m.tab != "" {
			e.Tab = m.tab
		}
		list = append(list, e)
	}
	return list, nil
}

// find returns the first block of a page that shows a command.
func (d *Docs) find(page, command string) *State {
	for _, s := range d.pages[page].states {
		if strings.HasPrefix(s.Tab+" "+s.Args, command) {
			return s
		}
	}
	return nil
}
