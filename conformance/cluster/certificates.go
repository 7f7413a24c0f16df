package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// An authority signs the certificates of a cluster. It lives as long as the cluster: a day is
// enough.
type authority struct {
	dir         string
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	serial      int64
}

// newAuthority writes ca.crt and ca.key into a directory.
func newAuthority(dir string) (*authority, error) {
	a := &authority{dir: dir}
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "kubernetes"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	err := a.sign("ca", template)
	return a, err
}

// issue writes NAME.crt and NAME.key for a user, or for a server with addresses.
func (a *authority) issue(name, user, group string, hosts ...string) error {
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: user},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	if group != "" {
		template.Subject.Organization = []string{group}
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	return a.sign(name, template)
}

func (a *authority) sign(name string, template *x509.Certificate) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	a.serial++
	template.SerialNumber = big.NewInt(a.serial)
	template.NotBefore = time.Now().Add(-time.Hour)
	template.NotAfter = template.NotBefore.Add(10 * 24 * time.Hour)
	if a.key == nil {
		a.certificate, a.key = template, key
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return err
	}
	if template.IsCA {
		if a.certificate, err = x509.ParseCertificate(signed); err != nil {
			return err
		}
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return err
	}
	for _, file := range []struct {
		ending, kind string
		content      []byte
	}{{"crt", "CERTIFICATE", signed}, {"key", "PRIVATE KEY", private}, {"pub", "PUBLIC KEY", public}} {
		block := pem.EncodeToMemory(&pem.Block{Type: file.kind, Bytes: file.content})
		if err := os.WriteFile(filepath.Join(a.dir, name+"."+file.ending), block, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// kubeconfig writes NAME.kubeconfig, with a certificate for a user. The files are in it, so that it
// can be read by whatever sees only this one.
func (a *authority) kubeconfig(name, user, group string) error {
	if err := a.issue(name, user, group); err != nil {
		return err
	}
	data := map[string][]byte{}
	for _, file := range []string{"ca.crt", name + ".crt", name + ".key"} {
		content, err := os.ReadFile(filepath.Join(a.dir, file))
		if err != nil {
			return err
		}
		data[file] = content
	}
	base64 := base64.StdEncoding.EncodeToString
	content := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: cluster, cluster: {server: "https://%s:6443", certificate-authority-data: %s}}]
users: [{name: %s, user: {client-certificate-data: %s, client-key-data: %s}}]
contexts: [{name: probesim-cluster, context: {cluster: cluster, user: %[3]s}}]
current-context: probesim-cluster
`, nodeAddress, base64(data["ca.crt"]), name, base64(data[name+".crt"]), base64(data[name+".key"]))
	return os.WriteFile(filepath.Join(a.dir, name+".kubeconfig"), []byte(content), 0o600)
}
