// An authority: the certificate authority, the logs and the timestamp authority of one trusted root.
// A second one, which no trusted root names, issues the untrusted parts.
package main

import (
	"crypto"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/json"
	"math/big"
	"os"
	"time"
)

// The validity of an authority before and after its creation: some signatures are dated hours back,
// to be expired now.
const lifetime = 48 * time.Hour

// authority is kept in a file between two runs. Its keys sign for the lab only.
type authority struct {
	CreatedAt   time.Time `json:"createdAt"`
	IssuerChain [][]byte  `json:"issuerChain"`
	IssuerKey   []byte    `json:"issuerKey"`
	CertLogKey  []byte    `json:"certLogKey"`
	LogKey      []byte    `json:"logKey"`
	TileLogKey  []byte    `json:"tileLogKey"`
	TSAChain    [][]byte  `json:"tsaChain"`
	TSAKey      []byte    `json:"tsaKey"`
}

type creation struct {
	Authority   authority       `json:"authority"`
	TrustedRoot json.RawMessage `json:"trustedRoot"`
}

func create(now time.Time) (creation, error) {
	result, err := newAuthority(now)
	if err != nil {
		return creation{}, err
	}
	trusted, err := result.trustedRoot()
	return creation{result, trusted}, err
}

func newAuthority(now time.Time) (authority, error) {
	result := authority{CreatedAt: now.UTC().Truncate(time.Second)}
	for algorithm, fields := range map[string][]*[]byte{
		"ecdsa-p256": {&result.IssuerKey, &result.CertLogKey, &result.LogKey, &result.TSAKey},
		"ed25519":    {&result.TileLogKey},
	} {
		for _, field := range fields {
			key, err := makeKey(algorithm)
			if err != nil {
				return result, err
			}
			if *field, err = x509.MarshalPKCS8PrivateKey(key); err != nil {
				return result, err
			}
		}
	}
	var err error
	if result.IssuerChain, err = result.chain(nil, x509.ExtKeyUsageCodeSigning, "issuer", result.IssuerKey); err != nil {
		return result, err
	}
	// A timestamp authority's certificate must have the critical extended key usage timeStamping only.
	timeStamping, err := asn1.Marshal([]asn1.ObjectIdentifier{{1, 3, 6, 1, 5, 5, 7, 3, 8}})
	if err != nil {
		return result, err
	}
	only := []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 37}, Critical: true, Value: timeStamping}}
	result.TSAChain, err = result.chain(only, x509.ExtKeyUsageTimeStamping, "tsa", result.TSAKey)
	return result, err
}

// chain creates a root and the certificates below it, the root last. For the issuer that is one
// intermediate with the given key; for the timestamp authority an intermediate, and a leaf with it.
func (a *authority) chain(leaf []pkix.Extension, usage x509.ExtKeyUsage, name string, last []byte) ([][]byte, error) {
	rootKey, err := makeKey("ecdsa-p256")
	if err != nil {
		return nil, err
	}
	middleKey := rootKey
	if leaf == nil {
		middleKey, err = parseKey(last)
	} else {
		middleKey, err = makeKey("ecdsa-p256")
	}
	if err != nil {
		return nil, err
	}
	rootTemplate := a.template(name+"-root", 1)
	rootTemplate.IsCA, rootTemplate.BasicConstraintsValid = true, true
	rootTemplate.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign
	root, err := certify(rootTemplate, rootTemplate, rootKey.Public(), rootKey)
	if err != nil {
		return nil, err
	}
	middleTemplate := a.template(name+"-intermediate", 2)
	middleTemplate.IsCA, middleTemplate.BasicConstraintsValid, middleTemplate.MaxPathLenZero = true, true, true
	middleTemplate.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageCRLSign
	middleTemplate.ExtKeyUsage = []x509.ExtKeyUsage{usage}
	middle, err := certify(middleTemplate, root, middleKey.Public(), rootKey)
	if err != nil || leaf == nil {
		return [][]byte{middle.Raw, root.Raw}, err
	}
	leafKey, err := parseKey(last)
	if err != nil {
		return nil, err
	}
	leafTemplate := a.template(name, 3)
	leafTemplate.KeyUsage = x509.KeyUsageDigitalSignature
	leafTemplate.ExtraExtensions = leaf
	end, err := certify(leafTemplate, middle, leafKey.Public(), middleKey)
	if err != nil {
		return nil, err
	}
	return [][]byte{end.Raw, middle.Raw, root.Raw}, nil
}

func (a *authority) template(name string, serial int64) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(serial),
		Subject:      pkix.Name{Organization: []string{"schedkit lab"}, CommonName: name},
		NotBefore:    a.CreatedAt.Add(-lifetime),
		NotAfter:     a.CreatedAt.Add(lifetime),
	}
}

// trustedRoot is for verifiers, in the format of Sigstore's public instance.
func (a *authority) trustedRoot() (json.RawMessage, error) {
	type object = map[string]any
	period := object{"start": a.CreatedAt.Add(-lifetime).Format(time.RFC3339)}
	log := func(url, details string, private []byte) (object, error) {
		key, err := parseKey(private)
		if err != nil {
			return nil, err
		}
		public, err := x509.MarshalPKIXPublicKey(key.Public())
		id, keyErr := logKeyID(key.Public(), hostOf(url))
		if err == nil {
			err = keyErr
		}
		return object{
			"baseUrl": url, "hashAlgorithm": "SHA2_256", "logId": logID{id},
			"publicKey": object{"rawBytes": public, "keyDetails": details, "validFor": period},
		}, err
	}
	authorityOf := func(url, name string, chain [][]byte) object {
		certificates := []rawBytes{}
		for _, raw := range chain {
			certificates = append(certificates, rawBytes{raw})
		}
		return object{
			"subject": object{"organization": "schedkit lab", "commonName": name}, "uri": url,
			"certChain": object{"certificates": certificates}, "validFor": period,
		}
	}
	const ecdsa, edwards = "PKIX_ECDSA_P256_SHA_256", "PKIX_ED25519"
	first, err := log(logURL, ecdsa, a.LogKey)
	if err != nil {
		return nil, err
	}
	second, err := log(tileLogURL, edwards, a.TileLogKey)
	if err != nil {
		return nil, err
	}
	certificates, err := log("https://ct.lab.invalid", ecdsa, a.CertLogKey)
	if err != nil {
		return nil, err
	}
	return json.Marshal(object{
		"mediaType":              "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
		"tlogs":                  []any{first, second},
		"certificateAuthorities": []any{authorityOf("https://fulcio.lab.invalid", "issuer", a.IssuerChain)},
		"ctlogs":                 []any{certificates},
		"timestampAuthorities":   []any{authorityOf("https://tsa.lab.invalid", "tsa", a.TSAChain)},
	})
}

func readAuthority(path string) (authority, error) {
	var kept authority
	text, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(text, &kept)
	}
	return kept, err
}

func certify(template, parent *x509.Certificate, public crypto.PublicKey, key crypto.Signer) (*x509.Certificate, error) {
	raw, err := x509.CreateCertificate(rand.Reader, template, parent, public, key)
	if err != nil {
		return nil, err
	}
	return x509.ParseCertificate(raw)
}

func parseKey(pkcs8 []byte) (crypto.Signer, error) {
	key, err := x509.ParsePKCS8PrivateKey(pkcs8)
	if err != nil {
		return nil, err
	}
	return key.(crypto.Signer), nil
}

func hashOf(bytes []byte) []byte {
	sum := sha256.Sum256(bytes)
	return sum[:]
}
