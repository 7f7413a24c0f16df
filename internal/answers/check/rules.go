package check

import (
	"fmt"
	"slices"
	"strings"

	"probesim.dev/internal/strict"
)

// Rule describes a kind of finding.
type Rule struct {
	ID       FindingID
	Severity string // one severity, or when it has which
	Text     string // what is wrong, in a sentence
	Kubelet  string // how the kubelet behaves, and what comes of it
	Do       string // what to do
}

// Rules returns the kinds of findings, those most worth a change first.
func Rules() []Rule { return slices.Clone(rules) }

// FindRule returns the rule of an ID. The error suggests another one.
func FindRule(id string) (Rule, error) {
	var known []string
	for _, r := range rules {
		if string(r.ID) == id {
			return r, nil
		}
		known = append(known, string(r.ID))
	}
	return Rule{}, fmt.Errorf("there is no finding %s%s: the findings are %s", strict.Quote(id),
		strict.DidYouMean(id, known), strings.Join(known, ", "))
}

var rules = []Rule{
	{
		ID: BrokenProbe, Severity: "error",
		Text: "A probe can never run, for example because its named port does not exist.",
		Kubelet: "The kubelet looks up a named port in the ports of the same container each time that the probe " +
			"runs. Without it, the run has neither a success nor a failure: a readiness probe never makes the " +
			"container Ready, a startup probe never lets the others begin, and a liveness probe never restarts a " +
			"program that hangs.",
		Do: "Correct the name, or add it to the ports of the container. The figures of the report leave the " +
			"probe out.",
	},
	{
		ID: ProbeHost, Severity: "error; warning for another machine, and for a preStop hook",
		Text: "A probe or a hook with host asks the node or another machine, and not its container.",
		Kubelet: "The kubelet runs HTTP and TCP probes on the node. So localhost and 127.0.0.1 are the node, where " +
			"nothing listens on the port unless another program does, and the probe is refused. Only with " +
			"hostNetwork the node is the pod. Another host is another machine: its answers say nothing about the " +
			"container, and its outage counts against the container.",
		Do: "Remove host. The kubelet then asks the IP of the pod. The figures of the report leave the probe " +
			"out; 'probesim run' takes a hook as one that the program answers.",
	},
	{
		ID: StartKilled, Severity: "error",
		Text: "Some of the starts that --start names are killed.",
		Kubelet: "The kubelet counts failures of the startup probe, or of the liveness probe without one, from the " +
			"first run after the start of the container. This run falls anywhere in a period. So the limit is about " +
			"a period shorter than initialDelaySeconds + periodSeconds x failureThreshold, and a start between the " +
			"two ends of the row start is a coin flip. A killed start begins again, and the back-off between " +
			"restarts grows to 5 minutes.",
		Do: "Raise failureThreshold of the startup probe, or add a startup probe and leave the liveness probe " +
			"as it is. 'probesim tune' finds the smallest change.",
	},
	{
		ID: StartTight, Severity: "warning",
		Text: "No start of --start is killed, but the longest one has a margin of less than one period.",
		Kubelet: "As for start-killed. A start that is a little longer than you know today, on a busy node for " +
			"example, is killed.",
		Do: "Raise failureThreshold of the startup probe. A long limit costs nothing while the program starts " +
			"well.",
	},
	{
		ID: ExecTimeout, Severity: "warning; note for readiness",
		Text: "A command has the default timeout of 1 s.",
		Kubelet: "A command starts a process in the container. On a busy node this alone can take a second. A " +
			"command that ends later is a failure, although it may succeed.",
		Do: "Set timeoutSeconds to several times what the command takes, and periodSeconds above it.",
	},
	{
		ID: ShortGrace, Severity: "warning; error with --stop",
		Text: "The program has less time between SIGTERM and SIGKILL than --stop says that it takes, or after the " +
			"preStop hook less than 5 s.",
		Kubelet: "terminationGracePeriodSeconds begins with the preStop hook, not with SIGTERM. If the hook uses all " +
			"of it, the kubelet allows 2 s more, and sends SIGKILL.",
		Do: "Raise terminationGracePeriodSeconds by what the hook takes, or shorten the hook. Say how long the " +
			"program takes to exit with --stop: the answer is exact then.",
	},
	{
		ID: OneFailure, Severity: "warning",
		Text: "A single failure of the liveness probe kills the container.",
		Kubelet: "failureThreshold counts failures in a row. With 1, one answer that is later than timeoutSeconds is " +
			"enough, for example in a garbage collection, or while the node is busy.",
		Do: "Set failureThreshold to 3, the default. A shorter period makes up for the time.",
	},
	{
		ID: NoReadiness, Severity: "warning; only with --start",
		Text: "Without a readiness probe, the pod gets traffic before the program is up.",
		Kubelet: "A container without a readiness probe is ready as soon as it runs, or as soon as its startup probe " +
			"has succeeded. A Service sends requests to the pod from then on. Without a startup probe this is before " +
			"the program is up, in each rollout and after each restart.",
		Do: "Add a readiness probe that asks whether the program can serve. The verdict names the workloads " +
			"without one in any case. Jobs and sidecars need none.",
	},
	{
		ID: ShortRestart, Severity: "warning; note for rare cases",
		Text: "A start after a kill or a crash has much less time than the first one.",
		Kubelet: "The probe goes on at the same ticks. A failure shortly before the next start, while the container " +
			"waits for it, can count for the next instance too: its start begins with failures that are counted " +
			"already.",
		Do: "Choose failureThreshold so that the shortest restart is long enough, not only the first start. " +
			"'probesim check --require restart>=70s' keeps it so.",
	},
	{
		ID: LongTimeout, Severity: "warning; note for a startup probe",
		Text: "Runs of a probe are skipped while the program hangs, because the timeout is not less than the " +
			"period.",
		Kubelet: "The kubelet runs a probe again only after the last run has ended. A program that hangs lets each " +
			"run last until timeoutSeconds, so failureThreshold failures take longer than the periods say.",
		Do: "Make timeoutSeconds less than periodSeconds, or count with the longer time.",
	},
	{
		ID: NoStartupProbe, Severity: "note",
		Text: "There is no startup probe, so the liveness probe can stop a start. The report says from which " +
			"length on.",
		Kubelet: "Without a startup probe, the liveness probe runs from initialDelaySeconds on. A program that is " +
			"not up yet refuses it, and after failureThreshold failures the kubelet stops the container.",
		Do: "Say how long a start takes with --start: the answer is exact then. If it can take longer than the " +
			"limit, add a startup probe, and leave the liveness probe as it is.",
	},
	{
		ID: NoTimeToRecover, Severity: "note; once for each workload",
		Text: "The liveness probe can kill the container before the readiness probe takes it out of its Service.",
		Kubelet: "The two probes count their failures independently. If both ask the same endpoint, they fail " +
			"together, also for a database behind it that is away. Then an outage kills the container, and often " +
			"all containers of the workload at once, where leaving the Service would have been enough.",
		Do: "Give the liveness probe more failures than the readiness probe, or an endpoint that depends on " +
			"nothing else.",
	},
	{
		ID: OtherEndpoint, Severity: "note",
		Text: "The startup probe asks something else than the probe that follows it, so its success does not say " +
			"that this one succeeds.",
		Kubelet: "Once the startup probe has succeeded, the liveness probe counts its failures. A port that accepts " +
			"connections, or a page that is served early, can come before the endpoint of the liveness probe, and " +
			"the failures in between can kill the container.",
		Do: "Let the startup probe ask what the liveness probe asks.",
	},
	{
		ID: UndeclaredPort, Severity: "note",
		Text: "A probe asks a port that no container of the pod declares.",
		Kubelet: "The ports of a container are for people and for names: the kubelet asks a numeric port whether it " +
			"is declared or not. If nothing listens there, the probe is refused.",
		Do: "Compare the port with the one that the program listens on, and declare it, or correct the probe.",
	},
	{
		ID: NoProbes, Severity: "note; once for each workload",
		Text: "No container of the workload has a probe, except perhaps sidecars.",
		Kubelet: "A container without a readiness probe is ready as soon as it runs: in each rollout and after each " +
			"restart, a Service sends requests to it before its program is up. Without a liveness probe, the kubelet " +
			"restarts a program that exits, but never one that hangs.",
		Do: "Add a readiness probe that asks whether the program can serve. Say how long a start takes with " +
			"--start: the report says how long requests come too early. Ignore the finding for what serves nothing.",
	},
	{
		ID: ReadinessGate, Severity: "note",
		Text: "The pod is Ready only once somebody sets the condition of a readiness gate.",
		Kubelet: "The kubelet makes a pod Ready if its containers are ready and each condition of " +
			"spec.readinessGates is True. A controller sets them, such as the one of a load balancer. No probe does.",
		Do: "Make sure that the controller runs. A Deployment waits for it in each rollout. The time until " +
			"Ready leaves it out.",
	},
	{
		ID: TCPLiveness, Severity: "note",
		Text: "The liveness probe only connects, and does not notice a program that hangs.",
		Kubelet: "The kernel of the node accepts a connection on a listening socket, whatever the program does. The " +
			"kubelet closes it at once: a success.",
		Do: "Let the liveness probe ask over HTTP or gRPC, or run a command, if a hang should end in a restart.",
	},
	{
		ID: SlowReady, Severity: "note",
		Text: "A container that is up at once waits 15 s or longer to become Ready.",
		Kubelet: "initialDelaySeconds holds a probe back, also if the program is up. successThreshold adds periods, " +
			"and a postStart hook holds back all probes of the pod. Each pod of a rollout waits that long.",
		Do: "Drop the delay of the readiness probe: its failures during a start do no harm. Let a startup probe " +
			"wait for the program.",
	},
	{
		ID: AnswerTimeout, Severity: "note",
		Text: "HTTP or gRPC probes have the default timeout of 1 s.",
		Kubelet: "An answer that is later than timeoutSeconds is a failure, also if the program works. " +
			"failureThreshold slow answers in a row kill the container, or take its pod out of the Service, which " +
			"is when load makes answers slow.",
		Do: "Set timeoutSeconds to what a slow answer of a program that works may take. 'probesim check " +
			"--require answer>=2s' keeps it so.",
	},
	{
		ID: KubeletRestart, Severity: "note",
		Text: "A restart of a kubelet before v1.35 makes a healthy container not Ready for a second or longer.",
		Kubelet: "A kubelet with the feature gate ChangeContainerStatusOnKubeletRestart forgets the results of the " +
			"probes when it restarts. Until they succeed again, the pod gets no traffic.",
		Do: "Upgrade, or keep successThreshold and the delays of the readiness probe small.",
	},
	{
		ID: VersionsDiffer, Severity: "note",
		Text:    "A limit or a time differs between the versions of --kubernetes by more than 1.5 s and 5%.",
		Kubelet: "The rules of the prober change between versions. The report takes the worst.",
		Do:      "Choose settings that are enough in both versions before you upgrade.",
	},
}
