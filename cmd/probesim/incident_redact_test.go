package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// marked is a recording in all formats, in which each text that comes from a user, an image or a
// node has a mark: zq and a number.
var marked = map[string]string{
	"cluster.json": `{"kind":"List","apiVersion":"v1","items":[
{"kind":"Pod","apiVersion":"v1","metadata":{"name":"zq01-pod","namespace":"zq02-ns","uid":"zq03-uid","creationTimestamp":"2024-05-18T21:00:00Z",
  "labels":{"zq04-label":"zq05-value"},"annotations":{"zq06.example.com/note":"zq07 note"},"finalizers":["zq08.example.com/keep"],
  "deletionTimestamp":"2024-05-18T21:09:00Z","deletionGracePeriodSeconds":30,
  "ownerReferences":[{"kind":"ReplicaSet","name":"zq09-owner","uid":"zq10-owner"}]},
 "spec":{"nodeName":"zq11-node","serviceAccountName":"zq12-account","hostname":"zq13-host","subdomain":"zq14-sub","schedulerName":"zq15-scheduler",
  "priorityClassName":"zq16-class","nodeSelector":{"zq17-key":"zq18-value"},"imagePullSecrets":[{"name":"zq19-secret"}],"runtimeClassName":"zq20-class",
  "hostAliases":[{"ip":"10.9.8.7","hostnames":["zq21-alias"]}],"readinessGates":[{"conditionType":"zq22.example.com/gate"}],
  "tolerations":[{"key":"zq23-key","value":"zq24-value"}],"volumes":[{"name":"zq25-volume","secret":{"secretName":"zq26-secret"}}],
  "initContainers":[{"name":"zq27-init","image":"zq28-image:zq29-tag","command":["zq30-command"]}],
  "containers":[{"name":"zq31-app","image":"zq32.example.com/zq33-image:zq34","command":["zq35-command"],"args":["--zq36-flag=zq37"],"workingDir":"/zq38",
   "env":[{"name":"ZQ39_NAME","value":"zq40-value"},{"name":"PASSWORD","value":"zq41-password"}],"envFrom":[{"secretRef":{"name":"zq42-secret"}}],
   "ports":[{"name":"zq43-port","containerPort":8080}],"volumeMounts":[{"name":"zq25-volume","mountPath":"/zq44"}],
   "livenessProbe":{"httpGet":{"path":"/zq45/health?token=zq46","port":"zq43-port","host":"zq47.example.com","httpHeaders":[{"name":"X-Zq48","value":"zq49"}]},"periodSeconds":5},
   "readinessProbe":{"exec":{"command":["sh","-c","curl zq50"]},"periodSeconds":5},
   "startupProbe":{"grpc":{"port":9090,"service":"zq51.service"},"failureThreshold":10},
   "lifecycle":{"postStart":{"exec":{"command":["zq52-hook"]}},"preStop":{"httpGet":{"path":"/zq53","port":"zq43-port","host":"zq54"}}}}]},
 "status":{"phase":"Running","reason":"Zq55Reason","message":"zq56 message","hostIP":"10.9.8.6","podIP":"10.9.8.5","nominatedNodeName":"zq57-node",
  "conditions":[{"type":"Ready","status":"False","reason":"Zq58Reason","message":"containers with unready status: [zq31-app]","lastTransitionTime":"2024-05-18T21:00:22Z"},
   {"type":"zq22.example.com/gate","status":"False","reason":"zq59","message":"zq60"},{"type":"zq61.example.com/other","status":"zq62","lastTransitionTime":"2024-05-18T21:00:21Z"}],
  "containerStatuses":[{"name":"zq31-app","image":"zq32.example.com/zq33-image:zq34","imageID":"zq32.example.com/zq33-image@sha256:zq63","containerID":"containerd://zq64",
   "ready":false,"restartCount":1,"state":{"waiting":{"reason":"Zq65Wait","message":"zq66 message"}},
   "lastState":{"terminated":{"exitCode":3,"reason":"zq67-reason","message":"zq68 message","containerID":"containerd://zq69","startedAt":"2024-05-18T21:00:02Z","finishedAt":"2024-05-18T21:00:40Z"}}},
   {"name":"zq70-unknown","ready":true,"restartCount":0,"state":{"running":{"startedAt":"2024-05-18T21:00:02Z"}}}]}},
{"kind":"Event","apiVersion":"v1","metadata":{"name":"zq01-pod.17d0af3ed8c1c800","uid":"zq71-event","labels":{"zq72":"zq73"}},"involvedObject":{"kind":"Pod","namespace":"zq02-ns","name":"zq01-pod","uid":"zq03-uid","fieldPath":"spec.containers{zq31-app}"},
 "type":"Normal","reason":"Started","message":"Started container zq31-app","source":{"component":"kubelet","host":"zq11-node"},"reportingInstance":"zq11-node","firstTimestamp":"2024-05-18T21:00:02Z","lastTimestamp":"2024-05-18T21:00:02Z","count":1},
EVENTS
{"kind":"ConfigMap","metadata":{"name":"zq74-config"},"data":{"a":"zq75"}},
{"kind":"Event","metadata":{"name":"zq76"},"involvedObject":{"kind":"Pod"},"reason":"Zq77"},
{"kind":"Deployment","apiVersion":"apps/v1","metadata":{"name":"zq78-deployment","namespace":"zq02-ns","labels":{"zq79":"zq80"}},
 "spec":{"selector":{"matchLabels":{"zq81":"zq82"}},"template":{"metadata":{"labels":{"zq81":"zq82"}},"spec":{"containers":[{"name":"zq83-app","image":"zq84","livenessProbe":{"exec":{"command":["zq85"]}}}]}}}},
{"kind":"Event","apiVersion":"v1","metadata":{"name":"zq78-deployment-abc.17d0af3ed8c1c801"},"involvedObject":{"kind":"Pod","namespace":"zq02-ns","name":"zq78-deployment-abc","fieldPath":"spec.containers{zq83-app}"},
 "type":"Warning","reason":"Unhealthy","message":"Liveness probe failed: zq86 output","firstTimestamp":"2024-05-18T21:00:30Z","lastTimestamp":"2024-05-18T21:00:50Z","count":3}
]}
`,
	"describe.txt": `Name:             zq01-pod
Namespace:        zq02-ns
Node:             zq11-node/10.9.8.6
Start Time:       Sat, 18 May 2024 21:00:00 +0000
Labels:           zq04-label=zq05-value
Annotations:      zq06.example.com/note: zq07 note
Status:           Running
IP:               10.9.8.5
Controlled By:    ReplicaSet/zq09-owner
Containers:
  zq31-app:
    Container ID:   containerd://zq64
    Image:          zq32.example.com/zq33-image:zq34
    Image ID:       zq32.example.com/zq33-image@sha256:zq63
    Port:           8080/TCP
    State:          Running
      Started:      Sat, 18 May 2024 21:00:41 +0000
    Last State:     Terminated
      Reason:       zq67-reason
      Message:      zq68 message
      Exit Code:    3
      Started:      Sat, 18 May 2024 21:00:02 +0000
      Finished:     Sat, 18 May 2024 21:00:40 +0000
    Ready:          False
    Restart Count:  1
    Liveness:       http-get http://zq47:zq43-port/zq45 delay=0s timeout=1s period=5s #success=1 #failure=3
    Readiness:      exec [sh -c curl zq50] delay=0s timeout=1s period=5s #success=1 #failure=3
    Environment:
      PASSWORD:     zq41-password
    Mounts:
      /zq44 from zq25-volume (ro)
Conditions:
  Type              Status
  Ready             False
Node-Selectors:     zq17-key=zq18-value
Tolerations:        zq23-key=zq24-value
Events:
  Type     Reason     Age                From               Message
  ----     ------     ----               ----               -------
  Warning  Unhealthy  10s (x3 over 20s)  kubelet, zq11-node Readiness probe failed: zq87 output of zq88
  Normal   Zq89       12s                zq90-controller    zq91 message
`,
	"watch.txt": `NAME       READY   STATUS             RESTARTS   AGE
zq01-pod   0/1     Zq92Status         0          5s
zq93-pod   0/1     CrashLoopBackOff   3          50s
zq94 zq95
`,
	"kubelet.log": `I0518 21:00:20.123456    1234 prober.go:107] "Probe failed" probeType="Readiness" pod="zq02-ns/zq01-pod" podUID="zq03-uid" containerName="zq31-app" probeResult="failure" output="zq96 output"
I0518 21:00:21.123456    1234 kubelet.go:2400] "SyncLoop (PLEG): event for pod" pod="zq02-ns/zq01-pod" event={"ID":"zq03-uid","Type":"ContainerDied","Data":"zq97"}
I0518 21:00:22.123456    1234 kubelet.go:2500] "SyncLoop (probe)" probe="readiness" status="" pod="zq02-ns/zq98-pod"
E0518 21:00:23.123456    1234 pod_workers.go:1300] "Error syncing pod, skipping" err="failed to \"StartContainer\" for \"zq31-app\" with CrashLoopBackOff: \"back-off 10s restarting failed container=zq31-app pod=zq01-pod_zq02-ns(zq03-uid)\"" pod="zq02-ns/zq01-pod" podUID="zq03-uid"
`,
	"cut.yaml": "apiVersion: v1\nkind: Pod\nmetadata: {name: zq99-pod, namespace: \"zq02-ns\n",
}

// markedEvents are events about the marked pod: the reason, the container, and the message.
var markedEvents = [][3]string{
	{"Scheduled", "", "Successfully assigned zq02-ns/zq01-pod to zq11-node"},
	{"Pulled", "zq31-app", `Successfully pulled image \"zq32.example.com/zq33-image:zq34\" in 1.2s (1.2s including ` +
		`waiting). Image size: 12 bytes.`},
	{"Unhealthy", "zq31-app", `Liveness probe failed: Get \"http://zq47.example.com:8080/zq45/health?token=zq46\": ` +
		`dial tcp 10.9.8.5:8080: connect: connection refused`},
	{"Unhealthy", "zq31-app", `Liveness probe failed: Get \"http://10.9.8.5:8080/zq45\": dial tcp: lookup ` +
		`zq47.example.com on 10.9.8.4:53: no such host`},
	{"Unhealthy", "zq31-app", "Liveness probe failed: HTTP probe failed with statuscode: 500"},
	{"Unhealthy", "zq31-app", `Readiness probe failed: command \"sh -c curl zq50\" timed out`},
	{"Unhealthy", "zq31-app", `Readiness probe failed: timeout: zq100 was slow`},
	{"Unhealthy", "zq31-app", `Readiness probe failed: command timed out: zq101`},
	{"Unhealthy", "zq31-app", `Readiness probe failed: dial tcp 10.9.8.5:8080: zq102`},
	{"Unhealthy", "zq31-app", `Readiness probe failed: zq103 context deadline exceeded`},
	{"Unhealthy", "zq31-app", `Readiness probe errored: rpc error: code = Unknown desc = failed to exec in ` +
		`container: zq104`},
	{"Unhealthy", "zq31-app", `Startup probe failed: service unhealthy (responded with \"zq105\")`},
	{"Unhealthy", "zq31-app", `Readiness probe failed: Get \"http://10.9.8.5:8080/zq45\": redirected to zq106`},
	{"Unhealthy", "zq31-app", "Readiness probe failed: zq107 first line\\nzq108 second line"},
	{"Killing", "zq31-app", "Container zq31-app failed liveness probe, will be restarted"},
	{"BackOff", "zq31-app", "Back-off restarting failed container zq31-app in pod zq01-pod_zq02-ns(zq03-uid)"},
	{"FailedMount", "", `MountVolume.SetUp failed for volume \"zq25-volume\" : secret \"zq26-secret\" not found`},
	{"FailedPreStopHook", "zq31-app", `Exec lifecycle hook ([zq52-hook]) for Container \"zq31-app\" failed: zq109`},
	{"Evicted", "", "The node zq11-node was low on resource: zq110"},
	{"Zq111Reason", "", "zq112 message"},
	{"Killing", "zq31-app", "Stopping container zq31-app"},
}

// TestIncidentRedacted writes a recording with marks in every text in all formats. None of them has
// a mark.
func TestIncidentRedacted(t *testing.T) {
	dir := t.TempDir()
	var events []string
	for i, e := range markedEvents {
		path := ""
		if e[1] != "" {
			path = `,"fieldPath":"spec.containers{` + e[1] + `}"`
		}
		events = append(events, `{"kind":"Event","apiVersion":"v1","metadata":{"name":"zq01-pod.x`+string(rune('a'+i))+
			`"},"involvedObject":{"kind":"Pod","namespace":"zq02-ns","name":"zq01-pod","uid":"zq03-uid"`+path+
			`},"type":"Warning","reason":"`+e[0]+`","message":"`+
			e[2]+`","firstTimestamp":"2024-05-18T21:00:20Z","lastTimestamp":"2024-05-18T21:00:40Z","count":3},`)
	}
	var all []string
	for _, name := range []string{"cluster.json", "describe.txt", "watch.txt", "kubelet.log", "cut.yaml"} {
		text := strings.Replace(marked[name], "EVENTS\n", strings.Join(events, "\n")+"\n", 1)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		all = append(all, name)
	}
	t.Chdir(dir)
	secret := regexp.MustCompile(`(?i).{0,60}(?:zq\d|10\.9\.8\.).{0,40}`)
	check := func(args []string, name, text string) {
		for _, found := range secret.FindAllString(text, 5) {
			t.Errorf("%s: the %s has %q", args, name, found)
		}
	}
	for _, args := range [][]string{
		append([]string{"-o", "timeline"}, all...), append([]string{"-o", "jsonl"}, all...),
		append([]string{"-o", "json"}, all...), append([]string{"-o", "text", "-v"}, all...),
		append([]string{"-o", "markdown", "-v"}, all...),
		append([]string{"-o", "html", "-v"}, all...), {"-o", "text", "--pod", "pod-2", "cluster.json"},
		{"-o", "text", "kubelet.log"}, {"-o", "json", "watch.txt"},
	} {
		var out, errs bytes.Buffer
		if code := execute(t.Context(), append([]string{"incident", "--redact"}, args...), &out, &errs); code !=
			exitOK {
			t.Fatalf("%s: exit code %d: %s", args, code, errs.String())
		}
		check(args, "output", out.String())
		check(args, "warnings", errs.String())
	}
	var out, errs bytes.Buffer
	execute(t.Context(), append([]string{"incident", "-o", "jsonl"}, all...), &out, &errs)
	if n := len(secret.FindAllString(out.String(), -1)); n < 50 {
		t.Errorf("without --redact, the output has only %d marks", n)
	}
}
