package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestImage reads an image back as a container runtime does: each name and digest must lead to the
// next file.
func TestImage(t *testing.T) {
	program := filepath.Join(t.TempDir(), "player")
	if err := os.WriteFile(program, []byte("ELF"), 0o644); err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	if err := writeImage(&archive, "probesim:dev", []string{program}); err != nil {
		t.Fatal(err)
	}
	files := untar(t, archive.Bytes())
	var manifest []struct {
		Config           string
		RepoTags, Layers []string
	}
	if err := json.Unmarshal(files["manifest.json"], &manifest); err != nil {
		t.Fatal(err)
	}
	if len(manifest) != 1 || manifest[0].RepoTags[0] != "probesim:dev" || len(manifest[0].Layers) != 1 {
		t.Fatalf("manifest.json is %s", files["manifest.json"])
	}
	configFile, layer := files[manifest[0].Config], files[manifest[0].Layers[0]]
	if manifest[0].Config != digest(configFile)+".json" {
		t.Errorf("the configuration has the name %s and the digest %s", manifest[0].Config, digest(configFile))
	}
	var config struct {
		Config struct {
			Entrypoint []string
			User       string
		}
		Rootfs struct {
			DiffIDs []string `json:"diff_ids"`
		}
	}
	if err := json.Unmarshal(configFile, &config); err != nil {
		t.Fatal(err)
	}
	if got := config.Rootfs.DiffIDs; len(got) != 1 || got[0] != "sha256:"+digest(layer) {
		t.Errorf("diff_ids are %q, the layer has the digest %s", got, digest(layer))
	}
	if config.Config.Entrypoint[0] != "/player" || config.Config.User != "65532:65532" {
		t.Errorf("the configuration is %+v", config.Config)
	}
	if got := untar(t, layer)["player"]; string(got) != "ELF" {
		t.Errorf("/player has %q", got)
	}
}

func untar(t *testing.T, archive []byte) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Mode&0o111 == 0 {
			t.Errorf("%s cannot be executed", header.Name)
		}
		if files[header.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}

// TestUsage gives command lines that cannot be run. No cluster is started.
func TestUsage(t *testing.T) {
	for _, test := range []struct {
		args string
		want string
	}{
		{"", "up needs a command"},
		{"--proxy-mode ipvs -- true", "--proxy-mode is iptables or nftables"},
	} {
		_, err := upCommand(strings.Fields(test.args))
		if wrong := usageError(""); !errors.As(err, &wrong) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("up %s: got %v, want %s", test.args, err, test.want)
		}
	}
	if err := image([]string{"x.tar", "probesim", "player"}); err == nil {
		t.Error("image takes a name without a tag")
	}
}
