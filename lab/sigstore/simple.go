// Signatures of cosign v2's form: a payload in a layer, everything else in its annotations. Good
// ones, and ones with a single flaw.
package main

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"
)

const simpleKind = "cosign container image signature"

// simple is one layer of a `.sig` tag.
type simple struct {
	Payload     string            `json:"payload"`
	Annotations map[string]string `json:"annotations"`
}

const (
	signatureNote   = "dev.cosignproject.cosign/signature"
	certificateNote = "dev.sigstore.cosign/certificate"
	chainNote       = "dev.sigstore.cosign/chain"
	bundleNote      = "dev.sigstore.cosign/bundle"
	timestampNote   = "dev.sigstore.cosign/rfc3161timestamp"
)

func simplePayload(kind, repository, digest string) []byte {
	payload, _ := json.Marshal(object{
		"critical": object{
			"identity": object{"docker-reference": repository},
			"image":    object{"docker-manifest-digest": digest},
			"type":     kind,
		},
		"optional": nil,
	})
	return payload
}

func (w *wish) simple() (simple, error) {
	pen, err := w.pen()
	if err != nil {
		return simple{}, err
	}
	signature, err := pen.sign(w.payload)
	if err != nil {
		return simple{}, err
	}
	chain := ""
	for _, raw := range w.ca.IssuerChain {
		chain += armor("CERTIFICATE", raw)
	}
	made := simple{string(w.payload), map[string]string{
		signatureNote:   base64.StdEncoding.EncodeToString(signature),
		certificateNote: armor("CERTIFICATE", pen.certificate.Raw),
		chainNote:       chain,
	}}
	if w.generation == firstLog {
		what := w.report(logged{certificate: pen.certificate.Raw, signature: signature, message: w.payload})
		entry, err := w.log.firstGeneration(what, w.loggedAt)
		if err != nil {
			return made, err
		}
		made.Annotations[bundleNote] = entry.note()
	}
	if w.clock != nil {
		// The clock stamps the signature as it is written in the annotation's bytes.
		response, err := w.clock.timestamp(signature, w.stampedAt)
		if err != nil {
			return made, err
		}
		note, _ := json.Marshal(object{"SignedRFC3161Timestamp": response})
		made.Annotations[timestampNote] = string(note)
	}
	return made, nil
}

// note is the log's word as an annotation carries it.
func (e *logEntry) note() string {
	note, _ := json.Marshal(object{"SignedEntryTimestamp": e.Promise.Timestamp, "Payload": e.promised()})
	return string(note)
}

type simpleCase struct {
	name   string
	change func(*wish)
	tamper func(*simple)
}

func (d *desk) simpleCases(other simple) []simpleCase {
	keep, leave := func(*wish) {}, func(*simple) {}
	saying := func(kind, repository, digest string) func(*wish) {
		return func(w *wish) { w.payload = simplePayload(kind, repository, digest) }
	}
	repository, digest, unrelated := d.asked.Repository, d.asked.Digest, "sha256:"+strings.Repeat("ab", 32)
	without := func(note string) func(*simple) { return func(s *simple) { delete(s.Annotations, note) } }
	borrow := func(note string) func(*simple) {
		return func(s *simple) { s.Annotations[note] = other.Annotations[note] }
	}
	edit := func(note, old, new string) func(*simple) {
		return func(s *simple) { s.Annotations[note] = strings.Replace(s.Annotations[note], old, new, 1) }
	}
	return []simpleCase{
		{"good", keep, leave},
		{"good-timestamp", func(w *wish) { w.clock = d.ours }, leave},
		{"good-expired-since", func(w *wish) { w.anHourAgo(); w.loggedAt = d.now.Add(-time.Hour) }, leave},
		{"no-chain", keep, without(chainNote)},

		{"other-identity", func(w *wish) { w.who.identity = strangerIdentity }, leave},
		{"other-issuer", func(w *wish) { w.who.issuer = strangerIssuer }, leave},

		{"foreign-ca", func(w *wish) { w.ca = d.stranger }, leave},
		{"foreign-log", func(w *wish) { w.log = d.stranger }, leave},
		{"foreign-sct", func(w *wish) { w.certLog = d.stranger }, leave},
		{"foreign-timestamp", func(w *wish) { w.clock = d.stranger }, leave},
		{"not-for-signing-code", func(w *wish) { w.who.usage = x509.ExtKeyUsageServerAuth }, leave},

		{"no-log-entry", func(w *wish) { w.generation = noLog }, leave},
		{"no-log-entry-but-timestamp", func(w *wish) { w.generation = noLog; w.clock = d.ours }, leave},
		{"tampered-sct", func(w *wish) { w.who.spoiltPromise = true }, leave},
		{"no-sct", func(w *wish) { w.certLog = nil }, leave},
		{"no-certificate", keep, without(certificateNote)},
		{"no-signature", keep, without(signatureNote)},

		{"expired-no-time", func(w *wish) { w.generation = noLog; w.anHourAgo() }, leave},
		{"expired-when-logged", func(w *wish) { w.anHourAgo() }, leave},
		{"logged-before-valid", func(w *wish) { w.loggedAt = d.now.Add(-time.Hour) }, leave},

		{"wrong-digest", saying(simpleKind, repository, unrelated), leave},
		{"wrong-kind", saying("something else", repository, digest), leave},
		{"other-repository", saying(simpleKind, "somewhere.invalid/else", digest), leave},
		{"payload-no-json", func(w *wish) { w.payload = []byte("signed") }, leave},

		{"tampered-payload", saying(simpleKind, repository, unrelated), func(s *simple) {
			s.Payload = string(simplePayload(simpleKind, repository, digest))
		}},
		{"tampered-signature", keep, func(s *simple) {
			signature, _ := base64.StdEncoding.DecodeString(s.Annotations[signatureNote])
			flip(signature)
			s.Annotations[signatureNote] = base64.StdEncoding.EncodeToString(signature)
		}},
		{"tampered-set", keep, func(s *simple) {
			var note map[string]json.RawMessage
			_ = json.Unmarshal([]byte(s.Annotations[bundleNote]), &note)
			var set []byte
			_ = json.Unmarshal(note["SignedEntryTimestamp"], &set)
			flip(set)
			note["SignedEntryTimestamp"], _ = json.Marshal(set)
			text, _ := json.Marshal(note)
			s.Annotations[bundleNote] = string(text)
		}},
		{"tampered-log-index", keep, edit(bundleNote, `"logIndex":4711`, `"logIndex":4712`)},
		{"corrupt-log-entry", keep, edit(bundleNote, `{`, ``)},

		{"signature-by-another-key", func(w *wish) { w.stray = true }, leave},
		{"logged-another-payload", func(w *wish) {
			w.misreport = func(l *logged) { l.message = []byte("something else") }
		}, leave},
		{"logged-another-signature", func(w *wish) {
			w.misreport = func(l *logged) { l.signature = []byte("something else") }
		}, leave},
		{"logged-another-certificate", func(w *wish) {
			w.misreport = func(l *logged) { l.certificate = d.ours.IssuerChain[0] }
		}, leave},

		{"entry-of-another", keep, borrow(bundleNote)},
		{"certificate-of-another", keep, borrow(certificateNote)},
		{"signature-of-another", keep, borrow(signatureNote)},
	}
}

func (d *desk) signatures() (map[string]simple, error) {
	honest := simplePayload(simpleKind, d.asked.Repository, d.asked.Digest)
	plain := d.plain(honest)
	other, err := plain.simple()
	if err != nil {
		return nil, err
	}
	made := map[string]simple{}
	for _, each := range d.simpleCases(other) {
		wish := d.plain(honest)
		each.change(&wish)
		signature, err := wish.simple()
		if err != nil {
			return nil, err
		}
		each.tamper(&signature)
		made[each.name] = signature
	}
	return made, nil
}
