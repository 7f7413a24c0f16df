package live

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"probesim.dev/internal/podutil"
)

// target is the program on this machine, as its probes see it.
type target struct {
	container *v1.Container
	ports     map[int32]int
}

// port returns the port on this machine of a port of the container.
func (t *target) port(p intstr.IntOrString) string {
	number := p.IntVal
	for _, named := range t.container.Ports {
		if p.StrVal != "" && named.Name == p.StrVal {
			number = named.ContainerPort
		}
	}
	if n, err := strconv.ParseInt(p.StrVal, 10, 32); err == nil {
		number = int32(n)
	}
	if here, mapped := t.ports[number]; mapped {
		return strconv.Itoa(here)
	}
	return strconv.Itoa(int(number))
}

// maxAnswer limits what is read of an answer (maxRespBodyLength in pkg/probe/http/http.go at
// v1.37.0).
const maxAnswer = 10 << 10

// probe runs a probe once, as the kubelet does (pkg/probe at v1.37.0). It also returns what the
// failure says.
func (t *target) probe(ctx context.Context, p *v1.Probe) (up bool, says string) {
	timeout := time.Duration(max(p.TimeoutSeconds, 1)) * time.Second
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var err error
	switch {
	case p.Exec != nil:
		err = t.exec(ctx, p.Exec.Command)
	case p.HTTPGet != nil:
		err = t.get(ctx, p.HTTPGet, timeout)
	case p.TCPSocket != nil:
		err = t.dial(ctx, t.port(p.TCPSocket.Port))
	case p.GRPC != nil:
		err = t.grpc(ctx, p.GRPC)
	default:
		err = errors.New("the probe has no handler")
	}
	if err != nil {
		return false, err.Error()
	}
	return true, ""
}

// request asks the program as a client does, on a new connection, and returns what became of it.
func (t *target) request(p *v1.Probe) outcome {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	h := podutil.HandlerOf(&p.ProbeHandler)
	switch {
	case h.Port == nil:
		return "" // nothing but a command is known
	case p.HTTPGet != nil:
		if err := t.get(ctx, p.HTTPGet, 10*time.Second); err == nil || errors.As(err, new(statusError)) {
			return answered
		} else if isRefused(err) {
			return refused
		}
		return broken
	}
	if t.dial(ctx, t.port(*h.Port)) != nil {
		return refused
	}
	return answered
}

// isRefused reports whether there was no connection.
func isRefused(err error) bool {
	op, is := errors.AsType[*net.OpError](err)
	return is && op.Op == "dial"
}

func (t *target) exec(ctx context.Context, command []string) error {
	if len(command) == 0 {
		return errors.New("the command is empty")
	}
	c := exec.CommandContext(ctx, command[0], command[1:]...)
	c.WaitDelay = time.Second
	out, err := c.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %.200s", err, bytes.TrimSpace(out))
	}
	return nil
}

func (t *target) dial(ctx context.Context, port string) error {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", port))
	if err != nil {
		return err
	}
	return conn.Close()
}

// statusError is an answer that is no success.
type statusError int

func (s statusError) Error() string {
	return fmt.Sprintf("HTTP probe failed with statuscode: %d", int(s))
}

// get asks once. Statuses from 200 to 399 are successes, as is a redirect to another host, which
// the kubelet does not follow.
func (t *target) get(ctx context.Context, g *v1.HTTPGetAction, timeout time.Duration) error {
	scheme := strings.ToLower(string(g.Scheme))
	if scheme == "" {
		scheme = "http"
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, scheme+"://127.0.0.1:"+t.port(g.Port)+"/"+
		strings.TrimPrefix(g.Path, "/"), nil)
	if err != nil {
		return err
	}
	request.Header.Set("User-Agent", "kube-probe/1.37")
	request.Header.Set("Accept", "*/*")
	for _, h := range g.HTTPHeaders {
		if strings.EqualFold(h.Name, "Host") {
			request.Host = h.Value
		}
		request.Header.Add(h.Name, h.Value)
	}
	client := http.Client{Timeout: timeout,
		Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true,
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true}},
		CheckRedirect: func(next *http.Request, via []*http.Request) error {
			if next.URL.Hostname() != via[0].URL.Hostname() || len(via) >= 10 {
				return http.ErrUseLastResponse
			}
			return nil
		}}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, io.LimitReader(response.Body, maxAnswer)); err != nil {
		return err
	}
	if response.StatusCode < 200 || response.StatusCode >= 400 {
		return statusError(response.StatusCode)
	}
	return nil
}

// grpc calls Check of the service grpc.health.v1.Health: a request with one text, and an answer
// with one number, each behind five bytes.
func (t *target) grpc(ctx context.Context, g *v1.GRPCAction) error {
	var message []byte
	if g.Service != nil && *g.Service != "" {
		message = append(binary.AppendUvarint([]byte{1<<3 | 2}, uint64(len(*g.Service))), *g.Service...)
	}
	body := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://127.0.0.1:"+
		t.port(intstr.FromInt32(g.Port))+"/grpc.health.v1.Health/Check", bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/grpc")
	request.Header.Set("TE", "trailers")
	var protocols http.Protocols
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: &protocols}
	defer transport.CloseIdleConnections()
	response, err := transport.RoundTrip(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	status := response.Trailer.Get("Grpc-Status") + response.Header.Get("Grpc-Status")
	switch {
	case err != nil:
		return err
	case status != "0":
		return fmt.Errorf("the health service answers with the gRPC status %q", status)
	case len(answer) < 7 || answer[5] != 1<<3 || answer[6] != 1:
		return errors.New("the health service does not answer SERVING")
	}
	return nil
}
