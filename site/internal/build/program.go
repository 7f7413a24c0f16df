package build

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// rules say what the copies lack. Other rules have other copies.
//
//go:embed trim.go
var rules []byte

// Program builds the command probesim as WebAssembly, with the commands of the playground.
//
// It builds with copies of some packages that lack what no command calls: the linker cannot see
// this, and the program would be a quarter larger.
func Program(root string) ([]byte, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(cache, "probesim-site", fmt.Sprintf("%s-%.4x", runtime.Version(), sha256.Sum256(rules)))
	flags, err := trim(root, dir)
	if err != nil {
		return nil, err
	}
	to := filepath.Join(dir, "probesim.wasm")
	args := append([]string{"build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-tags=nethttpomithttp2",
		"-o", to}, flags...)
	// seldom called: inlining only adds to them
	for _, packages := range []string{"k8s.io/...", "net/...", "crypto/..."} {
		args = append(args, "-gcflags="+packages+"=-l")
	}
	cmd := exec.Command("go", append(args, "./cmd/probesim")...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "GOFLAGS=", "GOWORK=off")
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build: %w\n%s", err, text)
	}
	return os.ReadFile(to)
}

// goroot returns the directory of the Go installation.
func goroot(root string) (string, error) {
	text, err := output(root, "go", "env", "GOROOT")
	return strings.TrimSpace(string(text)), err
}

func output(dir, name string, args ...string) ([]byte, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s", cmd, err, stderr.String())
	}
	return out, err
}
