package why

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/internal/podutil"
	"probesim.dev/internal/printable"
	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// Question is what to explain about a pod of a run. With the zero values of the other fields, it is
// the state at a time.
type Question struct {
	Pods      []*v1.Pod
	Pod       string   // key of one of them
	Among     []string // the keys of the pods that the user may mean; Choose chooses the Pod
	Container string   // empty: all containers
	Restart   *int     // explain the restart with this number
	Any       bool     // find a container with a restart in one of the pods
	Ready     bool     // explain the changes of Ready up to the time
	At        virtual.Time
}

// SetPod sets the pods that the user may mean: the pod with a key, or else the found keys.
func (q *Question) SetPod(name string, found []string) error {
	var keys []string
	for _, pod := range q.Pods {
		key := pod.Namespace + "/" + pod.Name
		keys = append(keys, trace.PodName(key))
		if name == key {
			found = []string{key}
		}
	}
	if q.Among = found; len(found) == 0 {
		return fmt.Errorf("--pod: there is no pod %s; the pods are: %s", strconv.Quote(name), printable.Few(keys))
	}
	q.Pod = found[0]
	return nil
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
func (q *Question) Containers() []string { return q.containersOf(q.Pod) }

func (q *Question) containersOf(key string) (list []string) {
	for _, pod := range q.Pods {
		if pod.Namespace+"/"+pod.Name == key {
			for c := range podutil.Containers(&pod.Spec) {
				list = append(list, c.Name)
			}
		}
	}
	return list
}

// CheckContainer leaves out the pods without the container. It returns an error if none has it.
func (q *Question) CheckContainer() error {
	with := slices.Clone(q.Among)
	if q.Container != "" {
		with = slices.DeleteFunc(with,
			func(key string) bool { return !slices.Contains(q.containersOf(key), q.Container) })
	}
	if len(with) == 0 {
		return fmt.Errorf("--container: there is no container %s; the containers are: %s", strconv.Quote(q.Container),
			printable.Few(q.names(func(string, string) string { return "" })))
	}
	q.Among, q.Pod = with, with[0]
	return nil
}

// Choose chooses the pod, and for a restart the container. It takes the first that had the restart
// in question. Without such a question it takes the pod that restarted first, or else the first pod
// that is not Ready. It says in words what it chose if there was a choice, and reports whether
// there is an answer.
func (q *Question) Choose(run *Run) (chose string, ok bool) {
	if q.Any {
		q.Restart = new(1)
	}
	starts := q.starts(run)
	switch {
	case len(starts) > 0:
		q.Pod = starts[0].Pod
	case len(q.Among) > 1 && q.Restart == nil:
		return q.chooseNotReady(run), true
	}
	if q.Restart == nil {
		if len(q.Among) > 1 {
			chose = fmt.Sprintf("the pod %s, the first of %d that restarted", trace.PodName(q.Pod), len(q.Among))
		}
		return chose, true
	}
	if len(starts) > 1 {
		chose = fmt.Sprintf("%s/%s, the first of %d containers with a restart %d", trace.PodName(q.Pod),
			starts[0].Container, len(starts), *q.Restart)
	}
	if len(starts) > 0 {
		q.Container = starts[0].Container
	}
	return chose, len(starts) > 0
}

// starts returns the starts of the restart in question, one for each container, or else the first
// restarts; oldest first.
func (q *Question) starts(run *Run) []*trace.Record {
	var starts []*trace.Record
	number := 1
	if q.Restart != nil {
		number = *q.Restart
	}
	for _, rec := range run.records {
		if q.Restart == nil && rec.T > q.At {
			break
		}
		if rec.Kind == trace.ContainerStarted && rec.Instance == number && slices.Contains(q.Among, rec.Pod) &&
			(q.Container == "" || rec.Container == q.Container) {
			starts = append(starts, rec)
		}
	}
	return starts
}

// chooseNotReady chooses the first pod that is not Ready at the time, or else the first one, and
// says so.
func (q *Question) chooseNotReady(run *Run) string {
	for _, key := range q.Among {
		if len(run.flips(key, q.At))%2 == 0 {
			q.Pod = key
			return fmt.Sprintf("the pod %s, the first of %d that is not Ready", trace.PodName(key), len(q.Among))
		}
	}
	return fmt.Sprintf("the pod %s, the first of %d: none restarted, and all are Ready", trace.PodName(q.Pod),
		len(q.Among))
}

// Answer explains what the question is about.
func (q *Question) Answer(run *Run) ([]Explanation, error) {
	if q.Restart != nil {
		if e, ok := run.Restart(q.Pod, q.Container, *q.Restart); ok {
			return []Explanation{e}, nil
		}
		err := fmt.Errorf("there is no restart %d; restarts of the containers: %s", *q.Restart,
			printable.Few(q.names(func(pod, c string) string { return fmt.Sprintf(" %d", run.Restarts(pod, c)) })))
		return nil, errors.Join(err, q.whyNot(run))
	}
	if q.Ready {
		if all := run.Ready(q.Pod, q.At); len(all) > 0 {
			return all, nil
		}
	}
	return []Explanation{run.At(q.Pod, q.Container, q.At)}, nil
}

// whyNot says why the containers that the user may mean did not restart, or did not again, as an
// error, or returns nil if no probe failed.
func (q *Question) whyNot(run *Run) error {
	var reasons []string
	for _, key := range q.Among {
		for _, c := range q.containersOf(key) {
			if (q.Pod == "" || q.Pod == key) && (q.Container == "" || q.Container == c) {
				reasons = append(reasons, run.WhyNot(key, c)...)
			}
		}
	}
	if len(reasons) == 0 {
		return nil
	}
	const most = 6
	return errors.New(strings.Join(reasons[:min(len(reasons), most)], "\n"))
}

// names lists the containers that the user may mean, each with more words.
func (q *Question) names(more func(pod, container string) string) []string {
	var list []string
	for _, key := range q.Among {
		for _, c := range q.containersOf(key) {
			list = append(list, trace.PodName(key)+"/"+c+more(key, c))
		}
	}
	return list
}
