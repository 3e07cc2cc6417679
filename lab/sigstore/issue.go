// Creates keyless signatures from a signatureSpec, valid or not.
package main

import (
	"crypto"
	"crypto/x509"
	"encoding/json"
	"time"
)

type issueRequest struct {
	Digest     string `json:"digest"`
	Repository string `json:"repository"`
	Identity   string `json:"identity"`
	Issuer     string `json:"issuer"`
}

// issued holds the signatures by case; bundles.go and simple.go have the cases.
type issued struct {
	Bundles    map[string]string `json:"bundles"`
	Signatures map[string]simple `json:"signatures"`
}

func issue(path string, now time.Time) error {
	request, err := readInput[issueRequest]()
	if err != nil {
		return err
	}
	trusted, err := readAuthority(path)
	if err != nil {
		return err
	}
	untrusted, err := newAuthority(now)
	if err != nil {
		return err
	}
	generator := generator{request, &trusted, &untrusted, now}
	bundles, err := generator.bundles()
	if err != nil {
		return err
	}
	signatures, err := generator.signatures()
	return writeOutput(issued{bundles, signatures}, err)
}

type generator struct {
	request            issueRequest
	trusted, untrusted *authority
	now                time.Time
}

type logVersion int

const (
	noLog logVersion = iota
	rekorV1
	rekorV2
)

// signatureSpec says which authority issues which part of a signature. A nil authority leaves its
// part out.
type signatureSpec struct {
	signer signer
	// algorithm of the key.
	algorithm   string
	ca          *authority
	certLog     *authority
	log         *authority
	logVersion  logVersion
	loggedAt    time.Time
	tsa         *authority
	stampedAt   time.Time
	payload     []byte
	payloadType string
	// wrongKey signs with another key than the certificate's; the log records that signature.
	wrongKey bool
	// changeLogged changes what the log records.
	changeLogged func(*logged)
}

// defaults is a valid signature of the requested image.
func (g *generator) defaults(payload []byte) signatureSpec {
	begin := g.now.Add(-time.Minute)
	return signatureSpec{
		signer:      signer{identity: g.request.Identity, issuer: g.request.Issuer, begin: begin, usage: x509.ExtKeyUsageCodeSigning},
		algorithm:   "ecdsa-p256",
		ca:          g.trusted,
		certLog:     g.trusted,
		log:         g.trusted,
		logVersion:  rekorV1,
		loggedAt:    g.now,
		stampedAt:   g.now,
		payload:     payload,
		payloadType: inToto,
	}
}

// expireAnHourAgo moves the certificate's validity back by an hour, and nothing else.
func (w *signatureSpec) expireAnHourAgo() { w.signer.begin = w.signer.begin.Add(-time.Hour) }

// useRekorV2 records the signature in the Rekor v2 log, which needs a timestamp authority.
func (w *signatureSpec) useRekorV2(tsa *authority) { w.logVersion, w.tsa = rekorV2, tsa }

// oneTimeKey is a key for one signature and its certificate.
type oneTimeKey struct {
	key         crypto.Signer
	certificate *x509.Certificate
}

func (w *signatureSpec) newKey() (oneTimeKey, error) {
	key, err := makeKey(w.algorithm)
	if err != nil {
		return oneTimeKey{}, err
	}
	certificate, err := w.ca.certificate(w.signer, key.Public(), w.certLog)
	if err == nil && w.wrongKey {
		key, err = makeKey(w.algorithm)
	}
	return oneTimeKey{key, certificate}, err
}

// recorded is what the log gets.
func (w *signatureSpec) recorded(what logged) logged {
	if w.changeLogged != nil {
		w.changeLogged(&what)
	}
	return what
}

func (k *oneTimeKey) sign(message []byte) ([]byte, error) {
	return signMessage(k.key, "", "", message)
}

func (w *signatureSpec) bundle() (*bundle, error) {
	key, err := w.newKey()
	if err != nil {
		return nil, err
	}
	message := preAuthentication(w.payloadType, w.payload)
	signature, err := key.sign(message)
	if err != nil {
		return nil, err
	}
	result := &bundle{
		MediaType: bundleType,
		Material:  material{Certificate: &rawBytes{key.certificate.Raw}},
		Envelope:  &envelope{Payload: w.payload, PayloadType: w.payloadType, Signatures: []envelopeSignature{{Sig: signature}}},
	}
	return result, w.attest(result, logged{certificate: key.certificate.Raw, signature: signature, message: message, envelope: result.Envelope})
}

// messageBundle signs a file: a bundle without a statement.
func (w *signatureSpec) messageBundle(message []byte) (*bundle, error) {
	key, err := w.newKey()
	if err != nil {
		return nil, err
	}
	signature, err := key.sign(message)
	if err != nil {
		return nil, err
	}
	result := &bundle{
		MediaType: bundleType,
		Material:  material{Certificate: &rawBytes{key.certificate.Raw}},
		Message:   &messageSignature{messageDigest{"SHA2_256", hashOf(message)}, signature},
	}
	return result, w.attest(result, logged{certificate: key.certificate.Raw, signature: signature, message: message})
}

// attest adds the log entry and the timestamp.
func (w *signatureSpec) attest(result *bundle, what logged) error {
	entered := w.recorded(what)
	switch w.logVersion {
	case noLog:
	case rekorV1:
		entry, err := w.log.rekorV1Entry(entered, w.loggedAt)
		if err != nil {
			return err
		}
		result.Material.Entries = []logEntry{entry}
	case rekorV2:
		entry, err := w.log.rekorV2Entry(entered)
		if err != nil {
			return err
		}
		result.Material.Entries = []logEntry{entry}
	}
	if w.tsa == nil {
		return nil
	}
	response, err := w.tsa.timestamp(what.signature, w.stampedAt)
	result.Material.Timestamps = &timestamps{[]signedTimestamp{{response}}}
	return err
}

func text(value any) (string, error) {
	bytes, err := json.Marshal(value)
	return string(bytes), err
}
