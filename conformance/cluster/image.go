package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"runtime"
	"strings"
)

// imageUser is the user of the images that this command writes, the "nonroot" of distroless images.
// Its number lets the kubelet prove that a pod with runAsNonRoot does not run as root.
const imageUser = "65532:65532"

// writeImage writes an image of one layer as a docker archive, which "docker load", "kind load
// image-archive" and "ctr images import" read. The layer has the given programs in its root
// directory, and the first of them is the entrypoint.
func writeImage(w io.Writer, name string, programs []string) error {
	var layer bytes.Buffer
	files := tar.NewWriter(&layer)
	for _, program := range programs {
		content, err := os.ReadFile(program)
		if err != nil {
			return err
		}
		if err := addFile(files, path.Base(program), content); err != nil {
			return err
		}
	}
	if err := files.Close(); err != nil {
		return err
	}
	config, _ := json.Marshal(map[string]any{ // texts
		"architecture": runtime.GOARCH,
		"os":           "linux",
		"config":       map[string]any{"Entrypoint": []string{"/" + path.Base(programs[0])}, "User": imageUser},
		"rootfs":       map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + digest(layer.Bytes())}},
	})
	manifest, _ := json.Marshal([]map[string]any{{
		"Config": digest(config) + ".json", "RepoTags": []string{name}, "Layers": []string{"layer.tar"},
	}})
	archive := tar.NewWriter(w)
	for _, file := range []struct {
		name    string
		content []byte
	}{{digest(config) + ".json", config}, {"layer.tar", layer.Bytes()}, {"manifest.json", manifest}} {
		if err := addFile(archive, file.name, file.content); err != nil {
			return err
		}
	}
	return archive.Close()
}

func addFile(w *tar.Writer, name string, content []byte) error {
	if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(content))}); err != nil {
		return err
	}
	_, err := w.Write(content)
	return err
}

func digest(content []byte) string {
	return fmt.Sprintf("%x", sha256.Sum256(content))
}

// image runs the subcommand "image": it writes an image into a file, without a container runtime.
func image(args []string) error {
	if len(args) < 3 || !strings.Contains(path.Base(args[1]), ":") {
		return usageError("usage: image FILE.tar NAME:TAG PROGRAM..., with a NAME like probesim:dev")
	}
	file, err := os.Create(args[0])
	if err != nil {
		return err
	}
	if err := writeImage(file, args[1], args[2:]); err != nil {
		file.Close()
		os.Remove(args[0])
		return err
	}
	return file.Close()
}
