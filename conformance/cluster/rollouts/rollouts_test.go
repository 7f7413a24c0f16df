// Package rollouts lays real rollouts beside simulated ones. Its test is the command of a cluster:
// README.md of the module says how to run it.
package rollouts

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"
)

var (
	count     = flag.Int("rollouts", 0, "the number of real rollouts of each kind")
	only      = flag.String("kind", "", "roll out only Deployments of this kind")
	simulated = flag.Int("simulated", 1000, "the number of simulated rollouts of each kind")
	logs      = flag.String("logs", "", "the directory of the cluster's logs")
	probesim  = flag.String("probesim", "", "the probesim program")
)

// rps is the rate of requests, each with a connection of its own.
const rps = 200

// kinds are the Deployments that are rolled out. Clients keep a number of connections open; with
// none, each request opens one.
var kinds = []struct {
	name, spec, container string
	connections           int
}{
	{name: "as is"},
	{name: "minReadySeconds 2", spec: "minReadySeconds: 2"},
	{name: "preStop sleep 2", container: "lifecycle: {preStop: {sleep: {seconds: 2}}}"},
	{name: "Recreate", spec: "strategy: {type: Recreate}"},
	{name: "50 connections", connections: 50},
	{name: "50 connections, preStop sleep 2", container: "lifecycle: {preStop: {sleep: {seconds: 2}}}",
		connections: 50},
}

// deployment is the manifest of a kind, for both worlds.
const deployment = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  %s
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      automountServiceAccountToken: false
      enableServiceLinks: false
      containers:
      - name: app
        image: web:dev
        %s
        ports: [{containerPort: 8080}]
        readinessProbe: {httpGet: {path: /healthz, port: 8080}, periodSeconds: 2}
`

// scenario is the same rollout on the simulator. The program is that of directory web.
const scenario = `---
apiVersion: probesim.dev/v1alpha1
kind: Scenario
metadata: {name: rollout}
spec:
  duration: 2m
  controlPlane: %s
  delays: %s
  pods:
  - {name: web, containers: [{name: app, behavior: [{afterSigterm: 0s, refuse: true}, {afterSigterm: 100ms, exit: 0}]}]}
  services: [{name: web}]
  traffic: [{service: web, rps: %d, latency: 10ms..50ms%s}]
  steps: [{at: 60s..62s, rollout: {workload: web, restart: true}}]
`

// TestRollouts rolls out Deployments under load, fits the delays of the simulator to what the
// cluster took meanwhile, and simulates the same rollouts. At least 95% of the real losses must lie
// within the simulated ones.
func TestRollouts(t *testing.T) {
	if *count == 0 {
		t.Skip("needs a cluster, and -args -rollouts N")
	}
	c := connect(t)
	load, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("load of the machine: %s", load)
	c.watchAll()
	c.calls()
	real := map[string][]float64{}
	for _, kind := range kinds {
		if *only != "" && *only != kind.name {
			continue
		}
		manifest := fmt.Sprintf(deployment, kind.spec, kind.container)
		c.create(manifest)
		for range *count {
			real[kind.name] = append(real[kind.name], float64(c.rollOut(kind.connections)))
		}
		c.remove()
		t.Logf("%s: lost %s; %v", kind.name, quantiles(real[kind.name]), real[kind.name])
	}
	controlPlane, delays := c.fit()
	t.Logf("controlPlane: %s", controlPlane)
	t.Logf("delays: %s", delays)
	within, all := 0, 0
	for _, kind := range kinds {
		if real[kind.name] == nil {
			continue
		}
		manifest, kept := fmt.Sprintf(deployment, kind.spec, kind.container), ""
		if kind.connections > 0 {
			kept = fmt.Sprintf(", connections: %d until exit", kind.connections)
		}
		lost := simulate(t, manifest+fmt.Sprintf(scenario, controlPlane, delays, rps, kept))
		t.Logf("%-31s real %s, simulated %s", kind.name, quantiles(real[kind.name]), quantiles(lost))
		least, most := math.Floor(slices.Min(lost)), math.Ceil(slices.Max(lost))
		for i, n := range real[kind.name] {
			all++
			if least <= n && n <= most {
				within++
			} else {
				t.Logf("%s: rollout %d lost %v, simulated %v to %v", kind.name, i+1, n, least, most)
			}
		}
	}
	t.Logf("%d of %d real rollouts are within the simulated range", within, all)
	if 100*within < 95*all {
		t.Error("fewer than 95% are within the range")
	}
}

// quantiles shows the least, median, 95% and greatest of values.
func quantiles(values []float64) string {
	if len(values) == 0 {
		return "-"
	}
	return fmt.Sprintf("%.4g / %.4g / %.4g / %.4g", quantile(values, 0), quantile(values, 0.5), quantile(values, 0.95),
		quantile(values, 1))
}

func quantile(values []float64, q float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

// A cluster is the real one, with what was seen on it.
type cluster struct {
	t      *testing.T
	client kubernetes.Interface

	mu    sync.Mutex
	pods  map[types.UID]*podTimes
	seen  map[string]time.Time // when a watch saw a new ConfigMap
	wrote map[string]time.Time // when the call that made it returned
	took  map[string][]float64 // milliseconds by name

	sources int // the number of addresses from which requests came
}

// The podTimes are when a watch saw the changes of a pod.
type podTimes struct {
	added, scheduled, ready, deleted, inSlice, outOfSlice time.Time
}

func connect(t *testing.T) *cluster {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return &cluster{t: t, client: client, pods: map[types.UID]*podTimes{}, seen: map[string]time.Time{},
		wrote: map[string]time.Time{}, took: map[string][]float64{}}
}

// watchAll notes when changes arrive.
func (c *cluster) watchAll() {
	for _, start := range []func() (watch.Interface, error){
		func() (watch.Interface, error) {
			return c.client.CoreV1().Pods("default").Watch(c.t.Context(), metav1.ListOptions{})
		},
		func() (watch.Interface, error) {
			return c.client.DiscoveryV1().EndpointSlices("default").Watch(c.t.Context(), metav1.ListOptions{})
		},
		func() (watch.Interface, error) {
			return c.client.CoreV1().ConfigMaps("default").Watch(c.t.Context(), metav1.ListOptions{})
		},
	} {
		w, err := start()
		if err != nil {
			c.t.Fatal(err)
		}
		go func() {
			for event := range w.ResultChan() {
				c.see(time.Now(), event)
			}
		}()
	}
}

func (c *cluster) see(now time.Time, event watch.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	note := func(at *time.Time, holds bool) {
		if holds && at.IsZero() {
			*at = now
		}
	}
	switch object := event.Object.(type) {
	case *corev1.Pod:
		pod := c.pod(object.UID)
		note(&pod.added, true)
		note(&pod.scheduled, object.Spec.NodeName != "")
		note(&pod.ready, slices.ContainsFunc(object.Status.Conditions, func(condition corev1.PodCondition) bool {
			return condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue
		}))
		note(&pod.deleted, object.DeletionTimestamp != nil)
	case *discoveryv1.EndpointSlice:
		for _, endpoint := range object.Endpoints {
			if endpoint.TargetRef == nil || endpoint.Conditions.Ready == nil {
				continue
			}
			pod := c.pod(endpoint.TargetRef.UID)
			note(&pod.inSlice, *endpoint.Conditions.Ready)
			note(&pod.outOfSlice, !*endpoint.Conditions.Ready && !pod.inSlice.IsZero())
		}
	case *corev1.ConfigMap:
		c.seen[object.Name] = now
	}
}

func (c *cluster) pod(uid types.UID) *podTimes {
	if c.pods[uid] == nil {
		c.pods[uid] = &podTimes{}
	}
	return c.pods[uid]
}

func milliseconds(from, to time.Time) float64 {
	return float64(to.Sub(from)) / float64(time.Millisecond)
}

// calls makes a call to the API server every half second, and measures it.
func (c *cluster) calls() {
	api := c.client.CoreV1().ConfigMaps("default")
	go func() {
		for n := 0; c.t.Context().Err() == nil; n++ {
			name := fmt.Sprintf("call-%d", n)
			begin := time.Now()
			_, err := api.Create(c.t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}},
				metav1.CreateOptions{})
			returned := time.Now()
			_, getErr := api.Get(c.t.Context(), name, metav1.GetOptions{})
			got := time.Now()
			if err == nil && getErr == nil {
				c.mu.Lock()
				c.wrote[name] = returned
				c.took["apiWrite"] = append(c.took["apiWrite"], milliseconds(begin, returned))
				c.took["apiGet"] = append(c.took["apiGet"], milliseconds(returned, got))
				c.mu.Unlock()
			}
			time.Sleep(500 * time.Millisecond)
		}
	}()
}

// create makes the Deployment and its Service, and waits until it is available.
func (c *cluster) create(manifest string) {
	c.t.Helper()
	var d appsv1.Deployment
	if err := yaml.Unmarshal([]byte(manifest), &d); err != nil {
		c.t.Fatal(err)
	}
	if _, err := c.client.AppsV1().Deployments("default").Create(c.t.Context(), &d, metav1.CreateOptions{}); err != nil {
		c.t.Fatal(err)
	}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	service.Spec.Selector = map[string]string{"app": "web"}
	service.Spec.Ports = []corev1.ServicePort{{Port: 80}}
	service.Spec.Ports[0].TargetPort.IntVal = 8080
	_, err := c.client.CoreV1().Services("default").Create(c.t.Context(), service, metav1.CreateOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	c.complete()
	time.Sleep(3 * time.Second)
}

func (c *cluster) remove() {
	ctx := c.t.Context()
	foreground := metav1.DeletePropagationForeground
	options := metav1.DeleteOptions{PropagationPolicy: &foreground}
	if err := c.client.AppsV1().Deployments("default").Delete(ctx, "web", options); err != nil {
		c.t.Fatal(err)
	}
	if err := c.client.CoreV1().Services("default").Delete(ctx, "web", metav1.DeleteOptions{}); err != nil {
		c.t.Fatal(err)
	}
	c.wait("the end of the Deployment", func() bool {
		_, err := c.client.AppsV1().Deployments("default").Get(ctx, "web", metav1.GetOptions{})
		return errors.IsNotFound(err)
	})
}

// complete waits until the rollout is complete and the old pods are gone.
func (c *cluster) complete() {
	c.wait("the rollout", func() bool {
		d, err := c.client.AppsV1().Deployments("default").Get(c.t.Context(), "web", metav1.GetOptions{})
		if err != nil || d.Status.ObservedGeneration != d.Generation || d.Status.UpdatedReplicas != 3 ||
			d.Status.AvailableReplicas != 3 || d.Status.Replicas != 3 {
			return false
		}
		pods, err := c.client.CoreV1().Pods("default").List(c.t.Context(), metav1.ListOptions{})
		return err == nil && len(pods.Items) == 3
	})
}

func (c *cluster) wait(what string, condition func() bool) {
	c.t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); !condition(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			c.t.Fatalf("%s takes longer than 3 minutes", what)
		}
	}
}

// rollOut rolls the Deployment out under load and returns the number of requests that are lost.
func (c *cluster) rollOut(connections int) int {
	service, err := c.client.CoreV1().Services("default").Get(c.t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	stop := make(chan struct{})
	lost := make(chan int)
	go func() { lost <- send(c.source(), service.Spec.ClusterIP+":80", connections, stop) }()
	time.Sleep(time.Second)
	patch := fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{"at":%q}}}}}`, time.Now())
	_, err = c.client.AppsV1().Deployments("default").Patch(c.t.Context(), "web", types.StrategicMergePatchType,
		[]byte(patch), metav1.PatchOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	c.complete()
	time.Sleep(time.Second)
	close(stop)
	return <-lost
}

// source adds an address to the node, from which the requests of one rollout come. Conntrack keeps
// for two minutes which pod a connection without an answer was for. A later one from the same
// address and port would go to this pod, too, which is long gone.
func (c *cluster) source() net.IP {
	c.sources++
	ip := net.IPv4(198, 18, byte(c.sources/250), byte(1+c.sources%250))
	lo, err := netlink.LinkByName("lo")
	if err == nil {
		err = netlink.AddrAdd(lo, &netlink.Addr{IPNet: &net.IPNet{IP: ip, Mask: net.CIDRMask(32, 32)}})
	}
	if err != nil {
		c.t.Error(err)
	}
	return ip
}

// send sends requests at the rate until it is stopped, and returns how many get no answer. Clients
// with a connection of their own take turns; without connections, each request opens one.
func send(source net.IP, address string, connections int, stop <-chan struct{}) int {
	dialer := net.Dialer{Timeout: time.Second, LocalAddr: &net.TCPAddr{IP: source}}
	clients := make([]client, max(1, connections))
	var wg sync.WaitGroup
	var mu sync.Mutex
	lost := 0
	tick := time.NewTicker(time.Second / rps)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-stop:
			wg.Wait()
			return lost
		case <-tick.C:
		}
		wg.Go(func() {
			if err := clients[n%len(clients)].get(&dialer, address, connections > 0); err != nil {
				mu.Lock()
				defer mu.Unlock()
				lost++
			}
		})
	}
}

// A client keeps a connection. It tries no request again: net/http would do so if the server has
// closed a connection, and would wait for another connection while one is not accepted.
type client struct {
	mu   sync.Mutex
	kept net.Conn
}

func (c *client) get(dialer *net.Dialer, address string, keep bool) error {
	c.mu.Lock()
	conn := c.kept
	c.kept = nil
	c.mu.Unlock()
	if conn != nil && closed(conn) {
		conn = nil
	}
	if conn == nil {
		var err error
		if conn, err = dialer.Dial("tcp", address); err != nil {
			return err
		}
	}
	err := conn.SetDeadline(time.Now().Add(2 * time.Second))
	if err == nil {
		_, err = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: web\r\n\r\n")
	}
	var response *http.Response
	if err == nil {
		response, err = http.ReadResponse(bufio.NewReader(conn), nil)
	}
	if err == nil {
		_, err = io.Copy(io.Discard, response.Body)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil && keep && c.kept == nil {
		c.kept = conn
		return nil
	}
	conn.Close()
	return err
}

// closed reports whether the other side has closed a connection without a request, and then closes
// it too.
func closed(conn net.Conn) bool {
	if err := conn.SetReadDeadline(time.Now().Add(time.Millisecond)); err != nil {
		return true
	}
	_, err := conn.Read(make([]byte, 1))
	if timeout, is := err.(net.Error); is && timeout.Timeout() {
		return false
	}
	conn.Close()
	return true
}

// fit returns the delays that were measured, in the form of a scenario file.
func (c *cluster) fit() (controlPlane, delays string) {
	c.readLogs()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, pod := range c.pods {
		for name, times := range map[string][2]time.Time{
			"schedule":         {pod.added, pod.scheduled},
			"ready to slice":   {pod.ready, pod.inSlice},
			"deleted to slice": {pod.deleted, pod.outOfSlice},
			"added to ready":   {pod.added, pod.ready},
		} {
			if !times[0].IsZero() && !times[1].IsZero() {
				c.took[name] = append(c.took[name], max(0, milliseconds(times[0], times[1])))
			}
		}
	}
	for name, seen := range c.seen {
		if wrote, known := c.wrote[name]; known { // often the watch is the faster one
			c.took["watch"] = append(c.took["watch"], max(0, milliseconds(wrote, seen)))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.took)) {
		c.t.Logf("%-18s %4d times, %s ms", name, len(c.took[name]), quantiles(c.took[name]))
	}
	return c.ranges("{", "watch", "apiWrite", "schedule", "proxySync"),
		c.ranges("{set: fast, ", "apiGet", "runPodSandbox", "createContainer", "startContainer", "stopPodSandbox",
			"removePodSandbox", "removeContainer")
}

// ranges writes delays as ranges from the 5% to the 95% quantile.
func (c *cluster) ranges(begin string, names ...string) string {
	var fields []string
	for _, name := range names {
		if values := c.took[name]; len(values) > 0 {
			least := quantile(values, 0.05)
			fields = append(fields, fmt.Sprintf("%s: %.1fms..%.1fms", name, least, max(least+0.1, quantile(values, 0.95))))
		}
	}
	return begin + strings.Join(fields, ", ") + "}"
}

// The logs of containerd have two lines for each call of the kubelet, and that of kube-proxy one for
// each time that it has written its rules.
var (
	criLine = regexp.MustCompile(`^time="([^"]+)" level=info msg="(RunPodSandbox|CreateContainer|StartContainer|` +
		`StopPodSandbox|RemovePodSandbox|RemoveContainer) (.*)`)
	criKey    = regexp.MustCompile(`(?:uid:|for |within sandbox )\\?"?\\?"([^\\"]+)`)
	proxyLine = regexp.MustCompile(`"SyncProxyRules complete" ipFamily="IPv4".*elapsed="([^"]+)"`)
)

func (c *cluster) readLogs() {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	begun := map[string]time.Time{}
	c.lines("containerd.log", func(line string) {
		match := criLine.FindStringSubmatch(line)
		if match == nil {
			return
		}
		key := criKey.FindStringSubmatch(match[3])
		at, err := time.Parse(time.RFC3339Nano, match[1])
		if key == nil || err != nil {
			return
		}
		call := match[2] + " " + key[1]
		begin, known := begun[call]
		switch {
		case !strings.Contains(match[3], "return") && !strings.Contains(match[3], "successfully"):
			begun[call] = at
		case known:
			name := strings.ToLower(match[2][:1]) + match[2][1:]
			c.took[name] = append(c.took[name], milliseconds(begin, at))
			delete(begun, call)
		}
	})
	c.lines("kube-proxy.log", func(line string) {
		match := proxyLine.FindStringSubmatch(line)
		if match == nil {
			return
		}
		if took, err := time.ParseDuration(match[1]); err == nil {
			c.took["proxySync"] = append(c.took["proxySync"], float64(took)/float64(time.Millisecond))
		}
	})
}

func (c *cluster) lines(name string, read func(line string)) {
	c.t.Helper()
	content, err := os.ReadFile(filepath.Join(*logs, name))
	if err != nil {
		c.t.Fatal(err)
	}
	for line := range strings.Lines(string(content)) {
		read(line)
	}
}

// simulate runs a scenario and returns how many requests each run loses.
func simulate(t *testing.T, file string) []float64 {
	t.Helper()
	name := filepath.Join(t.TempDir(), "rollout.yaml")
	if err := os.WriteFile(name, []byte(file), 0o644); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(context.Background(), *probesim, "run", name, "--seed",
		fmt.Sprintf("1..%d", *simulated), "-o", "jsonl")
	var stderr bytes.Buffer
	command.Stderr = &stderr
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	var lost []float64
	for lines := bufio.NewScanner(output); lines.Scan(); {
		var record struct {
			Run  *struct{}
			Kind string
			Loss struct{ Lost float64 }
		}
		if err := json.Unmarshal(lines.Bytes(), &record); err != nil {
			t.Fatal(err)
		}
		switch {
		case record.Run != nil:
			lost = append(lost, 0)
		case record.Kind == "LossEnded":
			lost[len(lost)-1] += record.Loss.Lost
		}
	}
	if err := command.Wait(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, stderr.Bytes(), file)
	}
	return lost
}
