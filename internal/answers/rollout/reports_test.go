package rollout_test

import (
	"bytes"
	"cmp"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"probesim.dev/internal/answers/rollout"
	"probesim.dev/internal/answers/rollout/render"
	"probesim.dev/internal/input"
	"probesim.dev/internal/scenarios/whatif"
	"probesim.dev/internal/show/document"
	"probesim.dev/internal/value"
)

// Rollouts that people report in public: the manifests are those of testdata/reports, which say
// where, what was seen and why. The options are what the reports say. A few runs must say the
// cause. The order is: lost requests first, then rollouts that stop or take long.
func TestReports(t *testing.T) {
	seconds := func(least, most int) value.Durations {
		return value.Durations{Ordinary: interval(time.Duration(least)*time.Second, time.Duration(most)*time.Second)}
	}
	start := func(least, most int) rollout.Options {
		return rollout.Options{App: rollout.App{Start: seconds(least, most)}}
	}
	behind := func(router string) rollout.Options { return rollout.Options{Router: router} }
	app := func(words string) (o rollout.Options) {
		events, err := whatif.Parse([]string{words})
		for _, e := range events {
			err = errors.Join(err, o.App.Add(e))
		}
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	once := func(words string) (o rollout.Options) {
		if words != "" {
			o = app(words)
		}
		o.Runs = 1
		return o
	}
	scale := func(replicas int32, words string) rollout.Options {
		o := once(words)
		o.Change = rollout.Change{Kind: rollout.Scale, Scale: replicas}
		return o
	}
	never, none := rollout.NeverCompletes, rollout.LosesNone
	waits := "completes, unless new pods wait for old ones"
	for _, c := range []struct {
		file string
		rollout.Options
		verdict rollout.Verdict // empty: an error
		says    []string
	}{
		{"sigterm-stops-the-server", rollout.Options{}, rollout.Loses,
			[]string{"still a target of kube-proxy", "preStop: {sleep: {seconds: 12}}: always enough"}},
		{"no-readiness-probe", rollout.Options{}, rollout.Loses,
			[]string{"has no readinessProbe: its pods get requests as soon as it runs"}},
		{"no-readiness-probe", start(5, 5), rollout.Loses,
			[]string{"new pods: a target, but the program does not listen yet",
				"a readinessProbe that succeeds when the program is up"}},
		{"behind-ingress-nginx", behind("ingress-nginx"), rollout.Loses,
			[]string{"still a target of ingress-nginx", "preStop: {sleep: {seconds: 15}}: always enough, none lost"}},
		{"scale-down-behind-ingress-nginx",
			rollout.Options{Router: "ingress-nginx", Change: rollout.Change{Kind: rollout.Scale, Scale: 5}},
			rollout.Loses, []string{"the program has exited, still a target of ingress-nginx",
				"preStop: {sleep: {seconds: 15}}: always enough, none lost"}},
		{"alb-ip-sleep-of-5s", behind("alb-ip"), rollout.Loses,
			[]string{"still a target of alb-ip", "25s to 70s is enough"}},
		{"alb-instance-which-sleep", rollout.Options{}, none, []string{"kube-proxy"}},
		{"alb-health-check-of-30s", behind("alb: add 15s..45s, remove 15s..45s"), rollout.Loses,
			[]string{"still a target of alb for up to",
				"Not simulated: how long the preStop hook takes"}},
		{"alb-single-pod", behind("alb-ip"), rollout.Loses,
			[]string{"no pod is a target of alb-ip", "alb-ip takes up to 30s to add a pod"}},
		{"readiness-gate", behind("alb-ip"), rollout.Loses,
			[]string{"still a target of alb-ip", "readiness gate (target-health.elbv2.k8s.aws/web), up to 30s"}},
		{"neg-without-prestop", behind("neg"), rollout.Loses,
			[]string{"the program has exited, still a target of neg", "fix preStop: {sleep:"}},
		{"app-gateway-takes-40s", behind("app-gateway: add 40s, remove 40s"), rollout.Loses,
			[]string{"still a target of app-gateway for up to 40s", "preStop: {sleep: {seconds: 51",
				"and terminationGracePeriodSeconds: 5", "app-gateway adds a pod after 40s and"}},
		{"sleep-beyond-the-grace-period", rollout.Options{Router: "alb-ip", App: rollout.App{Start: seconds(20, 20)}},
			rollout.Loses,
			[]string{"The preStop hook takes 40s, and terminationGracePeriodSeconds 30 ends it: SIGTERM comes " +
				"after 30s, and SIGKILL 2s later. Raise it to 45."}},
		{"sleep-of-35s-is-killed", rollout.Options{}, none,
			[]string{"terminationGracePeriodSeconds 30 ends it: SIGTERM comes after 30s",
				"no loss if preStop sleeps 1"}},
		{"strategy-in-the-pod", rollout.Options{}, "",
			[]string{"strategy-in-the-pod.yaml:13:7: spec.template.spec.strategy: unknown field"}},
		{"one-replica-may-be-unavailable", start(4, 8), rollout.Loses,
			[]string{"no pod is a target of kube-proxy", "helps maxSurge: 1 and maxUnavailable: 0"}},
		{"recreate-and-ignored-sigterm", app("refuse never, stop 10m, start 10s"), rollout.Loses,
			[]string{"SIGKILL comes 30s after the deletion (terminationGracePeriodSeconds), and the stop takes 10m",
				"no pod is a target", "maxSurge: 1 and maxUnavailable: 0:"}},
		{"keep-alive-connections", start(30, 30), none,
			[]string{"requests over connections that clients keep open are not counted"}},
		{"autoscaler-above-replicas", rollout.Options{}, rollout.Loses,
			[]string{"kubectl apply of this manifest makes 1 at once: it stops the others together",
				"say --replicas 10"}},
		{"headless-grpc", rollout.Options{}, none,
			[]string{"Service web is headless: its clients look the pods up by DNS"}},
		{"proxy-stops-first", rollout.Options{}, none,
			[]string{"Container istio-proxy gets SIGTERM 10s before container app does"}},
		{"upstream-stops-first", rollout.Options{}, none,
			[]string{"Container php gets SIGTERM 10s before container app does"}},
		{"golang-from-scratch", rollout.Options{}, rollout.Loses,
			[]string{"the program has exited, still a target of kube-proxy",
				"fix preStop: {sleep: {seconds: 12}}: always enough"}},
		{"leader-election", start(2, 2), none,
			[]string{waits, "may never complete: a new pod needs the lease of the leader election (--leader-elect of " +
				"container app), if a pod is Ready only as the leader"}},
		{"leader-election-of-three", rollout.Options{}, rollout.Loses,
			[]string{"may never complete: a new pod needs the lease of the leader election"}},
		{"volume-of-one-node", rollout.Options{}, none,
			[]string{waits, "claim data, which only pods of one node can have (ReadWriteOnce)", "strategy Recreate"}},
		{"host-port", rollout.Options{}, none,
			[]string{waits, "port 8080 of a node (hostPort of container app)", "strategy Recreate"}},
		{"anti-affinity", rollout.Options{}, none,
			[]string{waits, "a kubernetes.io/hostname without a pod of its own kind, so 4 of them",
				"maxUnavailable: 1 stops one first, strategy Recreate all of them"}},
		{"spread-over-nodes", rollout.Options{}, rollout.Loses,
			[]string{"may never complete: a new pod needs a kubernetes.io/hostname with few enough pods"}},
		{"one-gpu", rollout.Options{}, none, []string{waits, "1 nvidia.com/gpu beside what the old pods have"}},
		{"operator-on-the-host-network", rollout.Options{}, none,
			[]string{waits, "port 8181 of a node (hostNetwork of container app)"}},
		{"quota", rollout.Options{}, never,
			[]string{"the rollout never completes",
				"A new pod needs room in ResourceQuota quota, whose pods 1 is less than the 2 of 2 pods"}},
		{"full-cluster", rollout.Options{}, rollout.Loses,
			[]string{"Not simulated: room for 1 more (cpu 100m, memory 448Mi a pod)"}},
		{"ready-after-the-deadline", start(651, 651), rollout.MissesDeadline,
			[]string{"completes, but misses progressDeadlineSeconds", "kubectl rollout status fails 10m",
				"Fix: progressDeadlineSeconds: 720, as the runs wait up to 1"}},
		{"a-wait-of-300s", rollout.Options{Runs: 1, App: rollout.App{Start: seconds(60, 290)},
			Require: rollout.Requirements{{Word: rollout.RowTakes, Duration: 5 * time.Minute}}}, rollout.Loses,
			[]string{"FAIL takes<=5m"}},
		{"min-ready-of-550s", rollout.Options{}, none, []string{"the rollout takes 27m"}},
		{"new-version-never-ready", app("start never"), never,
			[]string{"The Deployment may not stop an old pod before (maxUnavailable 0), so the old ones go on to " +
				"serve. progressDeadlineSeconds (600s) is over 10m"}},
		{"image-cannot-be-pulled", app("start never"), never,
			[]string{"The new pods do not become Ready", "so the old ones go on to serve"}},
		{"long-prestop-of-five", rollout.Options{}, none,
			[]string{"old pods are there for up to 2m", "up to 10 pods at once"}},
		{"probe-with-a-timeout-of-300s", rollout.Options{}, rollout.Loses,
			[]string{"still a target of kube-proxy", "fix preStop: {sleep: {seconds: 12}}: always enough"}},
		{"behind-traefik", behind("traefik"), rollout.Loses,
			[]string{"the program has exited, still a target of traefik",
				"preStop: {sleep: {seconds: 13}}: always enough, none lost"}},
		{"sidecar-of-a-database-stops-first", scale(3, ""), none,
			[]string{"loses no simulated request",
				"Container cloud-sql-proxy gets SIGTERM 30s before container app does",
				"The preStop hook takes 2m, and terminationGracePeriodSeconds 30 ends it"}},
		{"min-ready-but-may-be-unavailable", rollout.Options{}, rollout.Loses,
			[]string{"lets the Deployment stop the only old pod at once, before a new one is available",
				"fix maxSurge: 1 and maxUnavailable: 0 and preStop:"}},
		{"helm-resets-the-replicas", rollout.Options{}, rollout.Loses,
			[]string{"lets the Deployment stop the only old pod at once",
				"HorizontalPodAutoscaler app makes 1 to 300 replicas", "Leave spec.replicas out."}},
		{"surge-of-25-pods", start(5, 10), rollout.Loses,
			[]string{"maxUnavailable 25 is a number of pods, not percent, and lets the Deployment stop all 3 old " +
				"pods at once", "no pod is a target of kube-proxy",
				"fix maxSurge: 1 and maxUnavailable: 0 and preStop:"}},
		{"demo-without-readiness", start(5, 5), rollout.Loses,
			[]string{"new pods: a target, but the program does not listen yet",
				"fix a readinessProbe that succeeds when the program is up and preStop:"}},
		{"alb-adds-after-60s", rollout.Options{Router: "alb: add 60s, remove 5s",
			App: rollout.App{Start: seconds(5, 5)}}, rollout.Loses,
			[]string{"no pod is a target of alb",
				"fix minReadySeconds: 72 (alb takes up to 1m to add a pod) and preStop:"}},
		{"neg-sleep-of-20s", behind("neg"), rollout.Loses,
			[]string{"still a target of neg", "preStop: {sleep: {seconds: 71}} and terminationGracePeriodSeconds: " +
				"76: always enough"}},
		{"neg-why-60s", behind("neg"), rollout.Loses,
			[]string{"the program has exited, still a target of neg", "preStop: {sleep: {seconds: 71}}"}},
		{"nlb-takes-two-minutes", behind("nlb: add 180s..300s, remove 120s"), rollout.Loses,
			[]string{"still a target of nlb", "preStop: {sleep: {seconds: 131}} and terminationGracePeriodSeconds: " +
				"136: always enough"}},
		{"recreate-of-90s", start(60, 90), rollout.Loses,
			[]string{"an outage: no pod is a target of kube-proxy for up to 1m",
				"fix type: RollingUpdate, maxSurge: 1 and maxUnavailable: 0 and preStop:"}},
		{"liveness-kills-the-migration", start(70, 120), never,
			[]string{"the rollout never completes",
				"The liveness probe of container web kills the program before it is up, again and again.",
				"maxUnavailable 0 (25% of 1)", "Fix: add a startup probe"}},
		{"coredns-without-lameduck", rollout.Options{}, rollout.Loses,
			[]string{"still a target of kube-proxy", "fix preStop: {sleep:"}},
		{"coredns-without-lameduck", app("refuse 21s, stop 21s"), none, nil},
		{"webhook-is-ready-too-early", rollout.Options{}, rollout.Loses,
			[]string{"Not simulated: whether the port of Service gatekeeper-webhook-service is open when the " +
				"readinessProbe of port 9090 succeeds", "the program has exited, still a target of kube-proxy"}},
		{"model-takes-25-minutes", start(660, 1500), rollout.MissesDeadline,
			[]string{"completes, but misses progressDeadlineSeconds", "Fix: progressDeadlineSeconds: 1"}},
		{"four-waves-of-600s", rollout.Options{Runs: 1, App: start(600, 600).App}, never,
			[]string{"The startup probe of container pusher kills the program before it is up",
				"At least 11 of 12 pods are Ready all the time"}},
		{"scale-up-of-a-bad-image", scale(1, "start never"), never,
			[]string{"scaling to 1 never completes",
				"progressDeadlineSeconds does not count while a Deployment is scaled: kubectl rollout status waits " +
					"for ever."}},
		{"five-of-six-stay", app("start never"), never,
			[]string{"the rollout never completes", "At least 5 of 6 pods are Ready all the time"}},
		{"volume-and-may-be-unavailable", rollout.Options{}, rollout.Loses,
			[]string{"no pod is a target of kube-proxy",
				"A rolling update that stops none first may never complete: a new pod needs claim home-nfs"}},
		{"terminating-pods-do-not-count", app("refuse never, stop 60s"), none, []string{"more: up to 30 pods at once"}},
		{"min-ready-delays-no-requests", start(27, 27), rollout.Loses,
			[]string{"new pods: a target, but the program does not listen yet, for up to 26.",
				"a readinessProbe that succeeds when the program is up"}},
		{"drain-longer-than-the-grace-period", app("refuse 25s, stop 80s"), none,
			[]string{"SIGKILL comes 1m after the deletion (terminationGracePeriodSeconds), and the stop takes 1m20s"}},
		{"pihole-may-be-unavailable", rollout.Options{}, rollout.Loses,
			[]string{"lets the Deployment stop the only old pod at once",
				"no pod is a target of kube-proxy for up to 1m",
				"has externalTrafficPolicy Local: clients reach only pods on the node"}},
		{"keep-alive-reset-in-prestop", rollout.Options{}, none,
			[]string{"loses no simulated request", "requests over connections that clients keep open are not counted"}},
		{"injected-sidecar", rollout.Options{}, none,
			[]string{"loses no simulated request",
				"Istio adds a proxy (sidecar.istio.io/inject), which the requests pass: it is not " +
					"simulated"}},
		{"drain-of-a-single-replica", rollout.Options{}, none,
			[]string{"Not simulated: evictions such as those of kubectl drain, for which PodDisruptionBudget web " +
				"counts"}},
		{"statefulset-keeps-a-broken-pod", rollout.Options{}, "", []string{"a StatefulSet is not rolled out yet"}},
		{"local-traffic-policy", rollout.Options{}, none,
			[]string{"loses no simulated request",
				"has externalTrafficPolicy Local: clients reach only pods on the node"}},
		{"websockets-for-hours", app("stop 3h"), none,
			[]string{"Old pods are still there 2h after the change",
				"requests over connections that clients keep open are not counted"}},
		{"prestop-of-60s-is-killed", rollout.Options{}, none,
			[]string{"The preStop hook takes 1m, and terminationGracePeriodSeconds 30 ends it",
				"lets the Deployment stop all 3 old pods at once"}},
		{"lock-file-on-a-volume", once(""), rollout.Loses,
			[]string{"a rollout may never complete, or loses up to", "a new pod needs claim planner-data",
				"strategy Recreate"}},
		{"sleep-of-5s-behind-traefik", behind("traefik"), none,
			[]string{"requests over connections that clients keep open are not counted"}},
		{"quota-with-others", once(""), rollout.Loses,
			[]string{"Not simulated: what others use of ResourceQuota resource-quota: 5 pods need 15 of its " +
				"limits.cpu 24"}},
		{"quota-counts-terminating-pods", app("stop 60s"), none,
			[]string{"Not simulated: how long new pods wait for room in ResourceQuota rollout-quotablocked, whose " +
				"requests.memory 150Mi is less than the 225Mi of 3 pods"}},
		{"old-api-version", rollout.Options{}, "",
			[]string{`"extensions/v1beta1" has no kind Deployment since v1.16: write apps/v1`}},
		{"daemonset-with-host-ports", rollout.Options{}, "", []string{"a DaemonSet is not rolled out yet"}},
		{"argo-rollout", rollout.Options{}, "", []string{"a Rollout of argoproj.io/v1alpha1 is not rolled out yet"}},
		{"reloader-and-no-probes", once("start 5s"), rollout.Loses,
			[]string{"maxUnavailable 0 (25% of 1)", "new pods: a target, but the program does not listen yet",
				"a readinessProbe that succeeds when the program is up"}},
		{"linkerd-proxy", rollout.Options{}, none,
			[]string{"loses no simulated request", "Linkerd adds a proxy (linkerd.io/inject)"}},
		{"gunicorn-drains", once("refuse 0s, stop 10s..30s"), rollout.Loses,
			[]string{"refused after SIGTERM, still a target of kube-proxy", "fix preStop: {sleep:"}},
		{"neg-takes-five-minutes", rollout.Options{Runs: 1, Router: "neg: add 5m..6m, remove 10s"}, rollout.Loses,
			[]string{"no pod is a target of neg", "fix minReadySeconds: 372 (neg takes up to 6m to add a pod)"}},
		{"grace-period-of-0", once(""), rollout.Loses,
			[]string{"SIGKILL comes 2s after the deletion", "fix preStop: {sleep:",
				"and terminationGracePeriodSeconds:"}},
		{"liveness-after-5s", start(8, 15), rollout.MissesDeadline,
			[]string{"the rollout completes, but misses progressDeadlineSeconds", "Fix: add a startup probe",
				"The liveness probe of container operator kills the program before it is up"}},
		{"prestop-quits-nginx", once(""), rollout.Loses,
			[]string{"The preStop hook of container usn stops the program at once."}},
		{"scale-up-without-readiness", scale(4, "start 5s"), rollout.Loses,
			[]string{"new pods: a target, but the program does not listen yet",
				"fix a readinessProbe that succeeds when the program is up: always enough, none lost"}},
		{"two-pods-are-pending", once(""), rollout.Loses,
			[]string{"Not simulated: room for 1 more (cpu 500m, memory 512Mi a pod)"}},
		{"control-plane-on-the-host-network", rollout.Options{}, none,
			[]string{waits, "port 8001 of a node (hostNetwork of container forwarder)"}},
		{"uwsgi-stops-at-sigterm", once("refuse 0s, stop 30s"), rollout.Loses,
			[]string{"refused after SIGTERM, still a target of kube-proxy", "and terminationGracePeriodSeconds:"}},
		{"alb-without-prestop", behind("alb-ip"), rollout.Loses,
			[]string{"the program has exited, still a target of alb-ip",
				"preStop: {sleep: {seconds: 71}} and terminationGracePeriodSeconds: 76"}},
		{"metrics-server-without-readiness", once(""), rollout.Loses,
			[]string{"has no readinessProbe", "Not simulated: evictions"}},
		{"request-of-the-poststart-hook", once("start 3s"), never,
			[]string{"The postStart hook of container app kills the program before it is up, again and again.",
				"Fix: a hook that waits until the program is up"}},
		{"request-of-the-poststart-hook", once(""), none,
			[]string{"Not simulated: whether container app listens when the kubelet sends the request of its " +
				"postStart hook"}},
		{"dapr-sidecar", scale(2, ""), none,
			[]string{"loses no simulated request", "Dapr adds a proxy (dapr.io/enabled)"}},
		{"php-fpm-beside-nginx", once(""), rollout.Loses,
			[]string{"preStop: {sleep: {seconds: 12}} in phpfpm and nginx: always enough"}},
		{"leaders-and-anti-affinity", once(""), none,
			[]string{waits, "(--leader-election=true of container csi-provisioner, --leader-election of container " +
				"csi-resizer)", "strategy Recreate stops them first"}},
		{"surge-0-and-20-percent-of-1", rollout.Options{Runs: 20, App: start(5, 5).App}, rollout.Loses,
			[]string{"maxUnavailable 1 lets the Deployment stop the only old pod at once",
				"fix maxSurge: 1 and maxUnavailable: 0 and preStop: {sleep: {seconds: 12}}: always enough"}},
		{"port-of-no-container", once(""), rollout.Loses,
			[]string{"Not simulated: which container listens at port 10080 of Service envoy: none has it among its " +
				"ports", "how long the preStop hook takes"}},
		{"cilium-sends-to-terminating-pods", rollout.Options{}, none,
			[]string{"loses no simulated request", "The Envoy of Cilium is in front", "service.cilium.io/lb-l7",
				"stops the program 10s after the deletion"}},
		{"nginx-quits-beside-an-old-cronjob", once(""), rollout.Loses,
			[]string{"The preStop hook of container positron-web stops the program at once.",
				"Not rolled out: an invalid CronJob"}},
		{"shell-without-c", once(""), rollout.Loses,
			[]string{"The preStop hook of container haproxy fails at once: without -c, the shell looks for a file",
				"leads through nlb-ip"}},
		{"sleep-of-90s-of-30", rollout.Options{}, none,
			[]string{"leads through ingress-nginx",
				"The preStop hook takes 1m30s, and terminationGracePeriodSeconds 30 " +
					"ends it", "Raise it to 95."}},
		{"one-pod-on-purpose", once(""), rollout.Loses,
			[]string{"an outage: no pod is a target of kube-proxy",
				"Unlike Recreate, a rolling update lets old and new pods run at once."}},
		{"surge-0-waits-for-the-port", rollout.Options{}, rollout.Loses,
			[]string{"Not simulated: port 8080 of a node (hostNetwork of container app)"}},
	} {
		t.Run(c.file, func(t *testing.T) {
			t.Parallel()
			c.Runs, c.Rate, c.Delays, c.Latency = cmp.Or(c.Runs, 3), 100, "typical",
				*interval(10*time.Millisecond, 50*time.Millisecond)
			data, err := os.ReadFile(filepath.Join("testdata/reports", c.file+".yaml"))
			if err != nil {
				t.Fatal(err)
			}
			text, verdict := "", rollout.Verdict("")
			if r, err := rollout.Run([]input.File{{Name: c.file + ".yaml", Data: data}}, nil, c.Options); err != nil {
				text = err.Error()
			} else {
				var b bytes.Buffer
				render.Document(r).Write(&b, "text", document.Options{})
				text, verdict = strings.Join(strings.Fields(b.String()), " "), r.Workloads[0].Verdict
			}
			if verdict != c.verdict {
				t.Errorf("verdict %q, want %q", verdict, c.verdict)
			}
			for _, s := range c.says {
				if !strings.Contains(text, s) {
					t.Errorf("does not say %q", s)
				}
			}
			if t.Failed() {
				t.Log(text)
			}
		})
	}
}

// A quota decides only if the pods of the Deployment alone need more than it has, and no old pod
// may be stopped first.
func TestQuotas(t *testing.T) {
	m := manifest{replicas: 3, container: "resources: {requests: {cpu: 500m}, limits: {cpu: '1', memory: 1Gi}}"}
	for _, c := range []struct {
		spec, quota string
		verdict     rollout.Verdict
		reason      string
	}{
		{"", "hard: {requests.cpu: '2', limits.cpu: '4', limits.memory: 4Gi, pods: '4'}", rollout.LosesNone, ""},
		{"", "hard: {requests.cpu: 1999m}", rollout.NeverCompletes,
			"whose requests.cpu 1999m is less than the 2 of 4 pods"},
		{"", "hard: {limits.memory: 4000Mi}", rollout.NeverCompletes,
			"whose limits.memory 4000Mi is less than the 4Gi of 4 pods"},
		{"", "hard: {pods: '3'}\n  scopes: [BestEffort]", rollout.LosesNone, ""},
		{"strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 1}}", "hard: {pods: '3'}", rollout.LosesNone, ""},
		{"strategy: {type: Recreate}", "hard: {pods: '3'}", rollout.LosesNone, ""},
	} {
		m.spec = c.spec
		deployment, _, _ := strings.Cut(string(m.file().Data), "---\n")
		data := deployment + "---\napiVersion: v1\nkind: ResourceQuota\nmetadata: {name: quota}\nspec:\n  " + c.quota +
			"\n"
		r, err := rollout.Run([]input.File{{Name: "web.yaml", Data: []byte(data)}}, nil, rollout.Options{Runs: 1})
		if err != nil {
			t.Fatal(err)
		}
		if w := r.Workloads[0]; w.Verdict != c.verdict || !strings.Contains(w.Reason, c.reason) {
			t.Errorf("%s, %s: %s: %s", c.spec, c.quota, w.Verdict, w.Reason)
		}
	}
}

// The start of an init container is how long it runs, and that of a sidecar how long its probes
// fail.
func TestStartsOfInitContainers(t *testing.T) {
	minute := value.Durations{Of: map[string]value.Interval{"first": {Min: time.Minute, Max: time.Minute}}}
	for _, first := range []string{"{name: first, image: first}",
		"{name: first, image: first, restartPolicy: Always, startupProbe: {tcpSocket: {port: 9}, " +
			"failureThreshold: 90}}"} {
		data := strings.Replace(string(manifest{}.file().Data), "      containers:", "      initContainers: ["+first+
			"]\n      containers:", 1)
		r, err := rollout.Run([]input.File{{Name: "web.yaml", Data: []byte(data)}}, nil,
			rollout.Options{Runs: 3, App: rollout.App{Start: minute}})
		if err != nil {
			t.Fatal(err)
		}
		if takes := r.Workloads[0].Rows[0]; takes.Least < 60 || takes.Greatest > 75 {
			t.Errorf("%s: a rollout takes %+v", first, takes)
		}
	}
}
