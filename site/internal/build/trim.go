package build

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// trim writes the copies of packages with which Program builds, and returns the flags for go build.
//
//   - k8s.io/api and k8s.io/apimachinery lack the descriptions of fields, which only tools print, and
//     the types of k8s.io/api lack their encoding as protocol buffers
//   - the strategic merge of k8s.io/apimachinery lacks the part that reads OpenAPI schemas: types
//     of Go say how to merge here
//   - objects are not written as CBOR, and the values of managed fields not as JSON
//   - net/http lacks the transport that connects to hosts, and crypto/tls the encryption of greetings.
//     The simulated network has its own transport
func trim(root, dir string) ([]string, error) {
	list, err := output(root, "go", "list", "-m", "-json", "k8s.io/api", "k8s.io/apimachinery",
		"sigs.k8s.io/structured-merge-diff/v6")
	if err != nil {
		return nil, err
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return nil, err
	}
	for modules := json.NewDecoder(bytes.NewReader(list)); modules.More(); {
		var m struct{ Path, Dir, Version string }
		if err := modules.Decode(&m); err != nil {
			return nil, err
		}
		to := filepath.Join(dir, path.Base(m.Path)+"@"+m.Version)
		if err := copyModule(to, m.Dir); err != nil {
			return nil, err
		}
		mod = fmt.Appendf(mod, "\nreplace %s => %s\n", m.Path, to)
	}
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "site.sum"), sum, 0o644)
	}
	modfile, overlay := filepath.Join(dir, "site.mod"), filepath.Join(dir, "overlay.json")
	if err == nil {
		err = os.WriteFile(modfile, mod, 0o644)
	}
	if err == nil {
		err = withoutTransport(root, dir, overlay)
	}
	return []string{"-modfile=" + modfile, "-overlay=" + overlay}, err
}

// copyModule copies the packages of a module without what nothing calls.
func copyModule(to, from string) error {
	if _, err := os.Stat(to); err == nil {
		return nil // by an earlier build
	}
	partial := to + ".partial"
	if err := os.RemoveAll(partial); err != nil {
		return err
	}
	err := filepath.WalkDir(from, func(name string, entry os.DirEntry, err error) error {
		short, _ := filepath.Rel(from, name) // it is below
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == "testdata":
			return filepath.SkipDir
		case entry.IsDir():
			return os.MkdirAll(filepath.Join(partial, short), 0o755)
		case !slices.Contains([]string{".go", ".mod", ".s"}, filepath.Ext(name)), strings.HasSuffix(name, "_test.go"):
			return nil
		}
		data, err := os.ReadFile(name)
		if err == nil {
			data, err = trimmed(path.Join(path.Base(from), filepath.ToSlash(short)), data)
		}
		if err == nil && data != nil {
			err = os.WriteFile(filepath.Join(partial, short), data, 0o644)
		}
		return err
	})
	if err == nil {
		err = os.Rename(partial, to)
	}
	return err
}

// protocol are the methods and functions of types of k8s.io/api that encode and decode protocol
// buffers. The method String, which they have from the same files, stays: formatted texts have it.
var protocol = []string{"Marshal", "MarshalTo", "MarshalToSizedBuffer", "Size", "Unmarshal", "Reset",
	"encodeVarintGenerated", "sovGenerated", "sozGenerated", "skipGenerated"}

// managed matches what reads and writes the values of managed fields as JSON.
var managed = regexp.MustCompile(`JSON|Pool`)

// trimmed returns what the copy of a file has, or nil if the copy has no such file.
func trimmed(name string, data []byte) ([]byte, error) {
	module, file, _ := strings.Cut(name, "/")
	inAPI := strings.HasPrefix(module, "api@")
	switch {
	case path.Base(file) == "types_swagger_doc_generated.go", file == "pkg/util/strategicpatch/types.go":
		return nil, nil
	case file == "pkg/util/strategicpatch/meta.go":
		return without(data, func(_ ast.Decl, text []byte) bool { return bytes.Contains(text, []byte("OpenAPI")) })
	case inAPI && path.Base(file) == "generated.pb.go":
		return without(data, func(d ast.Decl, text []byte) bool {
			f, is := d.(*ast.FuncDecl)
			return is && slices.Contains(protocol, f.Name.Name) ||
				!is && bytes.Contains(text, []byte("ErrIntOverflowGenerated"))
		})
	case file == "pkg/runtime/serializer/cbor/direct/direct.go":
		return []byte(noCBOR), nil
	case strings.HasPrefix(module, "v6@") && file == "value/value.go":
		return without(data, func(_ ast.Decl, text []byte) bool { return managed.Match(text) })
	case file == "pkg/util/net/http.go": // there is none
		const old = "http.DefaultTransport.(*http.Transport)"
		return bytes.ReplaceAll(data, []byte(old), []byte("&http.Transport{}")), nil
	}
	return data, nil
}

// without returns a Go file without some declarations, and without the imports that only these use.
func without(source []byte, drop func(d ast.Decl, text []byte) bool) ([]byte, error) {
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, "", source, 0)
	if err != nil {
		return nil, err
	}
	isImport := func(d ast.Decl) bool {
		g, is := d.(*ast.GenDecl)
		return is && g.Tok == token.IMPORT
	}
	f.Decls = slices.DeleteFunc(f.Decls, func(d ast.Decl) bool {
		return !isImport(d) && drop(d, source[files.Position(d.Pos()).Offset:files.Position(d.End()).Offset])
	})
	used := map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		if s, is := n.(*ast.SelectorExpr); is {
			if x, is := s.X.(*ast.Ident); is {
				used[x.Name] = true
			}
		}
		return true
	})
	for _, d := range f.Decls {
		if isImport(d) {
			g := d.(*ast.GenDecl)
			g.Specs = slices.DeleteFunc(g.Specs, func(s ast.Spec) bool {
				x := s.(*ast.ImportSpec)
				name := path.Base(strings.Trim(x.Path.Value, `"`))
				if x.Name != nil {
					name = x.Name.Name
				}
				return !used[name]
			})
		}
	}
	var b bytes.Buffer
	err = format.Node(&b, files, f)
	return b.Bytes(), err
}

// withoutTransport writes an overlay with a package net/http that cannot connect to a host.
func withoutTransport(root, dir, overlay string) error {
	goroot, err := goroot(root)
	if err != nil {
		return err
	}
	from := filepath.Join(goroot, "src")
	transport, err := os.ReadFile(filepath.Join(from, "net/http/transport.go"))
	if err != nil {
		return err
	}
	const old = "var DefaultTransport RoundTripper = &Transport{"
	if bytes.Count(transport, []byte(old)) != 1 {
		return fmt.Errorf("net/http/transport.go does not have the line %q", old)
	}
	files := map[string]string{
		"net/http/transport.go":    strings.Replace(string(transport), old, "var _ = &Transport{", 1),
		"net/http/roundtrip_js.go": noTransport,
		"crypto/hpke/hpke.go":      noHPKE,
	}
	for _, name := range []string{"aead.go", "aead_fips140v1.0.go", "aead_fips140v1.26.go", "kdf.go", "kem.go",
		"pq.go"} {
		files["crypto/hpke/"+name] = ""
	}
	replaced := map[string]string{}
	for name, text := range files {
		to := ""
		if text != "" {
			to = filepath.Join(dir, path.Base(name))
			if err := os.WriteFile(to, []byte(text), 0o644); err != nil {
				return err
			}
		}
		replaced[filepath.Join(from, name)] = to
	}
	data, _ := json.Marshal(map[string]any{"Replace": replaced}) // texts
	return os.WriteFile(overlay, data, 0o644)
}

const noTransport = `//go:build js && wasm

package http

import "errors"

var errNoNetwork = errors.New("net/http: this program has no network")

type noTransport struct{}

func (noTransport) RoundTrip(*Request) (*Response, error) { return nil, errNoNetwork }

// DefaultTransport connects to no host.
var DefaultTransport RoundTripper = noTransport{}

// RoundTrip implements RoundTripper.
func (t *Transport) RoundTrip(*Request) (*Response, error) { return nil, errNoNetwork }
`

const noHPKE = `package hpke

import "errors"

var errNone = errors.New("crypto/hpke: this program has no network")

type (
	KDF        interface{ ID() uint16 }
	AEAD       interface{ ID() uint16 }
	PublicKey  any
	PrivateKey any
	Sender     struct{}
	Recipient  struct{}
)

type KEM interface {
	NewPublicKey([]byte) (PublicKey, error)
	NewPrivateKey([]byte) (PrivateKey, error)
}

func NewKEM(uint16) (KEM, error) { return nil, errNone }
func NewKDF(uint16) (KDF, error) { return nil, errNone }
func NewAEAD(uint16) (AEAD, error) { return nil, errNone }
func NewSender(PublicKey, KDF, AEAD, []byte) ([]byte, *Sender, error) { return nil, nil, errNone }
func NewRecipient([]byte, PrivateKey, KDF, AEAD, []byte) (*Recipient, error) { return nil, errNone }
func (*Sender) Seal(_, _ []byte) ([]byte, error) { return nil, errNone }
func (*Recipient) Open(_, _ []byte) ([]byte, error) { return nil, errNone }
`

const noCBOR = `package direct

import "errors"

var errNone = errors.New("cbor: this program does not have this encoding")

func Marshal(any) ([]byte, error)     { return nil, errNone }
func Unmarshal([]byte, any) error     { return errNone }
func Diagnose([]byte) (string, error) { return "", errNone }
`
