// Keyless signatures as asked for: a wish is filled as it stands, sensible or not.
package main

import (
	"crypto"
	"crypto/rand"
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

// issued holds the same request filled in many ways, by the names in bundles.go and simple.go.
type issued struct {
	Bundles    map[string]string `json:"bundles"`
	Signatures map[string]simple `json:"signatures"`
}

func issue(path string, now time.Time) error {
	asked, err := question[issueRequest]()
	if err != nil {
		return err
	}
	ours, err := readAuthority(path)
	if err != nil {
		return err
	}
	stranger, err := newAuthority(now)
	if err != nil {
		return err
	}
	desk := desk{asked, &ours, &stranger, now}
	bundles, err := desk.bundles()
	if err != nil {
		return err
	}
	signatures, err := desk.signatures()
	return answer(issued{bundles, signatures}, err)
}

type desk struct {
	asked          issueRequest
	ours, stranger *authority
	now            time.Time
}

type generation int

const (
	noLog generation = iota
	firstLog
	secondLog
)

// wish says who vouches for which part of a signature. A nil authority leaves its part out.
type wish struct {
	who         signer
	ca          *authority
	certLog     *authority
	log         *authority
	generation  generation
	loggedAt    time.Time
	clock       *authority
	stampedAt   time.Time
	payload     []byte
	payloadType string
	// stray signs with a key that the certificate knows nothing of; the log records it faithfully.
	stray bool
	// misreport changes what the log records.
	misreport func(*logged)
}

// plain is what an honest signer gets now.
func (d *desk) plain(payload []byte) wish {
	begin := d.now.Add(-time.Minute)
	return wish{
		who:         signer{identity: d.asked.Identity, issuer: d.asked.Issuer, begin: begin, usage: x509.ExtKeyUsageCodeSigning},
		ca:          d.ours,
		certLog:     d.ours,
		log:         d.ours,
		generation:  firstLog,
		loggedAt:    d.now,
		stampedAt:   d.now,
		payload:     payload,
		payloadType: inToto,
	}
}

// anHourAgo moves the certificate, and just it, to where it is long out of date.
func (w *wish) anHourAgo() { w.who.begin = w.who.begin.Add(-time.Hour) }

// second turns to the second generation, which needs a clock.
func (w *wish) second(clock *authority) { w.generation, w.clock = secondLog, clock }

// pen is a key used once and its certificate.
type pen struct {
	key         crypto.Signer
	certificate *x509.Certificate
}

func (w *wish) pen() (pen, error) {
	key, err := makeKey("ecdsa-p256")
	if err != nil {
		return pen{}, err
	}
	certificate, err := w.ca.certificate(w.who, key.Public(), w.certLog)
	if err == nil && w.stray {
		key, err = makeKey("ecdsa-p256")
	}
	return pen{key, certificate}, err
}

// report is what the log is told.
func (w *wish) report(what logged) logged {
	if w.misreport != nil {
		w.misreport(&what)
	}
	return what
}

func (p *pen) sign(message []byte) ([]byte, error) {
	return p.key.Sign(rand.Reader, hashOf(message), crypto.SHA256)
}

func (w *wish) bundle() (*bundle, error) {
	pen, err := w.pen()
	if err != nil {
		return nil, err
	}
	message := preAuthentication(w.payloadType, w.payload)
	signature, err := pen.sign(message)
	if err != nil {
		return nil, err
	}
	made := &bundle{
		MediaType: bundleType,
		Material:  material{Certificate: &rawBytes{pen.certificate.Raw}},
		Envelope:  &envelope{Payload: w.payload, PayloadType: w.payloadType, Signatures: []envelopeSignature{{Sig: signature}}},
	}
	return made, w.attest(made, logged{certificate: pen.certificate.Raw, signature: signature, message: message, envelope: made.Envelope})
}

// messageBundle is what signing a file gives: no statement, so nothing says what the bytes are.
func (w *wish) messageBundle(message []byte) (*bundle, error) {
	pen, err := w.pen()
	if err != nil {
		return nil, err
	}
	signature, err := pen.sign(message)
	if err != nil {
		return nil, err
	}
	made := &bundle{
		MediaType: bundleType,
		Material:  material{Certificate: &rawBytes{pen.certificate.Raw}},
		Message:   &messageSignature{messageDigest{"SHA2_256", hashOf(message)}, signature},
	}
	return made, w.attest(made, logged{certificate: pen.certificate.Raw, signature: signature, message: message})
}

// attest adds what log and clock have to say.
func (w *wish) attest(made *bundle, what logged) error {
	recorded := w.report(what)
	switch w.generation {
	case noLog:
	case firstLog:
		entry, err := w.log.firstGeneration(recorded, w.loggedAt)
		if err != nil {
			return err
		}
		made.Material.Entries = []logEntry{entry}
	case secondLog:
		entry, err := w.log.secondGeneration(recorded)
		if err != nil {
			return err
		}
		made.Material.Entries = []logEntry{entry}
	}
	if w.clock == nil {
		return nil
	}
	response, err := w.clock.timestamp(what.signature, w.stampedAt)
	made.Material.Timestamps = &timestamps{[]signedTimestamp{{response}}}
	return err
}

func text(value any) (string, error) {
	bytes, err := json.Marshal(value)
	return string(bytes), err
}
