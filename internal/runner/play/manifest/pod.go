package manifest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"

	"probesim.dev/internal/podutil"
	"probesim.dev/scenarios/format"
)

// program is the path of probesim for the commands of probes and hooks, wherever the image has it:
// the first process of a played container is the player.
const program = "/proc/1/exe"

// Stage says how the pods of one run stand on the cluster.
type Stage struct {
	Image  string
	Pull   v1.PullPolicy
	Prefix string // of the names of all objects
	Labels map[string]string
	Part   Part // without its Pod, Set and Step
	// Seconds ends a pod that play could not remove. The pods of a Deployment cannot have it.
	Seconds int64
}

// Carried are the fields of a pod and of its containers that play takes over. A player stands for
// the fields in replaced. All other fields are dropped, and named.
var (
	carriedByPod = fieldSet("InitContainers Containers RestartPolicy TerminationGracePeriodSeconds " +
		"ReadinessGates ActiveDeadlineSeconds")
	carriedByContainer = fieldSet("Name Ports Resources ResizePolicy RestartPolicy RestartPolicyRules LivenessProbe " +
		"ReadinessProbe StartupProbe Lifecycle TerminationMessagePath TerminationMessagePolicy")
	replaced = fieldSet("Image ImagePullPolicy Command Args Env EnvFrom WorkingDir Stdin StdinOnce TTY")
	// fields that the API server gives a default, or that say nothing about the pod's behavior
	silent = fieldSet("DNSPolicy SchedulerName SecurityContext EnableServiceLinks AutomountServiceAccountToken " +
		"PreemptionPolicy")
)

func fieldSet(names string) sets.Set[string] { return sets.New(strings.Fields(names)...) }

// dropped returns the names of the fields of a pod or container, as in a manifest, that are set and
// not known.
func dropped(of any, known sets.Set[string]) (names []string) {
	for field, value := range reflect.ValueOf(of).Fields() {
		if known.Has(field.Name) || isEmpty(value) {
			continue
		}
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Slice, reflect.Map:
		return v.Len() == 0
	case reflect.Pointer:
		return v.IsNil() || v.Elem().Kind() == reflect.Struct && v.Elem().IsZero()
	}
	return v.IsZero()
}

// Dropped returns what play does not take over of a pod.
func Dropped(pod *v1.Pod) (names []string) {
	names = dropped(pod.Spec, carriedByPod.Union(silent))
	if sc := pod.Spec.SecurityContext; sc != nil && !reflect.ValueOf(*sc).IsZero() {
		names = append(names, "securityContext")
	}
	for c := range podutil.Containers(&pod.Spec) {
		for _, name := range dropped(*c, carriedByContainer.Union(replaced)) {
			names = append(names, "containers["+c.Name+"]."+name)
		}
		if memory, limited := c.Resources.Limits[v1.ResourceMemory]; limited && memory.Cmp(least) < 0 {
			names = append(names, fmt.Sprintf("containers[%s].resources.limits.memory (%s is too little for a player: "+
				"%s)", c.Name, memory.String(), least.String()))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(pod.Annotations)) {
		if key != format.RestartedAt {
			names = append(names, "annotation "+key)
		}
	}
	return names
}

// What a player needs: it starts with the files of its scenario.
var (
	least       = resource.MustParse("96Mi")
	usualMemory = resource.MustParse("48Mi")
	usualCPU    = resource.MustParse("5m")
	mostCPU     = resource.MustParse("1")
)

// Name returns the name on the cluster of an object of the scenario.
func (s *Stage) Name(name string) string { return s.Prefix + name }

// Pod returns the pod to create for a pod of the scenario, named as there.
func (s *Stage) Pod(of *v1.Pod) (*v1.Pod, error) {
	part := s.Part
	part.Pod = of.Namespace + "/" + of.Name
	pod := &v1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Name: s.Name(of.Name), Labels: s.labelsOf(of.Labels)}}
	var err error
	pod.Spec, err = s.spec(&of.Spec, &part)
	pod.Spec.ActiveDeadlineSeconds = &s.Seconds
	if own := of.Spec.ActiveDeadlineSeconds; own != nil {
		pod.Spec.ActiveDeadlineSeconds = new(min(*own, s.Seconds))
	}
	return pod, err
}

// labelsOf returns the labels of an object. Those of the scenario get a prefix, so that no Service
// of the cluster selects a played pod.
func (s *Stage) labelsOf(labels map[string]string) map[string]string {
	own := map[string]string{}
	maps.Copy(own, s.Labels)
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		own[labelKey(key)] = labels[key]
	}
	return own
}

// Domain is the prefix of the labels of played objects.
const Domain = "play.probesim.dev/"

// labelKey returns the key of a label of the scenario.
func labelKey(key string) string {
	const longest = 63
	key = strings.ReplaceAll(key, "/", "_")
	if len(key) > longest {
		h := fnv.New32a()
		h.Write([]byte(key))
		key = fmt.Sprintf("%s-%08x", key[:longest-9], h.Sum32())
	}
	return Domain + key
}

func (s *Stage) spec(of *v1.PodSpec, part *Part) (v1.PodSpec, error) {
	text, err := part.Text()
	if err != nil {
		return v1.PodSpec{}, err
	}
	from := of.DeepCopy()
	ports := assignPorts(from)
	spec := v1.PodSpec{
		RestartPolicy: from.RestartPolicy, TerminationGracePeriodSeconds: from.TerminationGracePeriodSeconds,
		ReadinessGates: from.ReadinessGates, InitContainers: from.InitContainers, Containers: from.Containers,
		AutomountServiceAccountToken: new(false), EnableServiceLinks: new(false),
		DNSPolicy: v1.DNSDefault, // a player asks no names, and a cluster without DNS emits an event with each sync
		SecurityContext: &v1.PodSecurityContext{RunAsNonRoot: new(true), RunAsUser: new(int64(65532)),
			RunAsGroup:     new(int64(65532)),
			SeccompProfile: &v1.SeccompProfile{Type: v1.SeccompProfileTypeRuntimeDefault}},
	}
	for _, list := range [][]v1.Container{spec.InitContainers, spec.Containers} {
		for i := range list {
			list[i] = s.container(&list[i], ports, text, part.Set > 0)
		}
	}
	return spec, nil
}

// container returns a container with a player.
func (s *Stage) container(from *v1.Container, ports map[string][]Port, part string, generated bool) v1.Container {
	c := v1.Container{
		Name: from.Name, Image: s.Image, ImagePullPolicy: s.Pull,
		Args: []string{"player"}, Ports: declared(from, ports[from.Name]),
		Resources:    resources(from.Resources),
		ResizePolicy: from.ResizePolicy, RestartPolicy: from.RestartPolicy, RestartPolicyRules: from.RestartPolicyRules,
		LivenessProbe: from.LivenessProbe, ReadinessProbe: from.ReadinessProbe, StartupProbe: from.StartupProbe,
		Lifecycle: from.Lifecycle, TerminationMessagePath: from.TerminationMessagePath,
		TerminationMessagePolicy: from.TerminationMessagePolicy,
		Env:                      []v1.EnvVar{{Name: envContainer, Value: from.Name}, {Name: envPart, Value: part}},
		SecurityContext: &v1.SecurityContext{AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true),
			Capabilities: &v1.Capabilities{Drop: []v1.Capability{"ALL"}}},
	}
	if generated {
		c.Env = append(c.Env, v1.EnvVar{Name: envPod,
			ValueFrom: &v1.EnvVarSource{FieldRef: &v1.ObjectFieldSelector{FieldPath: "metadata.name"}}})
	}
	for _, asks := range podutil.Requests(&c) {
		if asks.Exec != nil {
			asks.Exec.Command = []string{program, "player", "ask", asks.Key}
		}
	}
	return c
}

// declared returns the ports of a container, with those of its probes and hooks. A name of a port
// stays with its first number.
func declared(c *v1.Container, own []Port) []v1.ContainerPort {
	var list []v1.ContainerPort
	for _, p := range c.Ports {
		list = append(list, v1.ContainerPort{Name: p.Name, ContainerPort: p.ContainerPort, Protocol: p.Protocol})
	}
	for _, p := range own {
		if !slices.ContainsFunc(list, func(l v1.ContainerPort) bool { return l.ContainerPort == p.Number }) {
			list = append(list, v1.ContainerPort{ContainerPort: p.Number, Protocol: v1.ProtocolTCP})
		}
	}
	return list
}

// resources returns the resources of a container, with limits that a player can live with.
func resources(of v1.ResourceRequirements) v1.ResourceRequirements {
	r := v1.ResourceRequirements{Requests: v1.ResourceList{}, Limits: v1.ResourceList{}}
	for _, one := range []struct {
		name        v1.ResourceName
		usual, most resource.Quantity
	}{{v1.ResourceCPU, usualCPU, mostCPU}, {v1.ResourceMemory, usualMemory, least}} {
		limit, limited := of.Limits[one.name]
		request, requested := of.Requests[one.name]
		switch {
		case !limited && requested && request.Cmp(one.most) > 0:
			limit = request
		case !limited || one.name == v1.ResourceMemory && limit.Cmp(one.most) < 0:
			limit = one.most
		}
		switch {
		case requested:
		case limited:
			request = limit // as the API server does
		default:
			request = one.usual
		}
		r.Requests[one.name], r.Limits[one.name] = request, limit
	}
	return r
}

// Port is a port on which one probe or hook asks. Each has a port of its own, so that the player
// knows who asks, and one of them can be refused alone.
type Port struct {
	podutil.Request
	Number int32
}

// firstFree is the first port for probes and hooks whose own port is taken, or is one that only
// root can listen on.
const firstFree, privileged = 20000, 1024

// ServicePort is the port on which the program of a pod serves the requests to its Service.
const ServicePort = firstFree - 1

// assignPorts gives each probe and hook of a pod a port, sets it in the pod, and returns the ports
// by container.
func assignPorts(spec *v1.PodSpec) map[string][]Port {
	used, next, ports := map[int32]bool{ServicePort: true}, int32(firstFree), map[string][]Port{}
	for c := range podutil.Containers(spec) {
		named := map[string]int32{}
		for _, p := range c.Ports {
			named[p.Name] = p.ContainerPort
		}
		for _, asks := range podutil.Requests(c) {
			handler := podutil.HandlerOf(asks.ProbeHandler)
			if handler.Port == nil {
				continue
			}
			number := handler.Port.IntVal
			if text := handler.Port.StrVal; text != "" {
				n, _ := strconv.ParseInt(text, 10, 32)
				number = cmp.Or(named[text], int32(n))
			}
			for number < privileged || used[number] {
				number, next = next, next+1
			}
			used[number] = true
			if asks.GRPC != nil {
				asks.GRPC.Port = number
			} else {
				*handler.Port = intstr.FromInt32(number)
			}
			ports[c.Name] = append(ports[c.Name], Port{Request: asks, Number: number})
		}
	}
	return ports
}

// PortsOf returns the ports of the probes and hooks of a container, as the player listens on them.
func PortsOf(pod *v1.Pod, container string) []Port {
	return assignPorts(pod.Spec.DeepCopy())[container]
}

// Deployment returns the Deployment to create. set is the number of the ReplicaSet that the cluster
// makes of it, and step the one of Part.
func (s *Stage) Deployment(of *appsv1.Deployment, set, step int) (*appsv1.Deployment, error) {
	d := &appsv1.Deployment{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: metav1.ObjectMeta{Name: s.Name(of.Name), Labels: s.labelsOf(nil)}}
	part := s.Part
	part.Pod, part.Set, part.Step = of.Namespace+"/"+of.Name, set, step
	template, err := s.spec(&of.Spec.Template.Spec, &part)
	d.Spec = appsv1.DeploymentSpec{
		Replicas: of.Spec.Replicas, Strategy: of.Spec.Strategy, MinReadySeconds: of.Spec.MinReadySeconds,
		ProgressDeadlineSeconds: of.Spec.ProgressDeadlineSeconds, RevisionHistoryLimit: of.Spec.RevisionHistoryLimit,
		Paused: of.Spec.Paused, Selector: s.selector(of.Spec.Selector),
		Template: v1.PodTemplateSpec{Spec: template,
			ObjectMeta: metav1.ObjectMeta{Labels: s.labelsOf(of.Spec.Template.Labels)}},
	}
	if at, restarted := of.Spec.Template.Annotations[format.RestartedAt]; restarted {
		d.Spec.Template.Annotations = map[string]string{format.RestartedAt: at}
	}
	return d, err
}

// Change returns the merge patch that makes a Deployment what the scenario makes of it.
func (s *Stage) Change(of *appsv1.Deployment, set, step int) ([]byte, error) {
	d, err := s.Deployment(of, set, step)
	if err != nil {
		return nil, err
	}
	// a merge patch leaves what it does not name
	strategy := map[string]any{"type": d.Spec.Strategy.Type, "rollingUpdate": d.Spec.Strategy.RollingUpdate}
	spec := map[string]any{"replicas": d.Spec.Replicas, "minReadySeconds": d.Spec.MinReadySeconds,
		"progressDeadlineSeconds": d.Spec.ProgressDeadlineSeconds, "revisionHistoryLimit": d.Spec.RevisionHistoryLimit,
		"paused": d.Spec.Paused, "strategy": strategy, "template": d.Spec.Template}
	return json.Marshal(map[string]any{"spec": spec})
}

// selector returns a selector for the labels that played objects have.
func (s *Stage) selector(of *metav1.LabelSelector) *metav1.LabelSelector {
	own := &metav1.LabelSelector{MatchLabels: s.labelsOf(of.MatchLabels)}
	for _, e := range of.MatchExpressions {
		e.Key = labelKey(e.Key)
		own.MatchExpressions = append(own.MatchExpressions, e)
	}
	return own
}

// Service returns the Service to create. It has an IP inside the cluster only.
func (s *Stage) Service(of *v1.Service) *v1.Service {
	service := &v1.Service{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
		ObjectMeta: metav1.ObjectMeta{Name: s.Name(of.Name), Labels: s.labelsOf(nil)},
		Spec: v1.ServiceSpec{Selector: s.labelsOf(of.Spec.Selector),
			PublishNotReadyAddresses: of.Spec.PublishNotReadyAddresses}}
	for _, p := range of.Spec.Ports {
		p.NodePort, p.TargetPort = 0, intstr.FromInt32(ServicePort)
		service.Spec.Ports = append(service.Spec.Ports, p)
	}
	return service
}

// Client returns a pod that sends the requests of an entry of spec.traffic, from 1, to an address.
func (s *Stage) Client(stream int, address string) (*v1.Pod, error) {
	name := fmt.Sprintf("%d-client", stream)
	part := *s
	part.Part.Stream, part.Part.Address = stream, address
	return part.Pod(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.PodSpec{
		RestartPolicy: v1.RestartPolicyNever, Containers: []v1.Container{{Name: ClientContainer}},
		TerminationGracePeriodSeconds: new(int64)}})
}

// ClientContainer is the name of the container of a client.
const ClientContainer = "client"
