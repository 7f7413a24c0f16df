package random

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"probesim.dev/fakeruntime"
	"probesim.dev/internal/long"
)

// features are the features that must occur in random scenarios, by name.
var features = map[string]feature{
	"four containers":     firstPod(func(p *v1.Pod) bool { return len(p.Spec.Containers) == 4 }),
	"a volume":            firstPod(func(p *v1.Pod) bool { return len(p.Spec.Volumes) > 0 }),
	"another namespace":   firstPod(func(p *v1.Pod) bool { return p.Namespace == "prod" }),
	"grace period 0":      firstPod(func(p *v1.Pod) bool { return *p.Spec.TerminationGracePeriodSeconds == 0 }),
	"grace period 500":    firstPod(func(p *v1.Pod) bool { return *p.Spec.TerminationGracePeriodSeconds == 500 }),
	"two init containers": firstPod(func(p *v1.Pod) bool { return len(p.Spec.InitContainers) == 2 }),
	"a sidecar before an init container": firstPod(func(p *v1.Pod) bool {
		return len(p.Spec.InitContainers) > 1 && p.Spec.InitContainers[0].RestartPolicy != nil
	}),
	"a finalizer":         firstPod(func(p *v1.Pod) bool { return len(p.Finalizers) > 0 }),
	"a removed finalizer": matches(`finalizers: null`),
	"a deadline":          firstPod(func(p *v1.Pod) bool { return p.Spec.ActiveDeadlineSeconds != nil }),
	"a readiness gate":    firstPod(func(p *v1.Pod) bool { return len(p.Spec.ReadinessGates) > 0 }),
	"a container with policy Always in a pod with policy Never": func(f *facts) bool {
		return slices.ContainsFunc(f.pods[0].Pod.Spec.Containers, func(c v1.Container) bool {
			return c.RestartPolicy != nil && *c.RestartPolicy == v1.ContainerRestartPolicyAlways &&
				f.pods[0].Pod.Spec.RestartPolicy == v1.RestartPolicyNever
		})
	},
	"a rule for exit codes":     anyContainer(func(c *v1.Container) bool { return len(c.RestartPolicyRules) > 0 }),
	"a rule for all containers": matches(`action: RestartAllContainers`),
	"a rule of a sidecar": anyContainer(func(c *v1.Container) bool {
		return len(c.RestartPolicyRules) > 0 && *c.RestartPolicy == v1.ContainerRestartPolicyAlways
	}),
	"a rule for all other exit codes": matches(`operator: NotIn, values: \[\d`),
	"an init container that never restarts": anyContainer(func(c *v1.Container) bool {
		return c.RestartPolicy != nil && *c.RestartPolicy == v1.ContainerRestartPolicyNever
	}),
	"a postStart command":                      matches(`lifecycle: \{postStart: \{exec`),
	"a preStop command":                        matches(`preStop: \{exec`),
	"a postStart request":                      matches(`lifecycle: \{postStart: \{httpGet`),
	"a preStop request":                        matches(`preStop: \{httpGet`),
	"a hook over HTTPS":                        matches(`preStop: \{httpGet: \{[^}]*scheme: HTTPS`),
	"a hook that the kubelet does not support": matches(`(postStart|preStop): \{tcpSocket`),
	"a hook that is redirected":                matches(`(postStart|preStop): moved\}`),
	"a hook whose connection fails":            matches(`(postStart|preStop): reset\}`),
	"a hook with an unknown port":              matches(`(postStart|preStop): \{httpGet: \{[^}]*port: nowhere`),
	"a sleep of 0s":                            matches(`sleep: \{seconds: 0\}`),
	"a long sleep":                             matches(`sleep: \{seconds: 1\d\}`),
	"a postStart hook that fails":              matches(`postStart: (fail|down|error|\d+)\}`),
	"a postStart hook that hangs":              matches(`postStart: hang\}`),
	"a slow preStop hook":                      matches(`preStop: ok in`),
	"a preStop hook that fails":                matches(`preStop: (fail|down|error|\d+)\}`),
	"a preStop hook that hangs":                matches(`preStop: hang\}`),
	"an init container that fails": anyInit(false, does(func(r *fakeruntime.Rule) bool {
		return r.Exit != nil && r.Exit.Code != 0
	})),
	"an init container that takes long": anyInit(false, does(func(r *fakeruntime.Rule) bool {
		return r.Exit != nil && r.From.Min > 20*time.Second
	})),
	"a sidecar that ends": anyInit(true, does(func(r *fakeruntime.Rule) bool {
		return r.Exit != nil && r.Clock != fakeruntime.AfterSigterm
	})),
	"a sidecar that stops late": anyInit(true, does(func(r *fakeruntime.Rule) bool {
		return r.Exit != nil && r.Clock == fakeruntime.AfterSigterm && r.From.Min > 0
	})),
	"a sidecar whose probes fail": anyInit(true, does(func(r *fakeruntime.Rule) bool {
		return r.Liveness != nil || r.Probes != nil
	})),
	"three pods":             func(f *facts) bool { return len(f.pods) == 3 },
	"a pod that comes later": func(f *facts) bool { return f.pods[len(f.pods)-1].At > 0 },
	"a pull": anyContainer(func(c *v1.Container) bool {
		return c.ImagePullPolicy == v1.PullAlways
	}),
	"an env reference": matches(`command:.*\$\(`),

	"a period of 1s":                anyProbe(func(p *v1.Probe) bool { return p.PeriodSeconds == 1 }),
	"a period of minutes":           anyProbe(func(p *v1.Probe) bool { return p.PeriodSeconds > 600 }),
	"a timeout equal to the period": anyProbe(func(p *v1.Probe) bool { return p.TimeoutSeconds == p.PeriodSeconds }),
	"a timeout beyond the period":   anyProbe(func(p *v1.Probe) bool { return p.TimeoutSeconds > p.PeriodSeconds }),
	"a long initial delay":          anyProbe(func(p *v1.Probe) bool { return p.InitialDelaySeconds > 30 }),
	"failureThreshold 1":            anyProbe(func(p *v1.Probe) bool { return p.FailureThreshold == 1 }),
	"failureThreshold 100":          anyProbe(func(p *v1.Probe) bool { return p.FailureThreshold == 100 }),
	"successThreshold 4":            anyProbe(func(p *v1.Probe) bool { return p.SuccessThreshold == 4 }),
	"a probe's own grace period":    anyProbe(func(p *v1.Probe) bool { return p.TerminationGracePeriodSeconds != nil }),

	"exec": anyProbe(func(p *v1.Probe) bool { return p.Exec != nil }),
	"gRPC over TLS": matches(`GRPCContainerProbeTLS: true(.|\n)*mode: TLS|mode: TLS(.` +
		`|\n)*GRPCContainerProbeTLS: true`),
	"a host that resolves":         matches(`host: localhost[,}]`),
	"a host that does not resolve": matches(`host: shop`),
	"a stop signal":                matches(`stopSignal: SIGQUIT(.|\n)*ContainerStopSignals: true`),
	"HTTP/2 without TLS":           matches(`protocol: HTTP2(.|\n)*H2CContainerProbe: true`),
	"httpGet":                      anyProbe(func(p *v1.Probe) bool { return p.HTTPGet != nil }),
	"tcpSocket":                    anyProbe(func(p *v1.Probe) bool { return p.TCPSocket != nil }),
	"grpc":                         anyProbe(func(p *v1.Probe) bool { return p.GRPC != nil }),
	"a gRPC health status": anyAnswer(func(a *fakeruntime.Answer) bool {
		return a.Status == "SERVICE_UNKNOWN"
	}),
	"HTTPS": anyProbe(func(p *v1.Probe) bool {
		return p.HTTPGet != nil && p.HTTPGet.Scheme == v1.URISchemeHTTPS
	}),
	"a host": anyProbe(func(p *v1.Probe) bool {
		return p.HTTPGet != nil && p.HTTPGet.Host != ""
	}),
	"a header": anyProbe(func(p *v1.Probe) bool {
		return p.HTTPGet != nil && len(p.HTTPGet.HTTPHeaders) > 0
	}),
	"a named port":    matches(`port: web`),
	"an unknown port": matches(`port: nowhere`),
	"a redirect": anyAnswer(func(a *fakeruntime.Answer) bool {
		return a.Location != "" && a.Then != nil
	}),
	"a redirect to itself": anyAnswer(func(a *fakeruntime.Answer) bool {
		return a.Then != nil && a.Then.Then == a.Then
	}),
	"a redirect elsewhere": anyAnswer(func(a *fakeruntime.Answer) bool {
		return a.Location != "" && a.Then == nil
	}),
	"a transport error":      anyAnswer(func(a *fakeruntime.Answer) bool { return a.TransportError != "" }),
	"a body that ends late":  anyAnswer(func(a *fakeruntime.Answer) bool { return a.BodyEnd != nil }),
	"a body that never ends": anyAnswer(func(a *fakeruntime.Answer) bool { return a.BodyOpen }),
	"different handlers":     anyContainer(func(c *v1.Container) bool { return handlerCount(c) > 1 }),

	"after":                            matches(`\{after: `),
	"at":                               matches(`- \{at: .*(probes|liveness|readiness|startup): `),
	"afterSigterm":                     matches(`afterSigterm: .*(probes|liveness|readiness|startup): `),
	"for":                              matches(`\bfor: `),
	"every":                            matches(`\bevery: `),
	"one instance":                     matches(`instance: \d,`),
	"later instances":                  matches(`instance: \d\.\.,`),
	"first instances":                  matches(`instance: \.\.\d,`),
	"different answers for two probes": matches(`: (fail|down|hang|error), (probes|liveness|readiness|startup): `),

	"fail":                             matches(`: fail[,}]`),
	"down":                             matches(`: down[,}]`),
	"hang":                             matches(`: hang[,}]`),
	"stall":                            matches(`: stall[,}]`),
	"error":                            matches(`: error[,}]`),
	"warn":                             matches(`: warn[,}]`),
	"a code":                           matches(`(probes|liveness|readiness|startup): \d+\}`),
	"a series that repeats":            matches(`x\d.*, repeat\]`),
	"a series that ends":               matches(`x\d, [a-z0-9]+\]\}`),
	"a latency equal to the timeout":   besideTimeout(0, 0),
	"a latency just below the timeout": besideTimeout(-50*time.Millisecond, -1),
	"a latency just above the timeout": besideTimeout(1, 50*time.Millisecond),
	"a latency above 2m":               latency(func(d time.Duration) bool { return d > 2*time.Minute }),
	"a body of several lines": anyAnswer(func(a *fakeruntime.Answer) bool {
		return strings.Contains(a.Body, "\n")
	}),
	"a body above 10 KiB": anyAnswer(func(a *fakeruntime.Answer) bool { return len(a.Body) > 10<<10 }),
	"ignoreTimeout":       anyAnswer(func(a *fakeruntime.Answer) bool { return a.IgnoreTimeout }),

	"a slow start":   matches(`- \{for: [^,]*, `),
	"a crash loop":   matches(`- \{after: \d+ms, exit: [1-9]`),
	"one crash":      matches(`\{instance: 0, after: [^,]*, exit: [1-9]`),
	"a crash at":     matches(`- \{at: [^,]*, exit: [1-9]`),
	"an end":         matches(`\{after: [^,]*, exit: 0\}`),
	"a slow stop":    matches(`afterSigterm: \d\ds, exit`),
	"a refused stop": matches(`afterSigterm: 0s, exit: never`),

	"a young kubelet":         matches(`uptime: \d\.`),
	"an old kubelet":          matches(`uptime: 1h`),
	"delays of the node":      func(f *facts) bool { return f.scenario.Spec.Delays != nil },
	"delays of a pod":         func(f *facts) bool { return f.scenario.Spec.Pods[0].Delays != nil },
	"delays of a container":   matches(`\n {10}delays:`),
	"a time in whole seconds": matches(`(at|after): \d+s`),
	"a time in nanoseconds":   matches(`(at|after): [\dm]*\d*\.\d{9}s`),

	"a graceful deletion": matches(`- \{at: [^,]*, delete: \{(pod: [a-z]*)?\}\}`),
	"a short deletion":    matches(`- \{at: [^,]*, delete: \{.*gracePeriodSeconds: [1-5]\}\}`),
	"a forced deletion":   matches(`- \{at: [^,]*, delete: \{.*gracePeriodSeconds: 0\}\}`),
	"two deletions": func(f *facts) bool {
		return len(f.scenario.Spec.Steps) == 2 && len(f.pods) == 1
	},
	"a deletion immediately after a record": matches(`since: .*record: .*\}, delete`),
	"a deletion after a change":             matches(`since: .*becomes: .*after: `),

	"a kill":                            matches(`, kill: \{pod: [a-z]*, container: [a-z]*\}`),
	"a kill immediately after a moment": matches(`since: .*\}, kill: `),
	"a lost container":                  matches(`kill: \{.*remove: true`),
	"another label":                     matches(`patch: \{.*(labels|annotations): \{release: `),
	"another image":                     matches(`patch: \{.*image: .app:2`),
	"an eviction":                       matches(`evict: \{pod`),
	"a restart":                         matches(`restartKubelet: \{\}`),
	"a reboot":                          matches(`rebootNode: \{`),
	"a shutdown":                        matches(`shutdownNode: \{\}`),
	"shutdown periods":                  matches(`shutdownGracePeriodByPodPriority: `),
	"a critical pod":                    matches(`priority: 2000000000\n`),
	"a sync frequency":                  matches(`syncFrequency: `),
	"a short back-off":                  matches(`maxContainerRestartPeriod: `),
	"a long downtime":                   matches(`restartKubelet: \{downtime: \d\ds`),
	"delays for a time":                 matches(`setDelays: \{for: .*delays: \{[a-z]+`),
	"permanent delays":                  matches(`setDelays: \{delays: `),
	"an API outage":                     matches(`apiDown: \{for: `),
	"a permanent API outage":            matches(`apiDown: \{\}`),
	"a runtime outage":                  matches(`runtimeDown: \{for: [^,]*\}`),
	"no network":                        matches(`runtimeDown: \{.*condition: NetworkReady`),
	"an unready runtime":                matches(`runtimeDown: \{.*condition: RuntimeReady`),
	"a gate that opens":                 matches(`status: \{conditions: \[\{type: example.com/open, status: "True"`),
	"a gate that closes":                matches(`status: \{conditions: \[\{type: example.com/open, status: "False"`),
	"a deleted gate":                    matches(`\{\$patch: delete, type: example.com/open`),
}

// TestFeatures checks that each feature, and each combination of probes with each restart policy,
// occurs in 700 scenarios.
func TestFeatures(t *testing.T) {
	count := map[string]int{}
	for seed := uint64(1); seed <= 700; seed++ {
		data := Scenario(seed)
		s := load(t, seed, data)
		f := &facts{text: string(data), scenario: s, pods: s.Plans()[0].Pods()}
		for name, has := range features {
			if has(f) {
				count[name]++
			}
		}
		for _, p := range f.pods {
			for i := range p.Pod.Spec.Containers {
				count[string(p.Pod.Spec.RestartPolicy)+" "+probesOf(&p.Pod.Spec.Containers[i])]++
			}
		}
		if len(s.Spec.Expect) > 0 || s.Spec.Seeds != nil || strings.Contains(f.text, "chance") {
			t.Errorf("seed %d: the scenario has seeds, chances or expectations", seed)
		}
	}
	for name := range features {
		if count[name] == 0 {
			t.Errorf("no scenario has %s", name)
		}
	}
	for _, policy := range []string{"Always", "OnFailure", "Never"} {
		for _, has := range []string{"", "L", "R", "S", "LR", "LS", "RS", "LRS"} {
			if count[policy+" "+has] == 0 {
				t.Errorf("no container has the restart policy %s and the probes %q", policy, has)
			}
		}
	}
	t.Log(count)
}

// lateFeatures are the features that must occur in random scenarios with the option Late.
var lateFeatures = map[string]feature{
	"a static pod":                       matches(`static: true`),
	"a changed manifest":                 matches(`setManifest: \{`),
	"a removed manifest":                 matches(`removeManifest: \{`),
	"pulls in parallel":                  matches(`serializeImagePulls: false\}`),
	"a limit of pulls":                   matches(`maxParallelImagePulls: \d`),
	"an outage of the registry":          matches(`registryDown: \{`),
	"slow mounts":                        matches(`volumeMount: (.|\n)*mountPath: |mountPath: (.|\n)*volumeMount: `),
	"an ephemeral container":             matches(`debug: \{`),
	"an ephemeral container's pull":      matches(`debug: \{.*imagePullPolicy: Always`),
	"an ephemeral container that ends":   matches(`name: debugger\n *behavior:\n *- \{.*exit: `),
	"a target of an ephemeral container": matches(`targetContainerName: `),
	"a resize":                           matches(`resize: \{pod: \w+, spec: \{containers: `),
	"a resize of an init container":      matches(`resize: \{pod: \w+, spec: \{initContainers: `),
	"a resize that restarts": matches(`resizePolicy:\s*- \{resourceName: \w+, restartPolicy: ` +
		`RestartContainer\}`),
	"a run over 20 minutes": func(f *facts) bool {
		return f.scenario.Plans()[0].Duration > 20*time.Minute
	},
	"a crowd":                        matches(`replicas: [2-6]\d\n *stagger: 0s`),
	"replicas one after the other":   matches(`replicas: \d\n *stagger: \S*[1-9]`),
	"a deleted crowd":                matches(`delete: \{pod: crowd\}`),
	"a job with replicas":            matches(`kind: Job\n`),
	"a rule with since":              matches(`- \{since: \{.*\}, (for|exit|after: \S+, (for|exit))`),
	"an answer of another container": matches(`answeredBy: `),
	"a rule with an endpoint":        matches(`endpoints: \{`),
	"the network of the node":        matches(`hostNetwork: true`),
	"three volumes":                  matches(`volumes:\n( *- \{name: \w+, emptyDir: \{\}\}\n){3}`),
	"a slow return":                  matches(`stopReturn: `),
	"a kill with SIGTERM":            matches(`signal: SIGTERM`),
	"a kill of an init container":    matches(`kill: \{.*container: (migrate|mesh|warm)`),
	"another image of a sidecar":     matches(`patch: \{.*initContainers: `),
	"a failed call":                  matches(`failCall: \{call: `),
	"a lost answer":                  matches(`failCall: \{call: [^}]*effect: done`),
}

// TestLateFeatures checks that each feature occurs, and that the other scenarios stay the same.
func TestLateFeatures(t *testing.T) {
	count, same, all := map[string]int{}, 0, long.Sample(200, 700)
	for seed := uint64(1); seed <= uint64(all); seed++ {
		data := Options{Late: true}.Scenario(seed)
		s := load(t, seed, data)
		f := &facts{text: string(data), scenario: s, pods: s.Plans()[0].Pods()}
		for name, has := range lateFeatures {
			if has(f) {
				count[name]++
			}
		}
		if string(data) == string(Scenario(seed)) {
			same++
		}
	}
	for name := range lateFeatures {
		if count[name] == 0 {
			t.Errorf("no scenario has %s", name)
		}
	}
	if same < all/10 {
		t.Errorf("only %d of %d scenarios have none of the features", same, all)
	}
	t.Log(same, count)
}

// TestDraws checks that scenarios with seeds have ranges and chances.
func TestDraws(t *testing.T) {
	all := ""
	for seed := uint64(1); seed <= 100; seed++ {
		all += string(Options{Seeds: 4}.Scenario(seed))
	}
	for _, pattern := range []string{
		`seeds: 1\.\.4\n`, `chance: \d+%`, `(after|at): \S+s\.\.\S+s`, `in \S+s\.\.\S+s`, `every: \S+s\.\.\S+s`,
		`uptime: \S+s\.\.`,
	} {
		if !regexp.MustCompile(pattern).MatchString(all) {
			t.Errorf("no scenario has %s", pattern)
		}
	}
}
