package why

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/printable"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// Question is what to explain about a pod of a run. With the zero values of the other fields, it is the state at a time.
type Question struct {
	Pods      []*v1.Pod
	Pod       string   // key of one of them
	Among     []string // the keys of the pods that the user may mean
	Container string   // empty: all containers
	Restart   *int     // explain the restart with this number
	Any       bool     // find a container with a restart in one of the pods
	Ready     bool     // explain the changes of Ready up to the time
	At        virtual.Time
}

// ChoosePod chooses the pod with a key or one of the found keys. Several are fine only if Any is set.
func (q *Question) ChoosePod(name string, found []string) error {
	var keys []string
	for _, pod := range q.Pods {
		key := pod.Namespace + "/" + pod.Name
		keys = append(keys, trace.PodName(key))
		if name == key {
			found = []string{key}
		}
	}
	switch {
	case len(found) == 1 || len(found) > 1 && q.Any:
		q.Pod, q.Among = found[0], found
		return nil
	case len(found) == 0:
		return fmt.Errorf("--pod: there is no pod %s; the pods are: %s", strconv.Quote(name), printable.Few(keys))
	}
	return fmt.Errorf("there are several pods; choose one with --pod: %s", printable.Few(keys))
}

// ParseRestart sets the restart from a number or the word any.
func (q *Question) ParseRestart(text string) error {
	if q.Any = text == "any"; q.Any {
		return nil
	}
	number, err := strconv.Atoi(text)
	switch {
	case err != nil:
		return fmt.Errorf("--restart: %s is neither a number nor any", strconv.Quote(text))
	case number < 0:
		return errors.New("--restart must not be negative")
	}
	q.Restart = &number
	return nil
}

// Containers returns the names of the containers of the pod, init containers first.
func (q *Question) Containers() []string {
	var list []string
	for _, pod := range q.Pods {
		if pod.Namespace+"/"+pod.Name != q.Pod {
			continue
		}
		for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
			list = append(list, c.Name)
		}
	}
	return list
}

// CheckContainer returns an error if none of the pods has the container.
func (q *Question) CheckContainer() error {
	if q.Container == "" {
		return nil
	}
	for _, q.Pod = range q.Among {
		if slices.Contains(q.Containers(), q.Container) {
			return nil
		}
	}
	return fmt.Errorf("--container: there is no container %s in pod %s; its containers are: %s", strconv.Quote(q.Container), trace.PodName(q.Pod), printable.Few(q.Containers()))
}

// FindRestart chooses the first container with a restart, of any pod. It reports false if there is none.
func (q *Question) FindRestart(run *Run) bool {
	name := q.Container
	for _, q.Pod = range q.Among {
		for _, c := range q.Containers() {
			if (name == "" || name == c) && run.Restarts(q.Pod, c) > 0 {
				q.Container, q.Restart = c, new(1)
				return true
			}
		}
	}
	return false
}

// Answer explains what the question is about.
func (q *Question) Answer(run *Run) ([]Explanation, error) {
	if q.Restart != nil {
		return q.answerRestart(run)
	}
	if q.Ready {
		if all := run.Ready(q.Pod, q.At); len(all) > 0 {
			return all, nil
		}
	}
	return []Explanation{run.At(q.Pod, q.Container, q.At)}, nil
}

// answerRestart explains a restart. The container must be given if several have a restart with this number.
func (q *Question) answerRestart(run *Run) ([]Explanation, error) {
	var had, of []string
	for _, c := range q.Containers() {
		n := run.Restarts(q.Pod, c)
		had = append(had, fmt.Sprintf("%s %d", c, n))
		if _, ok := run.Restart(q.Pod, c, *q.Restart); ok && (q.Container == "" || q.Container == c) {
			of = append(of, c)
		}
	}
	switch {
	case len(of) > 1:
		return nil, fmt.Errorf("several containers have a restart %d; choose one with --container: %s", *q.Restart, printable.Few(of))
	case len(of) == 0:
		return nil, fmt.Errorf("there is no restart %d; restarts of the containers of %s: %s", *q.Restart, trace.PodName(q.Pod), strings.Join(had, ", "))
	}
	e, _ := run.Restart(q.Pod, of[0], *q.Restart)
	return []Explanation{e}, nil
}
