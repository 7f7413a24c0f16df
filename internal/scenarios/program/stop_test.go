package program

import (
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
)

func TestHookStop(t *testing.T) {
	const no = -1
	for _, test := range []struct {
		command string // arguments separated by ¦
		after   time.Duration
	}{
		{"sh¦-c¦kill -TERM 1; sleep 20", 0},
		{"sh¦-c¦sleep 5; kill 1; sleep 20", 5 * time.Second},
		{"kill¦-QUIT¦1", 0},
		{"kill¦-s¦SIGQUIT¦1", 0},
		{"kill¦-15¦1", 0},
		{"sh¦-c¦sleep 2 && kill -QUIT `cat /run/nginx.pid`", 2 * time.Second},
		{"sh¦-c¦kill $(pidof java)", 0},
		{"pkill¦-f¦gunicorn", 0},
		{"pkill¦-QUIT¦nginx", 0},
		{"killall¦-s¦TERM¦haproxy", 0},
		{"/usr/sbin/nginx¦-s¦quit", 0},
		{"sh¦-c¦sleep 10; nginx -c /etc/nginx.conf -s quit; while killall -0 nginx; do sleep 1; done",
			10 * time.Second},
		{"apachectl¦graceful-stop", 0},
		{"httpd¦-k¦graceful-stop", 0},
		{"sh¦-c¦curl -X POST http://localhost:8080/quitquitquit", 0},
		{"wget¦-qO-¦127.0.0.1:8080/quitquitquit/", 0},
		{"kill¦-9¦1", no},
		{"kill¦-HUP¦1", no},
		{"kill¦-TERM¦17", no},
		{"killall¦-0¦nginx", no},
		{"pkill¦-USR1¦nginx", no},
		{"nginx¦-s¦reload", no},
		{"apachectl¦graceful", no},
		{"curl¦localhost:15020/quitquitquit", no}, // a port of the proxy beside it
		{"curl¦http://proxy:8080/quitquitquit", no},
		{"curl¦http://localhost:8080/drain", no},
		{"sh¦-c¦/drain.sh; kill 1", no}, // after an unknown time
		{"sh¦-c¦echo kill 1", no},
		{"sleep¦20", no},
		{"", no},
	} {
		c := &v1.Container{Ports: []v1.ContainerPort{{ContainerPort: 8080}}, Lifecycle: &v1.Lifecycle{
			PreStop: &v1.LifecycleHandler{Exec: &v1.ExecAction{Command: strings.Split(test.command, "¦")}}}}
		if after, stops := HookStop(c); stops != (test.after != no) || stops && after != test.after {
			t.Errorf("%q stops the program: %t, after %s", test.command, stops, after)
		}
	}
	for path, want := range map[string]bool{"/quitquitquit": true, "/stop": false} {
		c := &v1.Container{Lifecycle: &v1.Lifecycle{
			PreStop: &v1.LifecycleHandler{HTTPGet: &v1.HTTPGetAction{Path: path}}}}
		if _, stops := HookStop(c); stops != want {
			t.Errorf("a request for %s stops the program: %t", path, stops)
		}
	}
}
