package measure

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"probesim.dev/internal/answers/incident"
	"probesim.dev/internal/input"
	"probesim.dev/kube/profile"
)

// The versions of kubelets are in Node objects. Without them, the answer of kubectl version has the
// version of the API server: no kubelet is newer, and few are older
// (https://kubernetes.io/releases/version-skew-policy/).
var mentions = []*regexp.Regexp{
	regexp.MustCompile(`kubeletVersion"?:\s*"?(v1\.\d+)`),
	regexp.MustCompile(`(?s)serverVersion"?:.{0,900}?gitVersion"?:\s*"?(v1\.\d+)`),
	regexp.MustCompile(`Server Version: (v1\.\d+)`),
}

// Versions returns the versions of the kubelets that files name, oldest first, or nothing. A
// problem has the place of a version whose rules are not known: then no version is returned.
func Versions(files []input.File) (list []profile.Profile, problems []incident.Problem) {
	var names []string
	for _, mention := range mentions {
		for _, f := range files {
			for _, at := range mention.FindAllSubmatchIndex(f.Data, -1) {
				name := string(f.Data[at[2]:at[3]])
				if _, known := profile.Named(name); !known && !slices.Contains(names, name) {
					message := fmt.Sprintf("the rules of kubelets of %s are not known: those of %s count",
						name, strings.Join(profile.Names(), ", "))
					place := incident.Place{File: f.Name, Line: bytes.Count(f.Data[:at[2]], []byte("\n")) + 1}
					problems = append(problems, incident.Problem{Place: place, Message: message})
				}
				names = append(names, name)
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
