// An authority: the certificate authority, the logs and the timestamp authority that one trusted
// root vouches for. A second one, founded on the spot, plays the stranger.
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

// How long before and after its founding an authority may issue. Some material is issued for
// hours ago, to be out of date now.
const lifetime = 48 * time.Hour

// authority is written to a file between two runs: every secret of it is worth nothing.
type authority struct {
	Founded     time.Time `json:"founded"`
	IssuerChain [][]byte  `json:"issuerChain"`
	IssuerKey   []byte    `json:"issuerKey"`
	CertLogKey  []byte    `json:"certLogKey"`
	LogKey      []byte    `json:"logKey"`
	TileLogKey  []byte    `json:"tileLogKey"`
	ClockChain  [][]byte  `json:"clockChain"`
	ClockKey    []byte    `json:"clockKey"`
}

type founding struct {
	Authority   authority       `json:"authority"`
	TrustedRoot json.RawMessage `json:"trustedRoot"`
}

func found(now time.Time) (founding, error) {
	made, err := newAuthority(now)
	if err != nil {
		return founding{}, err
	}
	trusted, err := made.trustedRoot()
	return founding{made, trusted}, err
}

func newAuthority(now time.Time) (authority, error) {
	made := authority{Founded: now.UTC().Truncate(time.Second)}
	for algorithm, places := range map[string][]*[]byte{
		"ecdsa-p256": {&made.IssuerKey, &made.CertLogKey, &made.LogKey, &made.ClockKey},
		"ed25519":    {&made.TileLogKey},
	} {
		for _, place := range places {
			key, err := makeKey(algorithm)
			if err != nil {
				return made, err
			}
			if *place, err = x509.MarshalPKCS8PrivateKey(key); err != nil {
				return made, err
			}
		}
	}
	var err error
	if made.IssuerChain, err = made.chain(nil, x509.ExtKeyUsageCodeSigning, "issuer", made.IssuerKey); err != nil {
		return made, err
	}
	// A timestamp's certificate must say critically that it serves nothing else.
	clock, err := asn1.Marshal([]asn1.ObjectIdentifier{{1, 3, 6, 1, 5, 5, 7, 3, 8}})
	if err != nil {
		return made, err
	}
	only := []pkix.Extension{{Id: asn1.ObjectIdentifier{2, 5, 29, 37}, Critical: true, Value: clock}}
	made.ClockChain, err = made.chain(only, x509.ExtKeyUsageTimeStamping, "clock", made.ClockKey)
	return made, err
}

// chain makes a root and what it vouches for, the root last. For the issuer that is one
// intermediate with the given key, for the clock an intermediate and a leaf with it.
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
		NotBefore:    a.Founded.Add(-lifetime),
		NotAfter:     a.Founded.Add(lifetime),
	}
}

// trustedRoot is what a verifier is given. Its form is that of Sigstore's public instance.
func (a *authority) trustedRoot() (json.RawMessage, error) {
	type object = map[string]any
	period := object{"start": a.Founded.Add(-lifetime).Format(time.RFC3339)}
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
		"timestampAuthorities":   []any{authorityOf("https://tsa.lab.invalid", "clock", a.ClockChain)},
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
