package main

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestHierarchies finds the place of a cluster's cgroup on kinds of machines.
func TestHierarchies(t *testing.T) {
	for _, test := range []struct {
		name, mounts, cgroups string
		want                  []hierarchy
	}{
		{
			"version 1 with two controllers together, and version 2 beside",
			"32 28 0:27 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n" +
				"33 28 0:28 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd\n" +
				"34 28 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
			"4:cpu,cpuacct:/user.slice\n1:name=systemd:/\n0::/user.slice\n",
			[]hierarchy{
				{"/sys/fs/cgroup/cpu,cpuacct", "cpu,cpuacct", "/sys/fs/cgroup/cpu,cpuacct/user.slice/own"},
				{"/sys/fs/cgroup/systemd", "name=systemd", "/sys/fs/cgroup/systemd/own"},
			},
		},
		{
			"version 1 in a container, which sees its own cgroup as the root",
			"32 28 0:27 /docker/1 /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
			"4:memory:/docker/1\n",
			[]hierarchy{{"/sys/fs/cgroup/memory", "memory", "/sys/fs/cgroup/memory/own"}},
		},
		{
			"version 2",
			"30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n",
			"0::/user.slice/session-1.scope\n",
			[]hierarchy{{"/sys/fs/cgroup", "", "/sys/fs/cgroup/user.slice/own"}},
		},
		{
			"version 2 in the root",
			"30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
			"0::/\n",
			[]hierarchy{{"/sys/fs/cgroup", "", "/sys/fs/cgroup/own"}},
		},
		{"none", "30 23 0:26 / /sys rw - sysfs sysfs rw\n", "0::/\n", nil},
	} {
		if got := hierarchies(test.mounts, test.cgroups, "own"); !slices.Equal(got, test.want) {
			t.Errorf("%s: got %v, want %v", test.name, got, test.want)
		}
	}
}

// cluster starts the command with arguments. The process has a group of its own, as with a shell.
func cluster(t *testing.T, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts clusters")
	}
	if err := check(options{}); err != nil {
		t.Skip(err)
	}
	image := filepath.Join(t.TempDir(), "web.tar")
	file, err := os.Create(image)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(writeImage(file, "web:test", []string{programOf(t, "web")}), file.Close()); err != nil {
		t.Fatal(err)
	}
	command := exec.Command(programOf(t, "cluster"), append([]string{"up", "--image", image}, args...)...)
	var output bytes.Buffer
	command.Stdout = &output
	command.Stderr = os.Stderr
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return command, &output
}

// built is the directory of the programs of this module.
var built string

// programOf returns the path of a program of this module.
func programOf(t *testing.T, name string) string {
	t.Helper()
	if built == "" {
		var err error
		if built, err = os.MkdirTemp("", "probesim-cluster-test-"); err != nil {
			t.Fatal(err)
		}
		build := exec.Command("go", "build", "-o", built+"/", ".", "./web")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if output, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, output)
		}
	}
	return filepath.Join(built, name)
}

func TestMain(m *testing.M) {
	code := m.Run()
	if built != "" {
		os.RemoveAll(built)
	}
	os.Exit(code)
}

// TestUp runs a pod on a cluster of each kind, and checks what the command sees.
func TestUp(t *testing.T) {
	for _, mode := range []string{"iptables", "nftables"} {
		t.Run(mode, func(t *testing.T) {
			if _, err := exec.LookPath("nft"); err != nil && mode == "nftables" {
				t.Skip(err)
			}
			command, output := cluster(t, "--proxy-mode", mode, "--", "sh", "-e", "testdata/pod.sh")
			before := world(t, 0)
			err := command.Run()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != 7 {
				t.Errorf("the command's exit code is 7; got %v", err)
			}
			got := output.String()
			for _, want := range []string{"node is Ready", "service answers", "pod refused: restricted",
				"role refused: pods", "outside: no answer"} {
				if !strings.Contains(got, want+"\n") {
					t.Errorf("the output lacks %q:\n%s", want, got)
				}
			}
			unchanged(t, before, command.Process.Pid)
		})
	}
}

// TestNothingStays ends each process of a cluster by force. Whichever it is, all of the cluster goes.
func TestNothingStays(t *testing.T) {
	for _, victim := range []struct {
		process string
		code    int
		signal  syscall.Signal
	}{
		{"cluster up", 143, syscall.SIGTERM},
		{"cluster up", 130, syscall.SIGINT},
		{"cluster up", -1, syscall.SIGKILL},
		{"cluster sweep", -1, syscall.SIGKILL}, // the cluster goes on, and is then interrupted
		{"cluster init-in-cgroup", failed, syscall.SIGKILL},
		{"cluster node", failed, syscall.SIGKILL},
		{"etcd", failed, syscall.SIGKILL},
		{"containerd", failed, syscall.SIGKILL},
		{"kube-apiserver", failed, syscall.SIGKILL},
		{"kube-controller-manager", failed, syscall.SIGKILL},
		{"kube-scheduler", failed, syscall.SIGKILL},
		{"kubelet", failed, syscall.SIGKILL},
		{"kube-proxy", failed, syscall.SIGKILL},
		{"containerd-shim-runc-v2", -1, syscall.SIGKILL}, // the cluster goes on, and is then interrupted
		{"sleep", 137, syscall.SIGKILL},
	} {
		t.Run(victim.process+" "+victim.signal.String(), func(t *testing.T) {
			command, _ := cluster(t, "--", "sh", "-e", "testdata/wait.sh")
			before := world(t, 0)
			ended := running(t, command)
			pid := find(t, command.Process.Pid, victim.process)
			if err := syscall.Kill(pid, victim.signal); err != nil {
				t.Fatal(err)
			}
			if victim.code < 0 && victim.process != "cluster up" {
				time.Sleep(time.Second)
				select {
				case err := <-ended:
					t.Fatalf("the cluster has ended: %v", err)
				default:
				}
				command.Process.Signal(syscall.SIGINT)
				victim.code = 130
			}
			select {
			case <-ended:
			case <-time.After(30 * time.Second):
				t.Fatal("the cluster does not end")
			}
			if code := command.ProcessState.ExitCode(); code != victim.code {
				t.Errorf("exit code %d, want %d", code, victim.code)
			}
			unchanged(t, before, command.Process.Pid)
		})
	}
}

// running starts a cluster, waits until its command says that it runs, and returns where the end of
// the process is reported.
func running(t *testing.T, process *exec.Cmd) <-chan error {
	t.Helper()
	stdout, err := os.CreateTemp(t.TempDir(), "stdout")
	if err != nil {
		t.Fatal(err)
	}
	process.Stdout = stdout
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- process.Wait() }()
	for {
		select {
		case err := <-ended:
			t.Fatalf("the cluster has ended before the test: %v", err)
		case <-time.After(100 * time.Millisecond):
		}
		if content, _ := os.ReadFile(stdout.Name()); string(content) == "running\n" {
			return ended
		}
	}
}

// TestParentEnds ends the parent of "cluster up" by force, such as "go run".
func TestParentEnds(t *testing.T) {
	command, _ := cluster(t, "--", "sh", "-e", "testdata/wait.sh")
	before := world(t, 0)
	parent := exec.Command("sh", append([]string{"-c", `"$@"; exit $?`, "sh"}, command.Args...)...)
	parent.Stderr = os.Stderr
	ended := running(t, parent)
	up := find(t, parent.Process.Pid, "cluster up")
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-ended
	unchanged(t, before, up)
}

// find returns a process of a cluster by the beginning of its command line, without the directory.
func find(t *testing.T, up int, name string) int {
	t.Helper()
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		args := strings.Split(string(content), "\x00")
		args[0] = filepath.Base(args[0])
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if strings.HasPrefix(strings.Join(args, " ")+" ", name+" ") && descends(pid, up) {
			return pid
		}
	}
	t.Fatalf("no process %q", name)
	return 0
}

// descends tells whether a process is a descendant of another.
func descends(pid, ancestor int) bool {
	for pid > 1 && pid != ancestor {
		status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
		if err != nil {
			return false
		}
		_, after, _ := strings.Cut(string(status), "PPid:")
		pid, _ = strconv.Atoi(strings.Fields(after)[0])
	}
	return pid == ancestor
}

// world lists what a cluster could leave: mounts, namespaces, cgroups, network devices, kernel
// settings, and files in the directories that a node writes. Other clusters than that of a process
// do not count while they live.
func world(t *testing.T, up int) map[string]bool {
	t.Helper()
	own := cgroupPrefix + strconv.Itoa(up)
	ofOther := func(cgroup string) bool {
		return strings.Contains(cgroup, cgroupPrefix) && !strings.Contains(cgroup, own)
	}
	found := map[string]bool{}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		found["mount "+line] = true
	}
	namespaces, _ := filepath.Glob("/proc/[0-9]*/ns/*")
	for _, file := range namespaces {
		target, err := os.Readlink(file)
		cgroup, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "..", "cgroup"))
		if err == nil && !ofOther(string(cgroup)) {
			found["namespace "+target] = true
		}
	}
	for _, root := range []string{"/sys/fs/cgroup", "/sys/class/net", "/run", "/var", "/opt", "/etc/cni", "/usr/libexec"} {
		filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && (root != "/sys/fs/cgroup" || entry.IsDir() && !ofOther(path)) {
				found[path] = true
			}
			return nil
		})
	}
	for _, name := range []string{"vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops",
		"kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes", "net/ipv4/ip_forward", "kernel/hostname"} {
		value, _ := os.ReadFile("/proc/sys/" + name)
		found["setting "+name+" = "+string(value)] = true
	}
	return found
}

// unchanged waits until the machine has nothing that it had not before: the kernel removes
// namespaces soon after their last process.
func unchanged(t *testing.T, before map[string]bool, up int) {
	t.Helper()
	var left []string
	for range 100 {
		left = nil
		for _, name := range slices.Sorted(maps.Keys(world(t, up))) {
			if !before[name] {
				left = append(left, name)
			}
		}
		if left == nil {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Errorf("left behind:\n%s", strings.Join(left, "\n"))
}
