package fakeruntime

import (
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"probesim.dev/sim/virtual"
	"probesim.dev/trace"
)

// The scripts write rules in the words of the scenario file: "app: after=10s for=5s liveness=[ok
// x3,fail]".

func optionsOf(t *testing.T, d *datadriven.TestData) Options {
	var o Options
	for _, arg := range d.CmdArgs {
		if arg.Key == "seed" {
			n, err := strconv.ParseInt(arg.Vals[0], 10, 64)
			must(t, err)
			o.Seed = &n
			continue
		}
		setDelay(t, &o.Delays, arg.Key, arg.Vals[0])
	}
	return o
}

func (s *script) pod(d *datadriven.TestData) {
	p := Pod{UID: d.CmdArgs[0].Key, Namespace: "default", Name: d.CmdArgs[0].Key,
		Containers: map[string]ContainerConfig{}}
	d.MaybeScanArgs(s.t, "replica", &p.Replica)
	d.MaybeScanArgs(s.t, "workload", &p.Workload)
	for line := range strings.Lines(d.Input) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), ": ")
		c := p.Containers[name]
		parseLine(s.t, &c, rest)
		p.Containers[name] = c
	}
	s.rt.AddPod(p)
}

func parseLine(t *testing.T, c *ContainerConfig, text string) {
	var rule Rule
	for _, word := range splitOutside(text, ' ') {
		key, value, _ := strings.Cut(word, "=")
		switch {
		case key == "init":
			c.Program.Init = true
			return
		case key == "answeredBy":
			asks, agent, _ := strings.Cut(value, "/")
			c.Program.AnsweredBy = map[string]Agent{asks: {Container: agent, Rule: 1}}
			return
		case reflect.ValueOf(Delays{}).FieldByName(fieldName(key)).IsValid():
			setDelay(t, &c.Delays, key, value)
			return
		}
		parseField(t, &rule, key, value)
	}
	c.Program.Rules = append(c.Program.Rules, rule)
}

func parseField(t *testing.T, rule *Rule, key, value string) {
	switch key {
	case "replica":
		rule.Replica = parseRange(t, value)
	case "instance":
		rule.Instance = parseRange(t, value)
	case "after":
		rule.From = parseDraw(t, value)
	case "at":
		rule.Clock, rule.From = AtScenario, parseDraw(t, value)
	case "afterSigterm":
		rule.Clock, rule.From = AfterSigterm, parseDraw(t, value)
	case "since", "until":
		n, err := strconv.Atoi(value)
		must(t, err)
		if key == "until" {
			rule.Until = &n
			return
		}
		rule.Clock, rule.Moment = AtMoment, n
	case "for", "every":
		d := parseDraw(t, value)
		*map[string]**Draw{"for": &rule.For, "every": &rule.Every}[key] = &d
	case "chance":
		percent, err := strconv.ParseFloat(strings.TrimSuffix(value, "%"), 64)
		must(t, err)
		percent /= 100
		rule.Chance = &percent
	case "listens":
		rule.Listens = new(value == "yes")
	case "refuse":
		rule.Refuse = true
	case "exit":
		code, err := strconv.Atoi(value)
		rule.Exit = &Exit{Code: int32(code), Never: err != nil}
	default:
		target := map[string]**Series{
			"liveness": &rule.Liveness, "readiness": &rule.Readiness, "startup": &rule.Startup, "probes": &rule.Probes,
			"postStart": &rule.PostStart, "preStop": &rule.PreStop,
		}[key]
		if target == nil {
			t.Fatalf("unknown field %q", key)
		}
		*target = parseSeries(t, value)
	}
}

func parseSeries(t *testing.T, text string) *Series {
	var s Series
	for item := range strings.SplitSeq(strings.Trim(text, "[]"), ",") {
		if item = strings.TrimSpace(item); item == "repeat" {
			s.Repeat = true
			continue
		}
		it := Item{Count: 1}
		if word, count, ok := strings.Cut(item, " x"); ok {
			n, err := strconv.Atoi(count)
			must(t, err)
			item, it.Count = word, n
		}
		it.Answer = parseAnswer(t, item)
		s.Items = append(s.Items, it)
	}
	return &s
}

// parseAnswer reads WORD, "WORD in LATENCY" or a body in quotes; "WORD!" ignores the timeout.
func parseAnswer(t *testing.T, text string) Answer {
	word, latency, timed := strings.Cut(text, " in ")
	a := Answer{Word: Answers}
	if timed {
		d := parseDraw(t, latency)
		a.Latency = &d
	}
	word, a.IgnoreTimeout = strings.CutSuffix(word, "!")
	switch code, err := strconv.Atoi(word); {
	case err == nil:
		a.Code = int32(code)
	case strings.Contains(word, ">"): // CODE>LOCATION>CODE of what follows
		parts := strings.Split(word, ">")
		a.Then = &Answer{Word: Answers}
		for i, code := range map[*int32]string{&a.Code: parts[0], &a.Then.Code: parts[2]} {
			n, err := strconv.Atoi(code)
			must(t, err)
			*i = int32(n)
		}
		a.Location = parts[1]
	case word == "refuse":
		a.Word = Refuses
	case word == "fail" || word == "down":
		a.Code = 1
	case word == "hang" || word == "stall" || word == "error":
		a.Word = Word(word)
	case strings.HasPrefix(word, `"`):
		a.Code, a.Body = 1, strings.Trim(word, `"`)
	case word != "ok":
		t.Fatalf("unknown answer %q", word)
	}
	return a
}

func setDelay(t *testing.T, d *Delays, name, value string) {
	draw := parseDraw(t, value)
	reflect.ValueOf(d).Elem().FieldByName(fieldName(name)).Set(reflect.ValueOf(&draw))
}

// fieldName is the field of Delays that the scenario file writes as name.
func fieldName(name string) string {
	name = strings.ToUpper(name[:1]) + name[1:]
	return strings.NewReplacer("Api", "API", "Http", "HTTP", "Tcp", "TCP", "Grpc", "GRPC").Replace(name)
}

func parseDraw(t *testing.T, text string) Draw {
	from, to, ranged := strings.Cut(text, "..")
	if !ranged {
		to = from
	}
	low, err := time.ParseDuration(from)
	must(t, err)
	high, err := time.ParseDuration(to)
	must(t, err)
	return Draw{low, high}
}

func parseRange(t *testing.T, text string) Range {
	from, to, ranged := strings.Cut(text, "..")
	low, err := strconv.Atoi(from)
	must(t, err)
	switch {
	case !ranged:
		return Range{low, low, true}
	case to == "":
		return Range{low, 1 << 30, true}
	}
	high, err := strconv.Atoi(to)
	must(t, err)
	return Range{low, high, true}
}

// splitOutside splits at a separator that is not between brackets or quotes.
func splitOutside(text string, separator rune) []string {
	depth, quoted := 0, false
	return strings.FieldsFunc(text, func(r rune) bool {
		switch r {
		case '[':
			depth++
		case ']':
			depth--
		case '"':
			quoted = !quoted
		}
		return r == separator && depth == 0 && !quoted
	})
}

// instantArg returns the instant in an argument of a command, t=0 if the argument is missing.
func instantArg(d *datadriven.TestData, name string) virtual.Time {
	return virtual.At(timeArg(d, name, 0))
}

// timeArg returns the duration in an argument of a command.
func timeArg(d *datadriven.TestData, name string, otherwise time.Duration) time.Duration {
	for _, arg := range d.CmdArgs {
		if arg.Key == name {
			t, err := time.ParseDuration(arg.Vals[0])
			if err != nil {
				panic(err)
			}
			return t
		}
	}
	return otherwise
}

func callOf(s *script, d *datadriven.TestData) Call {
	c := Call{Method: Method(d.CmdArgs[0].Key)}
	for _, arg := range d.CmdArgs[1:] {
		value := ""
		if len(arg.Vals) > 0 {
			value = arg.Vals[0]
		}
		switch arg.Key {
		case "pod":
			c.PodUID = value
		case "sandbox":
			c.SandboxID = s.sandbox[value]
		case "container":
			if c.ContainerID = s.newest[value]; c.ContainerID == "" {
				c.ContainerID = value
			}
		case "id":
			c.ContainerID, c.SandboxID = value, value
		case "name":
			c.Name = value
		case "image":
			c.Image = value
		case "reason":
			c.StopReason = value
		case "grace":
			n, err := strconv.ParseInt(value, 10, 64)
			must(s.t, err)
			c.GraceSeconds = n
		case "ready":
			c.Ready = true
		case "running":
			c.Running = true
		case "probe":
			c.Probe = trace.Probe(value)
		case "hook":
			c.Hook = value
		case "retry":
			c.Retry = true
		case "attempt":
			n, err := strconv.Atoi(value)
			must(s.t, err)
			c.Attempt = n
		case "deadline":
			c.Deadline = timeArg(d, "deadline", 0)
		case "timeout":
			c.Timeout = timeArg(d, "timeout", 0)
			c.Command = []string{"check", "it"}
		}
	}
	return c
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
