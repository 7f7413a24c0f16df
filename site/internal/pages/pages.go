// Package pages makes pages of the Markdown of the repository as it is: with a navigation by
// question, a search, and links that open a block in the playground.
package pages

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// front is the page that leads to all others.
const front = "README.md"

// Docs are the pages, and the pictures in them.
type Docs struct {
	repository fs.FS
	pages      map[string]*page // by the path of the Markdown
	pictures   map[string]bool
	questions  []question
}

// page is a Markdown file of the repository.
type page struct {
	path, title string
	source      []byte
	root        ast.Node
	states      []*State // of its blocks
	sections    []section
}

// section is an entry of the search.
type section struct {
	Page  string `json:"p"` // its path on the site
	ID    string `json:"i"`
	Title string `json:"t"` // of the page
	Head  string `json:"h"`
	Text  string `json:"x"`
}

// question is a row of the table by question on the front page, as HTML.
type question struct {
	text  ast.Node
	links []*ast.Link
}

var markdown = goldmark.New(goldmark.WithExtensions(extension.GFM),
	goldmark.WithParserOptions(parser.WithAutoHeadingID()))

// Load reads the front page, the pages of docs/, and all pages that they link to.
func Load(repository fs.FS) (*Docs, error) {
	d := &Docs{repository: repository, pages: map[string]*page{}, pictures: map[string]bool{}}
	todo, err := fs.Glob(repository, "docs/*.md")
	todo = append([]string{front}, todo...)
	for i := 0; i < len(todo) && err == nil; i++ {
		if d.pages[todo[i]] == nil {
			var more []string
			more, err = d.load(todo[i])
			todo = append(todo, more...)
		}
	}
	if err != nil {
		return nil, err
	}
	d.questions = questionsOf(d.pages[front])
	if len(d.questions) == 0 {
		return nil, fmt.Errorf("%s has no table with the column question", front)
	}
	for _, name := range d.names() {
		d.try(d.pages[name])
	}
	return d, nil
}

// load reads a page, and returns the pages that it links to.
func (d *Docs) load(name string) (links []string, err error) {
	p := &page{path: name}
	if p.source, err = fs.ReadFile(d.repository, name); err != nil {
		return nil, err
	}
	p.root = markdown.Parser().Parse(text.NewReader(p.source))
	d.pages[name] = p
	err = ast.Walk(p.root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			if p.title == "" {
				p.title = p.textOf(n)
			}
		case *ast.Link:
			if to, _ := d.resolve(p, string(n.Destination)); strings.HasSuffix(to, ".md") {
				links = append(links, to)
			}
		case *ast.Image:
			if to, _ := d.resolve(p, string(n.Destination)); to != "" {
				d.pictures[to] = true
			}
		}
		return ast.WalkContinue, nil
	})
	return links, err
}

// resolve returns the file of the repository that a link of a page leads to, and its fragment. A
// directory stands for its README. The file is empty for an address of the web, and for a path that
// is not there.
func (d *Docs) resolve(p *page, link string) (file, fragment string) {
	if isWeb(link) {
		return "", ""
	}
	file, fragment, _ = strings.Cut(link, "#")
	if file == "" {
		return p.path, fragment
	}
	file = path.Join(path.Dir(p.path), file)
	if readme := path.Join(file, "README.md"); d.isFile(readme) {
		return readme, fragment
	}
	if !d.isFile(file) {
		return "", ""
	}
	return file, fragment
}

func (d *Docs) isFile(name string) bool {
	info, err := fs.Stat(d.repository, name)
	return err == nil && info.Mode().IsRegular()
}

func (d *Docs) names() []string { return slices.Sorted(maps.Keys(d.pages)) }

// place returns the path of a file among the documentation of the site: docs/check.md is
// check.html, and a README is the index of its directory.
func place(file string) string {
	file = strings.TrimPrefix(file, "docs/")
	if strings.HasSuffix(file, "README.md") {
		return strings.TrimSuffix(file, "README.md") + "index.html"
	}
	if name, is := strings.CutSuffix(file, ".md"); is {
		return name + ".html"
	}
	return file
}

// relative returns the link from one page of the documentation to another file of it.
func relative(from, to string) string {
	return strings.Repeat("../", strings.Count(place(from), "/")) + to
}

// textOf returns the text of a node without markup.
func (p *page) textOf(n ast.Node) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Text:
			if entering {
				b.Write(n.Segment.Value(p.source))
				if n.SoftLineBreak() {
					b.WriteByte(' ')
				}
			}
		case *ast.FencedCodeBlock:
			if entering {
				b.WriteString(p.code(n) + " ")
			}
		default:
			if !entering && n.Type() == ast.TypeBlock {
				b.WriteByte(' ')
			}
		}
		return ast.WalkContinue, nil
	})
	return strings.Join(strings.Fields(b.String()), " ")
}

// code returns the text of a block.
func (p *page) code(n ast.Node) string { return string(n.Lines().Value(p.source)) }

// try finds the blocks that can be tried, and the sections for the search.
func (d *Docs) try(p *page) {
	b := &blocks{site: d, files: map[string]string{}}
	current := section{Page: place(p.path), Title: p.title, Head: p.title}
	for n := p.root.FirstChild(); n != nil; n = n.NextSibling() {
		if h, is := n.(*ast.Heading); is {
			p.sections = append(p.sections, current)
			id, _ := h.AttributeString("id")
			name, _ := id.([]byte)
			current = section{Page: current.Page, ID: string(name), Title: p.title, Head: p.textOf(h)}
			continue
		}
		current.Text += p.textOf(n) + " "
	}
	p.sections = append(p.sections, current)
	p.sections = slices.DeleteFunc(p.sections, func(s section) bool { return s.Text == "" })
	_ = ast.Walk(p.root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if block, is := n.(*ast.FencedCodeBlock); is && entering {
			text := p.code(block)
			b.add(text)
			if s := b.state(text); s != nil {
				p.states = append(p.states, s)
				block.SetAttributeString("state", s)
			}
		}
		return ast.WalkContinue, nil
	})
}

// questionsOf returns the rows of the table whose first column is the question.
func questionsOf(p *page) (list []question) {
	_ = ast.Walk(p.root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if n.Kind().String() != "Table" || !entering || p.textOf(n.FirstChild().FirstChild()) != "question" {
			return ast.WalkContinue, nil
		}
		for row := n.FirstChild().NextSibling(); row != nil; row = row.NextSibling() {
			q := question{text: row.FirstChild()}
			for cell := row.FirstChild().NextSibling(); cell != nil; cell = cell.NextSibling() {
				for x := cell.FirstChild(); x != nil; x = x.NextSibling() {
					if link, is := x.(*ast.Link); is {
						q.links = append(q.links, link)
					}
				}
			}
			list = append(list, q)
		}
		return ast.WalkSkipChildren, nil
	})
	return list
}

// Files returns the pages, their pictures, and the index of the search, by their paths.
func (d *Docs) Files() map[string][]byte {
	files := map[string][]byte{}
	var all []section
	for _, name := range d.names() {
		p := d.pages[name]
		files[place(name)] = d.render(p)
		all = append(all, p.sections...)
	}
	for name := range d.pictures {
		files[place(name)], _ = fs.ReadFile(d.repository, name) // load has found it
	}
	files["search.json"], _ = json.Marshal(all) // texts
	return files
}

const head = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>%[1]s - probesim</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="%[2]sstyle.css">
<script type="module" src="%[2]sdocs.js"></script>
</head>
<body class="docs" data-docs="%[3]s">
<a class="skip" href="#content">Go to the content</a>
<header class="site">
<a class="brand" href="%[2]sindex.html">probesim</a>
<nav aria-label="Site"><a href="%[2]sindex.html">Playground</a> <a href="%[3]sindex.html">Docs</a></nav>
<search class="search"><input type="search" placeholder="Search the docs" aria-label="Search the docs" aria-controls="found"><ol id="found" hidden></ol></search>
</header>
<div class="layout">
<aside>
<nav aria-label="Docs by question"><details open><summary>What do you want to know?</summary>
<ul>
`

// render returns a page of the site.
func (d *Docs) render(p *page) []byte {
	var b bytes.Buffer
	docs := relative(p.path, "")
	fmt.Fprintf(&b, head, html.EscapeString(p.title), "../"+docs, docs)
	for _, q := range d.questions {
		fmt.Fprintf(&b, "<li>%s\n<ul>", html.EscapeString(d.pages[front].textOf(q.text)))
		for _, link := range q.links {
			to, fragment := d.resolve(d.pages[front], string(link.Destination))
			current := ""
			if to == p.path && fragment == "" {
				current = ` aria-current="page"`
			}
			if d.pages[to] != nil {
				fmt.Fprintf(&b, `<li><a href="%s"%s>%s</a></li> `, html.EscapeString(relative(p.path, place(to))+hash(fragment)),
					current, html.EscapeString(d.pages[front].textOf(link)))
			}
		}
		b.WriteString("</ul></li>\n")
	}
	b.WriteString("</ul></details></nav>\n</aside>\n<main id=\"content\">\n")
	r := renderer.NewRenderer(renderer.WithNodeRenderers(
		util.Prioritized(&nodes{d, p}, 1), util.Prioritized(extension.NewTableHTMLRenderer(), 500),
		util.Prioritized(extension.NewStrikethroughHTMLRenderer(), 500), util.Prioritized(defaultRenderer, 1000)))
	if err := r.Render(&b, p.source, p.root); err != nil {
		panic(err) // writes to memory do not fail
	}
	b.WriteString("</main>\n</div>\n</body>\n</html>\n")
	return b.Bytes()
}

func hash(fragment string) string {
	if fragment == "" {
		return ""
	}
	return "#" + fragment
}
