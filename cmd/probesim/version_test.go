package main

import (
	"bytes"
	"runtime/debug"
	"strings"
	"testing"
)

func TestBuildText(t *testing.T) {
	released := debug.Module{Version: "v1.2.3"}
	commit := debug.BuildSetting{Key: "vcs.revision", Value: "0123456789abcdef"}
	date := debug.BuildSetting{Key: "vcs.time", Value: "2026-11-22T10:00:00Z"}
	for _, test := range []struct {
		info debug.BuildInfo
		want string
	}{
		{debug.BuildInfo{GoVersion: "go1.26.8", Main: released}, "probesim v1.2.3 go1.26.8\n"},
		{debug.BuildInfo{GoVersion: "go1.26.8", Main: released,
			Settings: []debug.BuildSetting{commit, date, {Key: "vcs.modified", Value: "false"}}},
			"probesim v1.2.3 go1.26.8\ncommit 0123456789abcdef\ndate 2026-11-22T10:00:00Z\n"},
		{debug.BuildInfo{GoVersion: "go1.26.8", Main: released,
			Settings: []debug.BuildSetting{commit, {Key: "vcs.modified", Value: "true"}}},
			"probesim v1.2.3 go1.26.8\ncommit 0123456789abcdef with local changes\n"},
	} {
		if got := buildText(&test.info); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
	}
}

// TestVersion checks that the command and the flag print the same, which names the versions of
// Kubernetes.
func TestVersion(t *testing.T) {
	var outputs []string
	for _, arg := range []string{"version", "--version"} {
		var out, errs bytes.Buffer
		if code := execute(t.Context(), []string{arg}, &out, &errs); code != exitOK || errs.Len() > 0 {
			t.Fatalf("%s: exit code %d: %s", arg, code, errs.String())
		}
		outputs = append(outputs, out.String())
	}
	if outputs[0] != outputs[1] || !strings.HasPrefix(outputs[0], "probesim ") ||
		!strings.HasSuffix(outputs[0], "\nKubernetes v1.33.13, v1.34.10, v1.35.8, v1.36.5, v1.37.2, "+
			"v1.38.0-beta.0, v1.38-preview\n") {
		t.Errorf("version prints %q, --version prints %q", outputs[0], outputs[1])
	}
}
