// A signer's certificate: short-lived, with identity and OIDC issuer, and with the signed
// certificate timestamp (SCT) of a certificate log.
package main

import (
	"bytes"
	"crypto"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/binary"
	"math/big"
	"net/url"
	"strings"
	"time"
)

// A certificate is valid this long, as the public instance's are.
const validity = 10 * time.Minute

var (
	issuerOID    = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 1, 1}
	issuerV2OID  = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 1, 8}
	sctOID       = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 11129, 2, 4, 2}
	ecdsaSHA256  = []byte{4, 3}
	precertEntry = []byte{0, 1}
)

// signer is the subject of a certificate.
type signer struct {
	identity, issuer string
	begin            time.Time
	usage            x509.ExtKeyUsage
	// corruptSCT flips one bit of the certificate log's signature.
	corruptSCT bool
}

// certificate issues one. certLog signs its SCT; nil means no SCT.
func (a *authority) certificate(subject signer, public crypto.PublicKey, certLog *authority) (*x509.Certificate, error) {
	parent, err := x509.ParseCertificate(a.IssuerChain[0])
	if err != nil {
		return nil, err
	}
	key, err := parseKey(a.IssuerKey)
	if err != nil {
		return nil, err
	}
	issuer, err := asn1.MarshalWithParams(subject.issuer, "utf8")
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		NotBefore:    subject.begin,
		NotAfter:     subject.begin.Add(validity),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{subject.usage},
		ExtraExtensions: []pkix.Extension{
			{Id: issuerOID, Value: []byte(subject.issuer)},
			{Id: issuerV2OID, Value: issuer},
		},
	}
	if strings.Contains(subject.identity, "://") {
		uri, err := url.Parse(subject.identity)
		if err != nil {
			return nil, err
		}
		template.URIs = []*url.URL{uri}
	} else {
		template.EmailAddresses = []string{subject.identity}
	}
	plain, err := certify(template, parent, public, key)
	if err != nil || certLog == nil {
		return plain, err
	}
	sct, err := certLog.sct(plain.RawTBSCertificate, parent, subject.begin)
	if err != nil {
		return nil, err
	}
	if subject.corruptSCT {
		flip(sct.Value)
	}
	// The log signs the certificate without the SCT, which then becomes the last extension: RFC 6962,
	// 3.2 and 3.3.
	template.ExtraExtensions = append(template.ExtraExtensions, sct)
	return certify(template, parent, public, key)
}

func (a *authority) sct(certificate []byte, issuer *x509.Certificate, at time.Time) (pkix.Extension, error) {
	key, err := parseKey(a.CertLogKey)
	if err != nil {
		return pkix.Extension{}, err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return pkix.Extension{}, err
	}
	when := binary.BigEndian.AppendUint64(nil, uint64(at.UnixMilli()))
	length := binary.BigEndian.AppendUint32(nil, uint32(len(certificate)))[1:]
	message := bytes.Join([][]byte{
		{0, 0}, when, precertEntry, hashOf(issuer.RawSubjectPublicKeyInfo), length, certificate, {0, 0},
	}, nil)
	signature, err := key.Sign(rand.Reader, hashOf(message), crypto.SHA256)
	if err != nil {
		return pkix.Extension{}, err
	}
	sct := bytes.Join([][]byte{{0}, hashOf(public), when, {0, 0}, ecdsaSHA256, withLength(signature)}, nil)
	list, err := asn1.Marshal(withLength(withLength(sct)))
	return pkix.Extension{Id: sctOID, Value: list}, err
}

// withLength prefixes the bytes with their length in two bytes, as TLS does.
func withLength(bytes []byte) []byte {
	return append(binary.BigEndian.AppendUint16(nil, uint16(len(bytes))), bytes...)
}
