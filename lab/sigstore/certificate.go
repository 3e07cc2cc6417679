// A signer's certificate: short-lived, for an identity that an issuer vouches for, with the
// promise of a certificate log inside.
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
	promiseOID   = asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 11129, 2, 4, 2}
	ecdsaSHA256  = []byte{4, 3}
	precertEntry = []byte{0, 1}
)

// signer is whoever a certificate is issued to.
type signer struct {
	identity, issuer string
	begin            time.Time
	usage            x509.ExtKeyUsage
	// spoiltPromise has the certificate log's signature wrong by one bit.
	spoiltPromise bool
}

// certificate issues one. certLog is the log that promises to publish it; nil means that none does.
func (a *authority) certificate(who signer, public crypto.PublicKey, certLog *authority) (*x509.Certificate, error) {
	parent, err := x509.ParseCertificate(a.IssuerChain[0])
	if err != nil {
		return nil, err
	}
	key, err := parseKey(a.IssuerKey)
	if err != nil {
		return nil, err
	}
	issuer, err := asn1.MarshalWithParams(who.issuer, "utf8")
	if err != nil {
		return nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		NotBefore:    who.begin,
		NotAfter:     who.begin.Add(validity),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{who.usage},
		ExtraExtensions: []pkix.Extension{
			{Id: issuerOID, Value: []byte(who.issuer)},
			{Id: issuerV2OID, Value: issuer},
		},
	}
	if strings.Contains(who.identity, "://") {
		uri, err := url.Parse(who.identity)
		if err != nil {
			return nil, err
		}
		template.URIs = []*url.URL{uri}
	} else {
		template.EmailAddresses = []string{who.identity}
	}
	plain, err := certify(template, parent, public, key)
	if err != nil || certLog == nil {
		return plain, err
	}
	promise, err := certLog.promise(plain.RawTBSCertificate, parent, who.begin)
	if err != nil {
		return nil, err
	}
	if who.spoiltPromise {
		flip(promise.Value)
	}
	// The log signs the certificate without its promise, which then becomes the last extension:
	// RFC 6962, 3.2 and 3.3.
	template.ExtraExtensions = append(template.ExtraExtensions, promise)
	return certify(template, parent, public, key)
}

func (a *authority) promise(certificate []byte, issuer *x509.Certificate, at time.Time) (pkix.Extension, error) {
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
	promise := bytes.Join([][]byte{{0}, hashOf(public), when, {0, 0}, ecdsaSHA256, counted(signature)}, nil)
	list, err := asn1.Marshal(counted(counted(promise)))
	return pkix.Extension{Id: promiseOID, Value: list}, err
}

// counted puts the length in two bytes before the bytes, as TLS does.
func counted(bytes []byte) []byte {
	return append(binary.BigEndian.AppendUint16(nil, uint16(len(bytes))), bytes...)
}
