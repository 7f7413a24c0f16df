package drive

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"probesim.dev/scenarios"
	"probesim.dev/scenarios/format"
	"probesim.dev/scenarios/plan"
)

// FuzzLoad loads arbitrary bytes and runs what it loads, which the other fuzz tests do not.
func FuzzLoad(f *testing.F) {
	for _, pattern := range []string{"../../../scenarios/testdata/format/*.yaml",
		"../../../scenarios/testdata/load/*.txt"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			for _, part := range inputs(data) {
				f.Add(part)
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		loaded, err := scenarios.LoadBytes("fuzz.yaml", data, func(path string) ([]byte, error) {
			if path == "self.yaml" {
				return data, nil
			}
			return nil, fs.ErrNotExist
		})
		if err != nil {
			var errs scenarios.Errors
			if !errors.As(err, &errs) || len(errs) == 0 || loaded != nil {
				t.Fatalf("%d scenarios and the error %v", len(loaded), err)
			}
			return
		}
		if len(loaded) == 0 {
			t.Fatal("neither scenarios nor errors")
		}
		for _, s := range loaded {
			if len(s.Workloads) != len(s.Spec.Pods) {
				t.Fatalf("%s has entries in spec.pods without pods", s.Metadata.Name)
			}
			seed := int64(1)
			for _, plan := range []*plan.Plan{s.Plan("v1.37", nil), s.Plan("v1.37", &seed)} {
				pods := plan.Pods()
				if len(pods)+len(plan.Deployments()) == 0 || len(pods) > format.MaxPods {
					t.Fatalf("%s has %d pods", s.Metadata.Name, len(pods))
				}
				for _, p := range pods { // nodes do not check it again
					if err := p.Program.Validate(); err != nil {
						t.Fatal(err)
					}
				}
				if len(pods) < 100 {
					drive(plan)
				}
			}
		}
	})
}

// inputs returns the files in a test case of TestLoad, or the file itself.
func inputs(data []byte) [][]byte {
	var parts [][]byte
	var part []byte
	in := false
	for _, line := range splitLines(data) {
		switch text := string(line); {
		case text == "----\n":
			in = false
			parts = append(parts, part)
		case text == "load\n" || len(text) > 9 && text[:9] == "manifest ":
			in, part = true, nil
		case in:
			part = append(part, line...)
		}
	}
	if parts == nil {
		return [][]byte{data}
	}
	return parts
}

func splitLines(data []byte) [][]byte {
	var lines [][]byte
	for len(data) > 0 {
		end := 0
		for end < len(data) && data[end] != '\n' {
			end++
		}
		end = min(end+1, len(data))
		lines = append(lines, data[:end])
		data = data[end:]
	}
	return lines
}
