package measure

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"probesim.dev/internal/answers/incident"
	"probesim.dev/kube/profile"
)

// The versions of kubelets are in Node objects. Without them, the answer of kubectl version has the
// version of the API server: no kubelet is newer, and few are older
// (https://kubernetes.io/releases/version-skew-policy/).
var mentions = []struct {
	word  string
	until *regexp.Regexp // what follows the word, up to the version
}{
	{"kubeletVersion", regexp.MustCompile(`^"?:\s*"?(v1\.\d+)`)},
	{"serverVersion", regexp.MustCompile(`(?s)^"?:.{0,900}?gitVersion"?:\s*"?(v1\.\d+)`)},
	{"Server Version", regexp.MustCompile(`^: (v1\.\d+)`)},
}

// Versions returns the versions of the kubelets that files name, oldest first, or nothing. A
// problem has the place of a version whose rules are not known: then no version is returned.
func Versions(files []incident.File) (list []profile.Profile, problems []incident.Problem) {
	var names []string
	for _, m := range mentions {
		for _, f := range files {
			for end := 0; ; {
				at := bytes.Index(f.Data[end:], []byte(m.word))
				if at < 0 {
					break
				}
				end += at + len(m.word)
				found := m.until.FindSubmatch(f.Data[end:])
				if found == nil || slices.Contains(names, string(found[1])) {
					continue
				}
				names = append(names, string(found[1]))
				if _, known := profile.Named(string(found[1])); !known {
					place := incident.Place{File: f.Name, Line: bytes.Count(f.Data[:end], []byte("\n")) + 1}
					problems = append(problems, incident.Problem{Place: place,
						Message: fmt.Sprintf("the rules of kubelets of %s are not known: those of %s count", found[1],
							strings.Join(profile.Names(), ", "))})
				}
			}
		}
		if len(names) > 0 {
			break
		}
	}
	for _, name := range profile.Names() {
		if p, _ := profile.Named(name); len(problems) == 0 && slices.Contains(names, name) {
			list = append(list, p)
		}
	}
	return list, problems
}
