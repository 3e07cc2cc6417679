// Key pairs of every algorithm that a trust policy accepts, and signatures by key.
package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	_ "crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"time"
)

type keyPair struct {
	Algorithm string `json:"algorithm"`
	Private   string `json:"private"`
	Public    string `json:"public"`
}

func makeKeys(algorithms []string) ([]keyPair, error) {
	var pairs []keyPair
	for _, algorithm := range algorithms {
		key, err := makeKey(algorithm)
		if err != nil {
			return nil, err
		}
		private, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			return nil, err
		}
		public, err := x509.MarshalPKIXPublicKey(key.Public())
		if err != nil {
			return nil, err
		}
		pairs = append(pairs, keyPair{algorithm, encodePEM("PRIVATE KEY", private), encodePEM("PUBLIC KEY", public)})
	}
	return pairs, nil
}

func makeKey(algorithm string) (crypto.Signer, error) {
	switch algorithm {
	case "ecdsa-p256":
		return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case "ecdsa-p384":
		return ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	case "ecdsa-p521":
		return ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	case "ed25519":
		_, key, err := ed25519.GenerateKey(rand.Reader)
		return key, err
	case "rsa-2048":
		return rsa.GenerateKey(rand.Reader, 2048)
	case "rsa-3072":
		return rsa.GenerateKey(rand.Reader, 3072)
	case "rsa-4096":
		return rsa.GenerateKey(rand.Reader, 4096)
	}
	return nil, fmt.Errorf("no such algorithm: %s", algorithm)
}

// signRequest asks for signatures over exactly these bytes.
type signRequest struct {
	Private   string `json:"private"`
	Hash      string `json:"hash"`
	Scheme    string `json:"scheme"`
	Simple    string `json:"simple"`
	Statement string `json:"statement"`
}

// signed has the contents of a `.sig` tag, with the log entry apart, and a bundle.
type signed struct {
	Signature string `json:"signature"`
	LogEntry  string `json:"logEntry"`
	Bundle    string `json:"bundle"`
}

// sign signs by key; if an authority is given, its log records the signatures.
func sign(authorities []string, now time.Time) error {
	request, err := readInput[signRequest]()
	if err != nil {
		return err
	}
	block, _ := pem.Decode([]byte(request.Private))
	if block == nil {
		return errors.New("the request has no PEM key")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return err
	}
	key, ok := parsed.(crypto.Signer)
	if !ok {
		return fmt.Errorf("%T cannot sign", parsed)
	}
	simple, err := signMessage(key, request.Hash, request.Scheme, []byte(request.Simple))
	if err != nil {
		return err
	}
	sig, err := signMessage(key, request.Hash, request.Scheme, preAuthentication(inToto, []byte(request.Statement)))
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return err
	}
	hint := sha256.Sum256(public)
	result := &bundle{
		MediaType: bundleType,
		Material:  material{PublicKey: &publicKeyHint{base64.StdEncoding.EncodeToString(hint[:])}},
		Envelope:  &envelope{Payload: []byte(request.Statement), PayloadType: inToto, Signatures: []envelopeSignature{{Sig: sig}}},
	}
	annotation := ""
	for _, path := range authorities {
		trusted, err := readAuthority(path)
		if err != nil {
			return err
		}
		entry, err := trusted.rekorV1Entry(logged{publicKey: public, signature: sig, envelope: result.Envelope}, now)
		if err != nil {
			return err
		}
		result.Material.Entries = []logEntry{entry}
		entry, err = trusted.rekorV1Entry(logged{publicKey: public, signature: simple, message: []byte(request.Simple)}, now)
		if err != nil {
			return err
		}
		annotation = entry.annotation()
	}
	text, err := json.Marshal(result)
	return writeOutput(signed{base64.StdEncoding.EncodeToString(simple), annotation, string(text)}, err)
}

func signMessage(key crypto.Signer, hash, scheme string, message []byte) ([]byte, error) {
	if _, whole := key.(ed25519.PrivateKey); whole {
		return key.Sign(rand.Reader, message, crypto.Hash(0))
	}
	kinds := map[string]crypto.Hash{"": crypto.SHA256, "sha256": crypto.SHA256, "sha384": crypto.SHA384, "sha512": crypto.SHA512}
	kind, known := kinds[hash]
	if !known {
		return nil, fmt.Errorf("no such hash: %s", hash)
	}
	hasher := kind.New()
	hasher.Write(message)
	var options crypto.SignerOpts = kind
	switch scheme {
	case "":
	case "pss":
		options = &rsa.PSSOptions{SaltLength: rsa.PSSSaltLengthEqualsHash, Hash: kind}
	default:
		return nil, fmt.Errorf("no such scheme: %s", scheme)
	}
	return key.Sign(rand.Reader, hasher.Sum(nil), options)
}

func encodePEM(what string, bytes []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: what, Bytes: bytes}))
}
