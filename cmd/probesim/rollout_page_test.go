package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const rolledOut = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - {name: app, image: "web:1", readinessProbe: {httpGet: {path: /ready, port: 8080}, periodSeconds: 1}}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}
`

// TestRolloutPage checks the page of a rollout on wide and narrow screens, in light and dark: the
// verdict, the picture of the worst run with its legend, and the race, whose steps are in the
// picture.
func TestRolloutPage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "web.yaml")
	if err := os.WriteFile(file, []byte(rolledOut), 0o666); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	if code := execute(t.Context(), []string{"rollout", file, "--runs", "4", "--start", "8s", "-o", "html"}, &out,
		&errs); code != 1 {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	b := openBrowser(t, 1280, 900)
	b.open(written(t, out.String()))
	b.want("h2", "a rollout loses up to")
	b.want("summary", "The worst of 4 runs: the rollout loses")
	b.want("li.good", "preStop: {sleep: {seconds: 12}}")
	for _, text := range []string{"number of pods", "requests lost"} {
		b.want(".legend", text)
	}
	for selector, least := range map[string]int{".b-lost": 3, ".b-level": 6, "li .jump": 4, ".picture": 4} {
		if n := b.count(selector); n < least {
			t.Errorf("%d of %s, want %d", n, selector, least)
		}
	}
	b.want("li.bad:has(.jump)", "kube-proxy dropped web-")
	b.click("li.bad .jump")
	b.want(".details", "kube-proxy")
	var top float64
	if b.eval(`document.querySelector('figure.chart').getBoundingClientRect().top + scrollY`, &top); top > 450 {
		t.Errorf("the picture begins at %v, below the first screen", top)
	}
	b.fits()
	b.shot("rollout-light", "body")
	b.scheme("dark")
	b.shot("rollout-dark", "body")
	b.resize(500, 900)
	b.fits()
	b.shot("rollout-narrow", "body")
	b.clean()
	if strings.Contains(out.String(), "%!") {
		t.Error("a format has a wrong argument")
	}
}

// TestTunedPage checks the page of changes: the pictures of the worst runs before and with them.
func TestTunedPage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "web.yaml")
	if err := os.WriteFile(file, []byte(rolledOut), 0o666); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	if code := execute(t.Context(), []string{"tune", file, "--require", "lost<=0", "--start", "8s", "-o", "html"}, &out,
		&errs); code != 0 {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	b := openBrowser(t, 1280, 900)
	b.open(written(t, out.String()))
	b.want("p.good", "1 change meets the requirements")
	b.want(".items", "lifecycle.preStop: none -> {sleep: {seconds: 12}}")
	b.want("li.good", "before")
	if n := b.count("figure.chart"); n != 2 {
		t.Errorf("%d pictures", n)
	}
	b.fits()
	b.shot("tuned-light", "body")
	b.resize(500, 900)
	b.fits()
	b.clean()
}
