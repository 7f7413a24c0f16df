package value

import "testing"

func TestVersionRange(t *testing.T) {
	for _, test := range []struct {
		text    string
		in, out []string
	}{
		{"v1.37.0", []string{"v1.37", "v1.37.2"}, []string{"v1.36.9", "v1.37-preview"}},
		{"v1.36", []string{"v1.36.0", "v1.36.99"}, []string{"v1.35.9", "v1.37.0"}},
		{"..v1.34", []string{"v1.0.0", "v1.34.7"}, []string{"v1.35.0"}},
		{"v1.36.3..v1.36", []string{"v1.36", "v1.36.2"}, []string{"v1.35", "v1.37.0", "v1.36-preview"}},
		{"v1.22..", []string{"v1.22.0", "v2.0.0"}, []string{"v1.21.14"}},
		{"..", []string{"v0.1.0", "v1.37.0", "v1.38-preview"}, nil},
		{"v1.38", []string{"v1.38.0"}, []string{"v1.37.9", "v1.38-preview", "v1.39-preview"}},
		{"v1.38-preview", []string{"v1.38-preview"}, []string{"v1.38.0", "v1.37.9"}},
		{"..v1.37", nil, []string{"v1.38", "v1.38-preview"}},
		{"..v1.38", []string{"v1.38"}, []string{"v1.38-preview"}},
		{"v1.38..", []string{"v1.38", "v1.38-preview", "v1.39"}, nil},
	} {
		var r VersionRange
		if err := r.UnmarshalText([]byte(test.text)); err != nil {
			t.Error(err)
		}
		if r.String() != test.text {
			t.Errorf("%s is formatted as %s", test.text, r)
		}
		for _, v := range test.in {
			if !r.Contains(version(t, v)) {
				t.Errorf("%s is not in %s", v, r)
			}
		}
		for _, v := range test.out {
			if r.Contains(version(t, v)) {
				t.Errorf("%s is in %s", v, r)
			}
		}
	}
}

// A run selects a version that is not out only if the range names its minor version.
func TestVersionRangeSelectsByName(t *testing.T) {
	release, preview := version(t, "v1.38.0"), version(t, "v1.38-preview")
	for text, want := range map[string][2]bool{
		"..": {}, "v1.34..": {}, "v1.37..v1.39": {}, "..v1.37": {}, "v1.39..": {},
		"v1.38-preview": {false, true}, "v1.38": {true, false}, "v1.38..": {true, true},
		"v1.34..v1.38": {true, false}, "v1.34..v1.38-preview": {true, true}, "..v1.38": {true, false},
	} {
		var r VersionRange
		if err := r.UnmarshalText([]byte(text)); err != nil {
			t.Error(err)
		}
		if got := [2]bool{r.Selects(release, false), r.Selects(preview, false)}; got != want {
			t.Errorf("%s selects %s and %s: %v, want %v", text, release, preview, got, want)
		}
		if r.Selects(release, true) != r.Contains(release) {
			t.Errorf("%s contains %s: %t, but does not select it when it is out", text, release, r.Contains(release))
		}
	}
	if preview.Compare(release) <= 0 || preview.String() != "v1.38-preview" || release.String() != "v1.38" {
		t.Errorf("%s and %s compare as %d", preview, release, preview.Compare(release))
	}
}

func TestVersionErrors(t *testing.T) {
	for text, want := range map[string]string{
		"1.37":         `"1.37" is not a version such as v1.37`,
		"v1":           `"v1" is not a version such as v1.37`,
		"v1.37.0-rc.1": `"v1.37.0-rc.1" is not a version such as v1.37`,
		"":             `"" is not a version such as v1.37`,
		"v1.37..v1.36": `"v1.37..v1.36" is empty: it ends before it begins`,
		"v1.99999":     `"v1.99999" is not a version such as v1.37`,
	} {
		var r VersionRange
		if err := r.UnmarshalText([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func version(t *testing.T, s string) Version {
	v, err := ParseVersion(s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
