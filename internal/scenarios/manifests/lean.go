package manifests

import (
	"bytes"
	"cmp"
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"probesim.dev/internal/strict"
)

// leanFrom is the size of a file from which on it is read lean.
const leanFrom = 1 << 20

// listed is what decides whether a workload needs an object of a list.
type listed struct {
	Kind     string
	Metadata struct {
		Namespace, Name   string
		CreationTimestamp string
		Labels            map[string]string
		OwnerReferences   []metav1.OwnerReference
		ManagedFields     json.RawMessage
	}
	Status json.RawMessage
}

// revision identifies the pods that have been made from one template, or is zero.
func (l *listed) revision() (r struct {
	by   Owner
	hash string
}) {
	meta := metav1.ObjectMeta{Namespace: l.Metadata.Namespace, Name: l.Metadata.Name, Labels: l.Metadata.Labels,
		OwnerReferences: l.Metadata.OwnerReferences}
	if l.Kind != "Pod" || metav1.GetControllerOfNoCopy(&meta) == nil {
		return r
	}
	if by, hash := OwnerOf(&meta); hash != "" || KindNamed(by.Kind) != nil { // else its pods can differ
		r.by, r.hash = by, hash
	}
	return r
}

// lean returns a long JSON list of kubectl get without what no workload needs: events, all pods of
// a revision but the newest one, their status, and managed fields. Lines keep their numbers. Other
// data stays as it is.
func lean(data []byte) []byte {
	if len(data) < leanFrom || !bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		return data
	}
	items := itemsIn(data)
	objects := make([]listed, len(items))
	newest := map[any]int{}
	for i, at := range items {
		if json.Unmarshal(data[at.begin:at.end], &objects[i]) != nil {
			continue // the parser says what is wrong
		}
		of := objects[i].revision()
		if n, has := newest[of]; !has ||
			cmp.Less(objects[n].Metadata.CreationTimestamp, objects[i].Metadata.CreationTimestamp) {
			newest[of] = i
		}
	}
	var out bytes.Buffer
	from := 0
	for i, at := range items {
		out.Write(data[from:at.begin])
		from = at.end
		raw, l, of := data[at.begin:at.end], &objects[i], objects[i].revision()
		switch {
		case l.Kind == "Event" || of.by.Name != "" && newest[of] != i:
			raw = blank(raw, `{`, `"apiVersion": "v1", "kind": "Event"}`)
		case l.Kind == "Pod":
			raw = without(raw, l.Status, `{`, `}`)
			fallthrough
		default:
			raw = without(raw, l.Metadata.ManagedFields, `[`, `]`)
		}
		out.Write(raw)
	}
	out.Write(data[from:])
	return out.Bytes()
}

// span is where a value begins and ends.
type span struct{ begin, end int }

// itemsIn returns where the objects of a JSON list are. It returns none if there are too many.
func itemsIn(data []byte) (list []span) {
	d := json.NewDecoder(bytes.NewReader(data))
	if !seek(d, "items") {
		return nil
	}
	d.Token() // [
	for d.More() {
		var value json.RawMessage
		if d.Decode(&value) != nil || len(list) == strict.MaxNodes/10 {
			return nil
		}
		end := int(d.InputOffset())
		list = append(list, span{end - len(value), end})
	}
	return list
}

// seek moves a decoder to the value of a key of the object that begins there.
func seek(d *json.Decoder, key string) bool {
	d.Token() // {
	for d.More() {
		name, err := d.Token()
		if err != nil || name == key {
			return err == nil
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return false
		}
	}
	return false
}

// without replaces a value in JSON by an empty one. The value may be missing.
func without(raw, value []byte, begin, end string) []byte {
	at := bytes.Index(raw, value)
	if len(value) < 3 || at < 0 {
		return raw
	}
	return bytes.Join([][]byte{raw[:at], blank(value, begin, end), raw[at+len(value):]}, nil)
}

// blank returns a value with as many lines as another one.
func blank(value []byte, begin, end string) []byte {
	return append(append([]byte(begin), bytes.Repeat([]byte("\n"), bytes.Count(value, []byte("\n")))...), end...)
}
