package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// cgroupPrefix begins the names of a cluster's cgroups. The process id of "cluster up" follows.
const cgroupPrefix = "probesim-cluster-"

// A hierarchy is one of the mounted hierarchies of cgroups: version 1 has several.
type hierarchy struct {
	Mount       string
	Controllers string // of version 1; empty for version 2
	Own         string // the directory of the cluster's own cgroup
}

// hierarchies finds the hierarchies in /proc/self/mountinfo and /proc/self/cgroup, and the place of a
// new cgroup with a name. In version 1, it lies below the one of this process, whose limits hold for
// it. In version 2, a cgroup with processes cannot give controllers to others, so it lies beside.
func hierarchies(mounts, cgroups, name string) []hierarchy {
	var v1, v2 []hierarchy
	for line := range strings.Lines(cgroups) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 {
			continue
		}
		kind := "cgroup"
		if fields[1] == "" {
			kind = "cgroup2"
		}
		mount, root, found := cgroupMount(mounts, kind, strings.Split(fields[1], ","))
		if !found {
			continue
		}
		here := mount
		if below, within := strings.CutPrefix(fields[2], strings.TrimSuffix(root, "/")); within {
			here = filepath.Join(mount, below)
		}
		if kind == "cgroup" {
			v1 = append(v1, hierarchy{mount, fields[1], filepath.Join(here, name)})
			continue
		}
		if here != mount {
			here = filepath.Dir(here)
		}
		v2 = append(v2, hierarchy{mount, "", filepath.Join(here, name)})
	}
	if len(v1) > 0 {
		return v1 // beside these, version 2 has no controllers
	}
	return v2
}

// ownHierarchies returns the hierarchies of this machine, with the cgroup that this process makes.
func ownHierarchies() ([]hierarchy, error) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	cgroups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil, err
	}
	found := hierarchies(string(mounts), string(cgroups), cgroupPrefix+strconv.Itoa(os.Getpid()))
	if found == nil {
		return nil, errors.New("no cgroups are mounted; a kubelet needs them, usually below /sys/fs/cgroup")
	}
	return found, nil
}

// cgroupMount finds the mount of a hierarchy, and the cgroup that it shows as its root.
func cgroupMount(mounts, kind string, controllers []string) (mount, root string, found bool) {
	for line := range strings.Lines(mounts) {
		before, after, _ := strings.Cut(strings.TrimSpace(line), " - ")
		fields, super := strings.Fields(before), strings.Fields(after)
		if len(fields) < 5 || len(super) < 3 || super[0] != kind {
			continue
		}
		options := strings.Split(super[2], ",")
		lacks := func(controller string) bool { return controller != "" && !slices.Contains(options, controller) }
		if !slices.ContainsFunc(controllers, lacks) {
			return fields[4], fields[3], true
		}
	}
	return "", "", false
}

// create makes the cluster's cgroup and moves a process into it.
func (h hierarchy) create(pid int) error {
	if err := os.Mkdir(h.Own, 0o755); err != nil && !os.IsExist(err) {
		return err
	}
	for _, controller := range strings.Split(h.Controllers, ",") {
		if controller != "cpuset" {
			continue
		}
		// A new cgroup of version 1 has no processors, and takes no process.
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
			content, err := os.ReadFile(filepath.Join(filepath.Dir(h.Own), file))
			if err == nil {
				err = os.WriteFile(filepath.Join(h.Own, file), content, 0o644)
			}
			if err != nil {
				return err
			}
		}
	}
	if h.Controllers == "" {
		available, err := os.ReadFile(filepath.Join(h.Own, "cgroup.controllers"))
		if err != nil {
			return err
		}
		for _, controller := range []string{"cpu", "memory", "pids"} {
			if !slices.Contains(strings.Fields(string(available)), controller) {
				return fmt.Errorf("%s has no controller %q; run the command with "+
					"systemd-run --scope --property=Delegate=yes --user=no", h.Own, controller)
			}
		}
	}
	return os.WriteFile(filepath.Join(h.Own, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0o644)
}

// mount mounts the hierarchy in the cluster's cgroup namespace: its root is the cluster's cgroup.
func (h hierarchy) mount() error {
	if h.Controllers == "" {
		if err := unix.Mount("cgroup2", "/sys/fs/cgroup", "cgroup2", 0, ""); err != nil {
			return err
		}
		return delegate("/sys/fs/cgroup")
	}
	at := filepath.Join("/sys/fs/cgroup", filepath.Base(h.Mount))
	if err := os.MkdirAll(at, 0o755); err != nil {
		return err
	}
	options := h.Controllers
	if strings.HasPrefix(options, "name=") {
		options = "none," + options
	}
	return unix.Mount("cgroup", at, "cgroup", 0, options)
}

// delegate gives the controllers of the root of version 2 to its children. This process, and with it
// all that it starts, moves into one of them.
func delegate(root string) error {
	leaf := filepath.Join(root, "cluster")
	if err := os.Mkdir(leaf, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(leaf, "cgroup.procs"), []byte("0"), 0o644); err != nil {
		return err
	}
	available, err := os.ReadFile(filepath.Join(root, "cgroup.controllers"))
	if err != nil {
		return err
	}
	var enable []string
	for _, controller := range strings.Fields(string(available)) {
		enable = append(enable, "+"+controller)
	}
	return os.WriteFile(filepath.Join(root, "cgroup.subtree_control"), []byte(strings.Join(enable, " ")), 0o644)
}

// removeCgroups removes cgroups with those below them, as soon as their processes have ended.
func removeCgroups(own []string) error {
	var err error
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		err = nil
		for _, dir := range own {
			err = errors.Join(err, removeTree(dir))
		}
		if err == nil || time.Now().After(deadline) {
			return err
		}
	}
}

// removeTree removes a cgroup. The files in it are no obstacle, and cannot be removed.
func removeTree(dir string) error {
	var dirs []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			dirs = append(dirs, path)
		}
		return err
	})
	for _, dir := range slices.Backward(dirs) {
		if removal := unix.Rmdir(dir); removal != nil && removal != unix.ENOENT {
			err = errors.Join(err, fmt.Errorf("removing %s: %w", dir, removal))
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// abandoned returns cgroups beside an own one whose process has ended: someone has killed it, and
// what removes them, with it.
func abandoned(own string) []string {
	var found []string
	siblings, _ := filepath.Glob(filepath.Join(filepath.Dir(own), cgroupPrefix+"*"))
	for _, dir := range siblings {
		pid, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(dir), cgroupPrefix))
		if err == nil && dir != own && unix.Kill(pid, 0) == unix.ESRCH {
			found = append(found, dir)
		}
	}
	return found
}
