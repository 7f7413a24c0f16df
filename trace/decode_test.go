package trace

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadAll(t *testing.T) {
	in := `{"step":1,"t":0,"kind":"PodAdded","pod":"default/web"}

{"step":2,"t":7,"kind":"FromALaterVersion","pod":"default/web","color":"blue"}` // no newline at the end
	got, err := ReadAll(strings.NewReader(in))
	if err != nil {
		t.Fatal(err)
	}
	want := []Record{{Step: 1, Kind: PodAdded, Pod: "default/web"},
		{Step: 2, T: 7, Kind: "FromALaterVersion", Pod: "default/web"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestReadSeveralRuns(t *testing.T) {
	seed := int64(3)
	want := []*Header{{Scenario: "a\n", Kubernetes: "v1.37", File: "f.yaml", Line: 7},
		{Scenario: "b", Kubernetes: "v1.37", Seed: &seed, File: "f.yaml", Line: 7}}
	var file []byte
	for _, h := range want {
		file = append(AppendHeader(file, h), '\n')
		file = append(AppendJSON(file, &Record{Step: 1, Kind: PodAdded, Pod: "default/" + h.Scenario}), '\n')
	}
	r := NewReader(bytes.NewReader(file))
	for _, h := range want {
		rec, err := r.Read()
		if err != nil || rec.Pod != "default/"+h.Scenario {
			t.Fatalf("got %v, %v", rec, err)
		}
		if diff := cmp.Diff(h, r.Header()); diff != "" {
			t.Error(diff)
		}
	}
	if _, err := r.Read(); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
}

func TestReadErrors(t *testing.T) {
	for name, test := range map[string]struct{ in, want string }{
		"not JSON":      {"\nstep 1\n", "line 2: invalid character 's'"},
		"wrong type":    {`{"t":"0s","kind":"Event"}`, "line 1: json: cannot unmarshal string"},
		"no kind":       {`{"t":1}`, "line 1: record has no kind"},
		"no time":       {`{"kind":"Event"}`, "line 1: Event record has no t"},
		"line too long": {strings.Repeat(" ", MaxLine+1), "line 1: bufio.Scanner: token too long"},
	} {
		if _, err := ReadAll(strings.NewReader(test.in)); err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %s", name, err, test.want)
		}
	}
}

// FuzzDecode writes each decoded record and decodes it again. Both records must be equal.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"step":1,"t":-5,"kind":"StatusPatched","pod":"default/web","phase":"Running","ready":true,"containers":[{"name":"c"}]}`))
	f.Add([]byte(`{"step":1,"t":0,"kind":"Event","type":"Warning","reason":"Unhealthy","message":"\ud800"}`))
	f.Add([]byte(`{"kind":"ProbeExecuted","t":1e99}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		rec, err := decode(data)
		if err != nil {
			return
		}
		once := AppendJSON(nil, &rec)
		again, err := decode(once)
		if err != nil {
			t.Fatalf("%s: %v", once, err)
		}
		if twice := AppendJSON(nil, &again); !bytes.Equal(once, twice) {
			t.Fatalf("\n%s\n%s", once, twice)
		}
	})
}

// decode reads one record.
func decode(data []byte) (Record, error) { return NewReader(bytes.NewReader(data)).Read() }
