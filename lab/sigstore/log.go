// The transparency logs: Rekor v1 (an entry has a signed time and an inclusion proof) and Rekor v2
// (an inclusion proof only, so the time comes from a timestamp authority); and that authority.
package main

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"time"

	"github.com/digitorus/timestamp"
)

const (
	logURL     = "https://rekor.lab.invalid"
	tileLogURL = "https://log2025.rekor.lab.invalid"
	// The checkpoints of Rekor v1 name the tree besides the host.
	treeSuffix = " - 1193050959916656506"
	// The index of an entry in the whole Rekor v1 log. Its index in the proved tree differs, because
	// the log is split into shards.
	globalIndex = 4711
)

// logged is what a log records about a signature.
type logged struct {
	certificate []byte // DER; or else
	publicKey   []byte // DER, if there is no certificate
	signature   []byte
	message     []byte // what was signed
	envelope    *envelope
}

// rekorV1Entry records a signature with the time.
func (a *authority) rekorV1Entry(what logged, at time.Time) (logEntry, error) {
	body, kind, err := what.rekorV1Body()
	if err != nil {
		return logEntry{}, err
	}
	key, err := parseKey(a.LogKey)
	if err != nil {
		return logEntry{}, err
	}
	id, err := logKeyID(key.Public(), "")
	if err != nil {
		return logEntry{}, err
	}
	entry := logEntry{Index: globalIndex, Log: logID{id}, Kind: kind, IntegratedTime: at.Unix(), Body: body}
	promise, err := json.Marshal(entry.promised())
	if err != nil {
		return logEntry{}, err
	}
	set, err := key.Sign(rand.Reader, hashOf(promise), crypto.SHA256)
	if err != nil {
		return logEntry{}, err
	}
	entry.Promise = &inclusionPromise{set}
	entry.Proof, err = prove(body, hostOf(logURL), treeSuffix, key)
	return entry, err
}

// promisedEntry is what Rekor v1 signs (the signed entry timestamp). Go writes the fields in this
// order and without spaces, which is the canonical form.
type promisedEntry struct {
	Body           string `json:"body"`
	IntegratedTime int64  `json:"integratedTime"`
	LogID          string `json:"logID"`
	LogIndex       int64  `json:"logIndex"`
}

func (e *logEntry) promised() promisedEntry {
	return promisedEntry{base64.StdEncoding.EncodeToString(e.Body), e.IntegratedTime, hex.EncodeToString(e.Log.Key), e.Index}
}

type object = map[string]any

func (w *logged) rekorV1Body() ([]byte, kindVersion, error) {
	pem := []byte(encodePEM("CERTIFICATE", w.certificate))
	if w.certificate == nil {
		pem = []byte(encodePEM("PUBLIC KEY", w.publicKey))
	}
	hash := func(bytes []byte) object {
		return object{"algorithm": "sha256", "value": hex.EncodeToString(hashOf(bytes))}
	}
	kind, spec := "hashedrekord", object{
		"data":      object{"hash": hash(w.message)},
		"signature": object{"content": w.signature, "publicKey": object{"content": pem}},
	}
	if w.envelope != nil {
		text, err := json.Marshal(w.envelope)
		if err != nil {
			return nil, kindVersion{}, err
		}
		kind, spec = "dsse", object{
			"envelopeHash": hash(text), "payloadHash": hash(w.envelope.Payload),
			"signatures": []object{{"signature": w.signature, "verifier": pem}},
		}
	}
	body, err := json.Marshal(object{"apiVersion": "0.0.1", "kind": kind, "spec": spec})
	return body, kindVersion{kind, "0.0.1"}, err
}

// rekorV2Entry records a signature without a time.
func (a *authority) rekorV2Entry(what logged) (logEntry, error) {
	key, err := parseKey(a.TileLogKey)
	if err != nil {
		return logEntry{}, err
	}
	id, err := logKeyID(key.Public(), hostOf(tileLogURL))
	if err != nil {
		return logEntry{}, err
	}
	verifier := object{"keyDetails": "PKIX_ECDSA_P256_SHA_256", "x509Certificate": rawBytes{what.certificate}}
	if what.certificate == nil {
		verifier = object{"keyDetails": "PKIX_ECDSA_P256_SHA_256", "publicKey": rawBytes{what.publicKey}}
	}
	body, err := json.Marshal(object{"apiVersion": "0.0.2", "kind": "hashedrekord", "spec": object{"hashedRekordV002": object{
		"data":      object{"algorithm": "SHA2_256", "digest": hashOf(what.message)},
		"signature": object{"content": what.signature, "verifier": verifier},
	}}})
	if err != nil {
		return logEntry{}, err
	}
	proof, err := prove(body, hostOf(tileLogURL), "", key)
	return logEntry{Index: 1, Log: logID{id}, Kind: kindVersion{"hashedrekord", "0.0.2"}, Proof: proof, Body: body}, err
}

// prove puts the entry second into a tree of two, so that the proof has a hash to tamper with.
func prove(body []byte, host, suffix string, key crypto.Signer) (*inclusionProof, error) {
	leaf := hashOf(append([]byte{0}, body...))
	sibling := hashOf(append([]byte{0}, "an entry of somebody else"...))
	root := hashOf(bytes.Join([][]byte{{1}, sibling, leaf}, nil))
	text := fmt.Sprintf("%s%s\n2\n%s\n", host, suffix, base64.StdEncoding.EncodeToString(root))
	signature, err := signMessage(key, "sha256", "", []byte(text))
	if err != nil {
		return nil, err
	}
	id, err := logKeyID(key.Public(), host)
	if err != nil {
		return nil, err
	}
	line := base64.StdEncoding.EncodeToString(append(id[:4:4], signature...))
	return &inclusionProof{
		Index: 1, Root: root, Size: 2, Hashes: [][]byte{sibling},
		Checkpoint: checkpoint{fmt.Sprintf("%s\n\u2014 %s %s\n", text, host, line)},
	}, nil
}

// logKeyID is a log's id. For an Ed25519 key it depends on the log's host, as in signed notes.
func logKeyID(public crypto.PublicKey, host string) ([]byte, error) {
	if key, edwards := public.(ed25519.PublicKey); edwards {
		sum := sha256.Sum256(append([]byte(host+"\n\x01"), key...))
		return sum[:], nil
	}
	der, err := x509.MarshalPKIXPublicKey(public)
	return hashOf(der), err
}

func hostOf(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return address
	}
	return parsed.Hostname()
}

// timestamp is an RFC 3161 timestamp of a signature.
func (a *authority) timestamp(signature []byte, at time.Time) ([]byte, error) {
	certificate, err := x509.ParseCertificate(a.TSAChain[0])
	if err != nil {
		return nil, err
	}
	key, err := parseKey(a.TSAKey)
	if err != nil {
		return nil, err
	}
	stamp := timestamp.Timestamp{
		HashAlgorithm: crypto.SHA256,
		HashedMessage: hashOf(signature),
		Time:          at,
		Policy:        asn1.ObjectIdentifier{1, 3, 6, 1, 4, 1, 57264, 2},
	}
	return stamp.CreateResponseWithOpts(certificate, key, crypto.SHA256)
}
