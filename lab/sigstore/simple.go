// Signatures in the format of cosign 2: a payload in a layer, everything else in its annotations.
// Good ones, and ones with a single flaw.
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
	signatureAnnotation   = "dev.cosignproject.cosign/signature"
	certificateAnnotation = "dev.sigstore.cosign/certificate"
	chainAnnotation       = "dev.sigstore.cosign/chain"
	bundleAnnotation      = "dev.sigstore.cosign/bundle"
	timestampAnnotation   = "dev.sigstore.cosign/rfc3161timestamp"
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

func (w *signatureSpec) simple() (simple, error) {
	key, err := w.newKey()
	if err != nil {
		return simple{}, err
	}
	signature, err := key.sign(w.payload)
	if err != nil {
		return simple{}, err
	}
	chain := ""
	for _, raw := range w.ca.IssuerChain {
		chain += encodePEM("CERTIFICATE", raw)
	}
	result := simple{string(w.payload), map[string]string{
		signatureAnnotation:   base64.StdEncoding.EncodeToString(signature),
		certificateAnnotation: encodePEM("CERTIFICATE", key.certificate.Raw),
		chainAnnotation:       chain,
	}}
	if w.logVersion == rekorV1 {
		what := w.recorded(logged{certificate: key.certificate.Raw, signature: signature, message: w.payload})
		entry, err := w.log.rekorV1Entry(what, w.loggedAt)
		if err != nil {
			return result, err
		}
		result.Annotations[bundleAnnotation] = entry.annotation()
	}
	if w.tsa != nil {
		// The timestamp authority stamps the signature as it is written in the annotation's bytes.
		response, err := w.tsa.timestamp(signature, w.stampedAt)
		if err != nil {
			return result, err
		}
		annotation, _ := json.Marshal(object{"SignedRFC3161Timestamp": response})
		result.Annotations[timestampAnnotation] = string(annotation)
	}
	return result, nil
}

// annotation is the log entry as an annotation carries it.
func (e *logEntry) annotation() string {
	annotation, _ := json.Marshal(object{"SignedEntryTimestamp": e.Promise.Timestamp, "Payload": e.promised()})
	return string(annotation)
}

type simpleCase struct {
	name   string
	change func(*signatureSpec)
	tamper func(*simple)
}

func (g *generator) simpleCases(other simple) []simpleCase {
	keep, leave := func(*signatureSpec) {}, func(*simple) {}
	withPayload := func(kind, repository, digest string) func(*signatureSpec) {
		return func(w *signatureSpec) { w.payload = simplePayload(kind, repository, digest) }
	}
	repository, digest, unrelated := g.request.Repository, g.request.Digest, "sha256:"+strings.Repeat("ab", 32)
	without := func(annotation string) func(*simple) { return func(s *simple) { delete(s.Annotations, annotation) } }
	borrow := func(annotation string) func(*simple) {
		return func(s *simple) { s.Annotations[annotation] = other.Annotations[annotation] }
	}
	edit := func(annotation, old, new string) func(*simple) {
		return func(s *simple) { s.Annotations[annotation] = strings.Replace(s.Annotations[annotation], old, new, 1) }
	}
	return []simpleCase{
		{"good", keep, leave},
		{"good-timestamp", func(w *signatureSpec) { w.tsa = g.trusted }, leave},
		{"good-expired-since", func(w *signatureSpec) { w.expireAnHourAgo(); w.loggedAt = g.now.Add(-time.Hour) }, leave},
		{"no-chain", keep, without(chainAnnotation)},

		{"other-identity", func(w *signatureSpec) { w.signer.identity = otherIdentity }, leave},
		{"other-issuer", func(w *signatureSpec) { w.signer.issuer = otherIssuer }, leave},

		{"foreign-ca", func(w *signatureSpec) { w.ca = g.untrusted }, leave},
		{"foreign-log", func(w *signatureSpec) { w.log = g.untrusted }, leave},
		{"foreign-sct", func(w *signatureSpec) { w.certLog = g.untrusted }, leave},
		{"foreign-timestamp", func(w *signatureSpec) { w.tsa = g.untrusted }, leave},
		{"not-for-signing-code", func(w *signatureSpec) { w.signer.usage = x509.ExtKeyUsageServerAuth }, leave},

		{"no-log-entry", func(w *signatureSpec) { w.logVersion = noLog }, leave},
		{"no-log-entry-but-timestamp", func(w *signatureSpec) { w.logVersion = noLog; w.tsa = g.trusted }, leave},
		{"tampered-sct", func(w *signatureSpec) { w.signer.corruptSCT = true }, leave},
		{"no-sct", func(w *signatureSpec) { w.certLog = nil }, leave},
		{"no-certificate", keep, without(certificateAnnotation)},
		{"no-signature", keep, without(signatureAnnotation)},

		{"expired-no-time", func(w *signatureSpec) { w.logVersion = noLog; w.expireAnHourAgo() }, leave},
		{"expired-when-logged", func(w *signatureSpec) { w.expireAnHourAgo() }, leave},
		{"logged-before-valid", func(w *signatureSpec) { w.loggedAt = g.now.Add(-time.Hour) }, leave},

		{"wrong-digest", withPayload(simpleKind, repository, unrelated), leave},
		{"wrong-kind", withPayload("something else", repository, digest), leave},
		{"other-repository", withPayload(simpleKind, "somewhere.invalid/else", digest), leave},
		{"payload-no-json", func(w *signatureSpec) { w.payload = []byte("signed") }, leave},

		{"tampered-payload", withPayload(simpleKind, repository, unrelated), func(s *simple) {
			s.Payload = string(simplePayload(simpleKind, repository, digest))
		}},
		{"tampered-signature", keep, func(s *simple) {
			signature, _ := base64.StdEncoding.DecodeString(s.Annotations[signatureAnnotation])
			flip(signature)
			s.Annotations[signatureAnnotation] = base64.StdEncoding.EncodeToString(signature)
		}},
		{"tampered-set", keep, func(s *simple) {
			var annotation map[string]json.RawMessage
			_ = json.Unmarshal([]byte(s.Annotations[bundleAnnotation]), &annotation)
			var set []byte
			_ = json.Unmarshal(annotation["SignedEntryTimestamp"], &set)
			flip(set)
			annotation["SignedEntryTimestamp"], _ = json.Marshal(set)
			text, _ := json.Marshal(annotation)
			s.Annotations[bundleAnnotation] = string(text)
		}},
		{"tampered-log-index", keep, edit(bundleAnnotation, `"logIndex":4711`, `"logIndex":4712`)},
		{"corrupt-log-entry", keep, edit(bundleAnnotation, `{`, ``)},

		{"ed25519-certificate", func(w *signatureSpec) { w.algorithm = "ed25519" }, leave},
		{"signature-by-another-key", func(w *signatureSpec) { w.wrongKey = true }, leave},
		{"logged-another-payload", func(w *signatureSpec) {
			w.changeLogged = func(l *logged) { l.message = []byte("something else") }
		}, leave},
		{"logged-another-signature", func(w *signatureSpec) {
			w.changeLogged = func(l *logged) { l.signature = []byte("something else") }
		}, leave},
		{"logged-another-certificate", func(w *signatureSpec) {
			w.changeLogged = func(l *logged) { l.certificate = g.trusted.IssuerChain[0] }
		}, leave},

		{"entry-of-another", keep, borrow(bundleAnnotation)},
		{"certificate-of-another", keep, borrow(certificateAnnotation)},
		{"signature-of-another", keep, borrow(signatureAnnotation)},
	}
}

func (g *generator) signatures() (map[string]simple, error) {
	goodPayload := simplePayload(simpleKind, g.request.Repository, g.request.Digest)
	defaults := g.defaults(goodPayload)
	other, err := defaults.simple()
	if err != nil {
		return nil, err
	}
	result := map[string]simple{}
	for _, each := range g.simpleCases(other) {
		spec := g.defaults(goodPayload)
		each.change(&spec)
		signature, err := spec.simple()
		if err != nil {
			return nil, err
		}
		each.tamper(&signature)
		result[each.name] = signature
	}
	return result, nil
}
