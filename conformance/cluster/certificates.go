package main

import (
	"crypto"
	"crypto/x509"
	"net"
	"os"
	"path/filepath"

	"k8s.io/client-go/util/cert"
	"k8s.io/kubernetes/cmd/kubeadm/app/apis/kubeadm"
	"k8s.io/kubernetes/cmd/kubeadm/app/util/kubeconfig"
	"k8s.io/kubernetes/cmd/kubeadm/app/util/pkiutil"
)

// An authority signs the certificates of a cluster, as that of kubeadm does.
type authority struct {
	dir         string
	certificate *x509.Certificate
	key         crypto.Signer
}

// certificateOf describes the certificate of a user.
func certificateOf(user string) *pkiutil.CertConfig {
	return &pkiutil.CertConfig{Config: cert.Config{CommonName: user,
		Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}},
		EncryptionAlgorithm: kubeadm.EncryptionAlgorithmECDSAP256}
}

// newAuthority writes ca.crt and ca.key into a directory.
func newAuthority(dir string) (*authority, error) {
	own, key, err := pkiutil.NewCertificateAuthority(certificateOf("kubernetes"))
	if err != nil {
		return nil, err
	}
	return &authority{dir, own, key}, pkiutil.WriteCertAndKey(dir, "ca", own, key)
}

// issue writes NAME.crt and NAME.key for a user, or for a server with addresses.
func (a *authority) issue(name, user, group string, hosts ...string) error {
	config := certificateOf(user)
	if group != "" {
		config.Organization = []string{group}
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			config.AltNames.IPs = append(config.AltNames.IPs, ip)
		} else {
			config.AltNames.DNSNames = append(config.AltNames.DNSNames, host)
		}
	}
	issued, key, err := pkiutil.NewCertAndKey(a.certificate, a.key, config)
	if err != nil {
		return err
	}
	return pkiutil.WriteCertAndKey(a.dir, name, issued, key)
}

// newKubeconfig writes NAME.kubeconfig, with a certificate for a user. The files are in it, so that
// it can be read by whatever sees only this one.
func (a *authority) newKubeconfig(name, user, group string) error {
	if err := a.issue(name, user, group); err != nil {
		return err
	}
	var files [3][]byte
	for i, file := range []string{"ca.crt", name + ".key", name + ".crt"} {
		var err error
		if files[i], err = os.ReadFile(filepath.Join(a.dir, file)); err != nil {
			return err
		}
	}
	return kubeconfig.WriteToDisk(filepath.Join(a.dir, name+".kubeconfig"),
		kubeconfig.CreateWithCerts("https://"+nodeAddress+":6443", "cluster", name, files[0], files[1], files[2]))
}
