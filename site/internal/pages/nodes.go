package pages

import (
	"html"
	"path"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/renderer"
	defaults "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/util"
)

// defaultRenderer keeps the HTML of a page, such as the anchors of the bugs. The pages are our own.
var defaultRenderer = defaults.NewRenderer(defaults.WithUnsafe())

// nodes renders what is different on the site: links, pictures and blocks of code.
type nodes struct {
	docs *Docs
	page *page
}

// RegisterFuncs implements renderer.NodeRenderer.
func (x *nodes) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindLink, x.link)
	r.Register(ast.KindImage, x.image)
	r.Register(ast.KindFencedCodeBlock, x.block)
}

// link renders a link: to a page of the site, or to the web. A file that the site does not have is
// no link, but has its path.
func (x *nodes) link(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	link := string(n.(*ast.Link).Destination)
	file, fragment := x.docs.resolve(x.page, link)
	element, attribute, value := "a", "href", link
	switch {
	case file == x.page.path:
		value = hash(fragment)
	case x.docs.pages[file] != nil || x.docs.pictures[file]:
		value = relative(x.page.path, place(file)) + hash(fragment)
	case !isWeb(link):
		element, attribute, value = "span", "title", "in the repository: "+cleaned(x.page, link)
	}
	if !entering {
		_, _ = w.WriteString("</" + element + ">")
		return ast.WalkContinue, nil
	}
	_, _ = w.WriteString("<" + element + " " + attribute + `="` + html.EscapeString(value) + `">`)
	return ast.WalkContinue, nil
}

func (x *nodes) image(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if entering {
		file, _ := x.docs.resolve(x.page, string(n.(*ast.Image).Destination))
		_, _ = w.WriteString(`<img loading="lazy" src="` + html.EscapeString(relative(x.page.path, place(file))) + `" alt="` +
			html.EscapeString(x.page.textOf(n)) + `">`)
	}
	return ast.WalkSkipChildren, nil
}

// block renders a block of code, and the link that opens it in the playground.
func (x *nodes) block(w util.BufWriter, _ []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	_, _ = w.WriteString(`<pre tabindex="0"><code>` + html.EscapeString(x.page.code(n)) + "</code></pre>\n")
	state, _ := n.AttributeString("state")
	if s, is := state.(*State); is {
		_, _ = w.WriteString(`<a class="try" href="../` + relative(x.page.path, "index.html"+s.Link()) +
			"\">Open in the playground</a>\n")
	}
	return ast.WalkSkipChildren, nil
}

func isWeb(link string) bool {
	return strings.Contains(link, "://") || strings.HasPrefix(link, "mailto:")
}

// cleaned returns the path in the repository of a link of a page.
func cleaned(p *page, link string) string {
	file, _, _ := strings.Cut(link, "#")
	return path.Join(path.Dir(p.path), file)
}
