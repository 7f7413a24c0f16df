package verdict

import "regexp"

// phrase has the words for a ruling or a class. A word in braces stands for a value.
type phrase struct {
	says string // what is so
	do   string // what to do about it
	asks string // or the question that decides
	run  string // the command that answers it
}

const (
	logs       = "kubectl logs {podName}{namespace}{container}{previous}"
	describe   = "kubectl describe pod {podName}{namespace}"
	events     = "kubectl get events{namespace} --field-selector involvedObject.name={podName}"
	nodeEvents = "kubectl get events -A --field-selector involvedObject.kind=Node"
)

// The words of rules that do not say what their cause says.
var (
	openNode = phrase{says: "{name} ended{code}{after}: by itself, or because the node or its runtime lost it.",
		asks: "What do the last lines of its log say?", run: logs}
	openDeletion = phrase{says: "The kubelet stopped {name}: either for a failed probe, or because its pod was " +
		"deleted. The text does not say.", asks: "Which exit code and reason has its last state?", run: describe}
	openCode = phrase{says: "{name} ended{code}{after}: by itself, or because {by} killed it.",
		asks: "Is there a Killing event that names the probe? Or do the last lines of its log show an error?",
		run:  events}
	openFailed = phrase{says: "{name} restarts: either {by} kills it, or it ends by itself.",
		asks: "Do the last lines of its log show a crash, or do they just stop?", run: logs}
	openRestarts = phrase{says: "{name} has restarted{restarts}: either {by} killed it, or it ended by itself.",
		asks: "Which exit code and reason has its last state?", run: describe}
	evictedPod = phrase{says: "{name} was stopped because its pod was evicted{message}.",
		do: "Compare the requests and limits of the pod with what the message names."}
	stoppedPod = phrase{says: "{name} was stopped with its pod{message}.", asks: "Which deadline or node was it?",
		run: describe}
	refusedPod = phrase{says: "{pod} never ran: its node refused it, because it shuts down.",
		asks: "Why does the node shut down?", run: nodeEvents}
	preempted = phrase{says: "{name} was stopped because its pod was preempted: a pod of a higher priority needed " +
		"the node.", do: "Look at the priority classes."}
	allWell   = phrase{says: "Nothing is wrong now: everything is ready."}
	noTrouble = phrase{says: "The input shows no trouble.", asks: "What else does the cluster say about the pod?",
		run: describe}
	done      = phrase{says: "Nothing is wrong now. {name} has completed."}
	noFailure = phrase{says: "Nothing is wrong now. The {probe} probe of {name} has failed{often}, and not since: " +
		"it most likely succeeds now."}
	errored = phrase{says: "The {probe} probe of {name} ends in errors, which count neither as failures nor as " +
		"successes: it restarts nothing.", do: "Make the probe give a result: its command exceeds its timeout, or " +
		"the runtime cannot run it."}
	erroredReady = phrase{says: "Nothing is wrong now. {name} is ready. Its {probe} probe ends in errors, which " +
		"count neither as failures nor as successes."}
	redirected = phrase{says: "Nothing is wrong now. The {probe} probe of {name} gets a redirect to another host, " +
		"which counts as a success: it proves nothing."}
	nowAndThen = phrase{says: "The {probe} probe of {name} fails now and then{often}. Most runs succeed."}
	sandboxNew = phrase{says: "{name} most likely ended with its sandbox, which was replaced: the node or its " +
		"runtime restarted.", asks: "What happened to the node?", run: nodeEvents}
	lateStart = phrase{says: "{name} ended{code}{after} and started again only {what} later: most likely its node " +
		"or the kubelet was stopped.", asks: "What happened to the node?", run: nodeEvents}
	kubeletNew = phrase{says: "{name} was not ready for a moment because the kubelet restarted.",
		do: "Nothing, if the kubelet restarts rarely. Restarts of the kubelet make pods with a readiness probe not " +
			"ready for a moment."}
	notStarted = phrase{says: "{name} runs but is not ready: its startup probe has not succeeded yet.",
		asks: "What do the failures of the probe say?", run: events}
	notShown = phrase{says: "{name} runs and is not ready: its readiness probe, or a startup probe, has not " +
		"succeeded. The facts do not show its failures.", asks: "What do the failures of the probe say?", run: events}
)

// phrases has the sentences of causes, with or without their degree; what to do about an exit; and
// what the failures of a class mean, with what to do about them, in general and if a probe kills.
// Without a success in the recording, no duration is known, so none of them asks for a number.
var phrases = map[string]phrase{
	"livenessProbe":        {says: "{name} was killed by its liveness probe{kills}."},
	"livenessProbe likely": {says: "{name} was most likely killed by its liveness probe."},
	"startupProbe":         {says: "{name} was killed by its startup probe{kills}."},
	"startupProbe likely":  {says: "{name} was most likely killed by its startup probe."},
	"ownExit":              {says: "{name} ended by itself{code}{after}."},
	"ownExit likely":       {says: "{name} most likely ended by itself{code}{after}."},
	"outOfMemory": {says: "{name} was killed for memory (OOMKilled){after}.",
		do: "No probe setting changes this. Raise the memory limit, or find what grows."},
	"image": {says: "The image{image} cannot be pulled{tries}.",
		asks: "Why? The text does not say. The first Failed event does, within an hour of a change.", run: describe},
	"configuration": {says: "{name} cannot start: a part of its configuration is missing{message}.",
		do: "Create what is missing, or correct its name in the pod."},
	"cannotStart": {says: "{name} cannot be started: the runtime refuses its command or its mounts{message}.",
		do: "Compare the command, the arguments and the mounts with what is in the image."},
	"volume": {says: "A volume of {pod} cannot be mounted{message}.",
		do: "Look at the node, the storage, and what the message names."},
	"sandbox": {says: "The sandbox of {pod}, which has its network, cannot be made{message}.",
		do: "Look at the node, its network plugin, and what the message names."},
	"unschedulable": {says: "No node takes {pod}{message}.",
		do: "Compare the requests, the node selector and the tolerations of the pod with the nodes."},
	"postStartHook": {says: "{name} was killed because its postStart hook failed.",
		asks: "Why does the hook fail? The event FailedPostStartHook has its output.", run: describe},
	"postStartHook likely": {says: "{name} was most likely killed because its postStart hook failed.",
		asks: "Why does the hook fail? The event FailedPostStartHook has its output.", run: describe},
	"removed": {says: "{name} was stopped because its pod was deleted.",
		asks: "Who deleted it? Look at its workload.", run: "kubectl get events{namespace} --sort-by=.lastTimestamp"},
	"node likely": {says: "{name} most likely ended with its node or its runtime, which lost it.",
		asks: "What happened to the node?", run: nodeEvents},
	"notReady":        {says: "{name} runs but is not ready: its {probe} probe fails{often}."},
	"notReady likely": {says: "{name} is most likely not ready: its {probe} probe fails{often}."},
	"readinessGate": {says: "{name} is not Ready: {what} of its readiness gates is not set. Its containers " +
		"are ready.", do: "Look at the controller that sets the condition, such as that of a load balancer."},
	"failing": {says: "The {probe} probe of {name} fails{often}, and has not killed it yet."},
	"failing likely": {says: "The {probe} probe of {name} fails{often}. The text does not say whether it has " +
		"killed it."},
	"waiting": {says: "{name} waits ({state}), and the text does not say for what.",
		asks: "What does it wait for? The events say.", run: describe},
	"noFacts": {says: "The input has no facts about pods that incident can read.",
		asks: "What does the cluster say about the pod? Give incident the output.", run: describe},
	"nothing": {says: "Nothing is wrong now. {name} is ready. Its {probe} probe has failed{often} " +
		"before, which restarts nothing."},

	"exit unknown": {asks: "Which exit code and reason has its last state?", run: describe},
	"exit 0": {asks: "Its command ended without an error. Is it meant to go on? Its log says what it did.",
		run: logs},
	"exit": {asks: "Why did it end? The last lines of its log say.", run: logs},

	"failure 404": {says: "The server answers 404{path}: it runs, but has no such path.",
		do: "Correct the path of the probe, or make the program serve it. More time does not help."},
	"failure credentials": {says: "The server answers {status}{path}: it wants credentials, which the probe " +
		"does not send.", do: "Probe a path without credentials, or send them (httpHeaders). More time does not help."},
	"failure badRequest": {says: "The server answers {status}{path}: it runs, and refuses what the probe asks.",
		do: "Correct the path, the headers or the scheme of the probe. More time does not help."},
	"failure 5xx": {says: "The server answers {status}{path}: it says itself that it is not well.",
		asks: "What does it wait for? Its log says.", run: logs},
	"failure notServing": {says: "The server answers NOT_SERVING: it says itself that it is not well.",
		asks: "What does it wait for? Its log says.", run: logs},
	"failure refused": {says: "Nothing listened{port} (connection refused).",
		asks: "Does its log say that it listens? Compare the port and the address: 127.0.0.1 is not that of the pod.",
		run:  logs},
	"failure reset": {says: "The server closed the connection{port}: it crashed, or the port speaks " +
		"another protocol.", asks: "Does its log show a crash? If not, compare the port and the scheme.", run: logs},
	"failure timeout": {says: "The program took the connection and did not answer{within}.",
		do: "The program may be well, but slow: time the answer in the container, look for CPU throttling, and raise " +
			"timeoutSeconds."},
	"failure timeout of command": {says: "Its command did not end{within}.",
		do: "The program may be well, but slow: time the command in the container, look for CPU throttling, and " +
			"raise timeoutSeconds."},
	"failure dial": {says: "No connection came about{port}: the packets got no answer.",
		do: "Look at the network between node and pod, such as its policies, or at a program that is stuck before it " +
			"accepts."},
	"failure tls": {says: "The probe and the server do not agree on http or https, or on a certificate.",
		do: "Correct the scheme or the port of the probe. More time does not help."},
	"failure host": {says: "The host of the probe has no address.",
		do: "Leave out the host of the probe, so that it is that of the pod. More time does not help."},
	"failure command": {says: "The command of the probe cannot run: it is not in the image, or it has no " +
		"shell.", do: "Correct the command of the probe, or put it into the image. More time does not help."},
	"failure service": {says: "The server does not have the gRPC health service that the probe asks for.",
		do: "Correct the service of the probe, or add the health service to the program. More time does not help."},
	"failure output": {says: "Its command failed and wrote: {output}",
		asks: "What does it wait for? Its log says.", run: logs},
	"failure empty": {says: "Its command failed without an output: with an exit code other than 0, or " +
		"at its timeout.", asks: "How does the command end, and how long does it take? Compare with timeoutSeconds.",
		run: "kubectl exec {podName}{namespace}{container} -- sh -c 'time COMMAND'"},
	"failure other": {says: "The failure says: {output}", asks: "What does the program say about it?",
		run: logs},
	"failure ": {asks: "What do the failures of the probe say?", run: events},

	"kill refused": {asks: "Does its log end in the middle of the start? Then allow more time, with a startup " +
		"probe. If it says that it listens, compare the port and the address: 127.0.0.1 is not that of the pod.",
		run: logs},
	"kill 5xx": {do: "If it waits for something else, such as a database, take that out of the {probe} " +
		"probe: a restart does not mend it.", asks: "What does it wait for? Its log says.", run: logs},
	"kill 5xx startup": {asks: "Does its log end in the middle of the start? Then allow more time: failureThreshold " +
		"x periodSeconds of the startup probe. If not, it says for what it waits.", run: logs},
}

// imagePhrases say why an image cannot be pulled, by words of the message.
var imagePhrases = []struct {
	words *regexp.Regexp
	do    string
}{
	{regexp.MustCompile(`(?i)unauthorized|denied|authentication|forbidden`),
		"The registry refuses: it wants credentials (imagePullSecrets), or the image does not exist."},
	{regexp.MustCompile(`(?i)not found|manifest unknown|does not exist`),
		"The registry has no such image: correct the name or the tag."},
	{regexp.MustCompile(`(?i)toomanyrequests|rate limit`),
		"The registry limits the rate: use credentials or a mirror."},
	{regexp.MustCompile(`(?i)timeout|no such host|refused|no route|x509`),
		"The node does not reach the registry: look at its network, its DNS and its certificates."},
	{regexp.MustCompile(`(?i)invalidimagename|invalid reference`), "The name of the image is not valid: correct it."},
}
