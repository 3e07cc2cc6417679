// Bundles in the format of cosign 3: good ones, and ones with a single flaw, which the name tells.
// `lab/tests/verdicts.md` has the verdict of each cosign version.
package main

import (
	"crypto/x509"
	"strings"
	"time"
)

const (
	otherIdentity = "https://github.com/somebody-else/schedulers/.github/workflows/build.yml@refs/heads/main"
	otherIssuer   = "https://issuer.somebody-else.invalid"
	provenance    = "https://slsa.dev/provenance/v1"
)

// bundleCase changes the defaults, then tampers with the bundle that was created from them.
type bundleCase struct {
	name   string
	change func(*signatureSpec)
	tamper func(*bundle)
}

func (g *generator) bundleCases(other *bundle) []bundleCase {
	keep, leave := func(*signatureSpec) {}, func(*bundle) {}
	withPayload := func(payload []byte) func(*signatureSpec) { return func(w *signatureSpec) { w.payload = payload } }
	statementFor := func(digests ...string) []byte { return statement(statementType, signPredicate, digests...) }
	digest, unrelated := g.request.Digest, "sha256:"+strings.Repeat("ab", 32)
	entry := func(b *bundle) *logEntry { return &b.Material.Entries[0] }
	return []bundleCase{
		{"good", keep, leave},
		{"good-timestamp", func(w *signatureSpec) { w.tsa = g.trusted }, leave},
		{"good-second-log", func(w *signatureSpec) { w.useRekorV2(g.trusted) }, leave},
		{"good-expired-since", func(w *signatureSpec) { w.expireAnHourAgo(); w.loggedAt = g.now.Add(-time.Hour) }, leave},
		{"good-second-log-expired-since", func(w *signatureSpec) {
			w.useRekorV2(g.trusted)
			w.expireAnHourAgo()
			w.stampedAt = g.now.Add(-time.Hour)
		}, leave},

		// Signed by another identity.
		{"other-identity", func(w *signatureSpec) { w.signer.identity = otherIdentity }, leave},
		{"other-issuer", func(w *signatureSpec) { w.signer.issuer = otherIssuer }, leave},
		{"identity-prefixed", func(w *signatureSpec) { w.signer.identity = "https://evil.invalid/?" + w.signer.identity }, leave},
		{"identity-suffixed", func(w *signatureSpec) { w.signer.identity += "-evil" }, leave},
		{"issuer-suffixed", func(w *signatureSpec) { w.signer.issuer += ".evil.invalid" }, leave},

		// Issued by an untrusted authority.
		{"foreign-ca", func(w *signatureSpec) { w.ca = g.untrusted }, leave},
		{"foreign-log", func(w *signatureSpec) { w.log = g.untrusted }, leave},
		{"foreign-second-log", func(w *signatureSpec) { w.log = g.untrusted; w.useRekorV2(g.trusted) }, leave},
		{"foreign-sct", func(w *signatureSpec) { w.certLog = g.untrusted }, leave},
		{"foreign-timestamp", func(w *signatureSpec) { w.useRekorV2(g.untrusted) }, leave},
		{"foreign-timestamp-beside-log", func(w *signatureSpec) { w.tsa = g.untrusted }, leave},
		{"not-for-signing-code", func(w *signatureSpec) { w.signer.usage = x509.ExtKeyUsageServerAuth }, leave},

		// A part is missing.
		{"no-log-entry", func(w *signatureSpec) { w.logVersion = noLog }, leave},
		{"no-log-entry-but-timestamp", func(w *signatureSpec) { w.logVersion = noLog; w.tsa = g.trusted }, leave},
		{"no-sct", func(w *signatureSpec) { w.certLog = nil }, leave},
		{"no-set", keep, func(b *bundle) { entry(b).Promise = nil }},
		{"no-set-but-timestamp", func(w *signatureSpec) { w.tsa = g.trusted }, func(b *bundle) { entry(b).Promise = nil }},
		{"no-proof", keep, func(b *bundle) { entry(b).Proof = nil }},
		{"no-signature", keep, func(b *bundle) { b.Envelope.Signatures = nil }},
		{"second-log-no-timestamp", func(w *signatureSpec) { w.useRekorV2(nil) }, leave},
		{"expired-no-time", func(w *signatureSpec) { w.expireAnHourAgo() }, func(b *bundle) {
			entry(b).Promise, entry(b).IntegratedTime = nil, 0
		}},

		// Signed outside of the certificate's validity.
		{"expired-when-logged", func(w *signatureSpec) { w.expireAnHourAgo() }, leave},
		{"expired-when-stamped", func(w *signatureSpec) { w.useRekorV2(g.trusted); w.expireAnHourAgo() }, leave},
		{"logged-before-valid", func(w *signatureSpec) { w.loggedAt = g.now.Add(-time.Hour) }, leave},

		// The signed statement is another one.
		{"wrong-digest", withPayload(statementFor(unrelated)), leave},
		{"two-subjects", withPayload(statementFor(unrelated, digest)), leave},
		{"no-subject", withPayload(statementFor()), leave},
		{"wrong-predicate", withPayload(statement(statementType, "https://sigstore.dev/cosign/sign/v2", digest)), leave},
		{"attestation", withPayload(statement(statementType, provenance, digest)), leave},
		{"wrong-statement-type", withPayload(statement("https://in-toto.io/Statement/v9", signPredicate, digest)), leave},
		{"wrong-payload-type", func(w *signatureSpec) { w.payloadType = "text/plain" }, leave},
		{"payload-no-json", withPayload([]byte("signed")), leave},

		// Changed after signing.
		{"tampered-payload", withPayload(statementFor(unrelated)), func(b *bundle) { b.Envelope.Payload = statementFor(digest) }},
		{"tampered-payload-type", keep, func(b *bundle) { b.Envelope.PayloadType = "text/plain" }},
		{"tampered-signature", keep, func(b *bundle) { flip(b.Envelope.Signatures[0].Sig) }},
		{"tampered-set", keep, func(b *bundle) { flip(entry(b).Promise.Timestamp) }},
		{"tampered-integrated-time", keep, func(b *bundle) { entry(b).IntegratedTime-- }},
		{"tampered-proof", keep, func(b *bundle) { flip(entry(b).Proof.Hashes[0]) }},
		{"tampered-root", keep, func(b *bundle) { flip(entry(b).Proof.Root) }},
		{"tampered-checkpoint", keep, func(b *bundle) {
			entry(b).Proof.Checkpoint.Envelope = strings.Replace(entry(b).Proof.Checkpoint.Envelope, "\n2\n", "\n3\n", 1)
		}},
		{"second-log-tampered-proof", func(w *signatureSpec) { w.useRekorV2(g.trusted) }, func(b *bundle) { flip(entry(b).Proof.Hashes[0]) }},
		{"second-log-tampered-checkpoint", func(w *signatureSpec) { w.useRekorV2(g.trusted) }, func(b *bundle) {
			entry(b).Proof.Checkpoint.Envelope = strings.Replace(entry(b).Proof.Checkpoint.Envelope, "\n2\n", "\n3\n", 1)
		}},
		{"tampered-sct", func(w *signatureSpec) { w.signer.corruptSCT = true }, leave},
		{"tampered-certificate", keep, func(b *bundle) { flip(b.Material.Certificate.Raw) }},
		{"tampered-timestamp", func(w *signatureSpec) { w.useRekorV2(g.trusted) }, func(b *bundle) {
			flip(b.Material.Timestamps.Responses[0].Response)
		}},

		// One record is wrong, and every other check passes.
		{"signature-by-another-key", func(w *signatureSpec) { w.wrongKey = true }, leave},
		{"second-log-signature-by-another-key", func(w *signatureSpec) { w.useRekorV2(g.trusted); w.wrongKey = true }, leave},
		{"logged-another-payload", func(w *signatureSpec) {
			w.changeLogged = func(l *logged) {
				l.envelope = &envelope{statementFor(unrelated), inToto, l.envelope.Signatures}
			}
		}, leave},
		{"logged-another-signature", func(w *signatureSpec) {
			w.changeLogged = func(l *logged) { l.signature = other.Envelope.Signatures[0].Sig }
		}, leave},
		{"logged-another-certificate", func(w *signatureSpec) {
			w.changeLogged = func(l *logged) { l.certificate = other.Material.Certificate.Raw }
		}, leave},
		{"second-log-logged-another-payload", func(w *signatureSpec) {
			w.useRekorV2(g.trusted)
			w.changeLogged = func(l *logged) { l.message = []byte("something else") }
		}, leave},
		{"second-log-logged-another-signature", func(w *signatureSpec) {
			w.useRekorV2(g.trusted)
			w.changeLogged = func(l *logged) { l.signature = other.Envelope.Signatures[0].Sig }
		}, leave},
		{"second-log-logged-another-certificate", func(w *signatureSpec) {
			w.useRekorV2(g.trusted)
			w.changeLogged = func(l *logged) { l.certificate = other.Material.Certificate.Raw }
		}, leave},
		{"foreign-checkpoint", keep, func(b *bundle) { entry(b).Proof = g.untrustedProof(entry(b).Body) }},
		{"checkpoint-of-another", keep, func(b *bundle) { entry(b).Proof.Checkpoint = entry(other).Proof.Checkpoint }},

		// The name of a key is not signed. This one has the form that cosign computes.
		{"other-keyid", keep, func(b *bundle) {
			b.Envelope.Signatures[0].KeyID = "SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU"
		}},

		// Valid parts of two signatures.
		{"entry-of-another", keep, func(b *bundle) { b.Material.Entries = other.Material.Entries }},
		{"certificate-of-another", keep, func(b *bundle) { b.Material.Certificate = other.Material.Certificate }},
		{"envelope-of-another", keep, func(b *bundle) { b.Envelope = other.Envelope }},
		{"timestamp-of-another", func(w *signatureSpec) { w.useRekorV2(g.trusted) }, func(b *bundle) {
			b.Material.Timestamps = other.Material.Timestamps
		}},
	}
}

func (g *generator) bundles() (map[string]string, error) {
	goodPayload := statement(statementType, signPredicate, g.request.Digest)
	defaults := g.defaults(goodPayload)
	defaults.tsa = g.trusted
	other, err := defaults.bundle()
	if err != nil {
		return nil, err
	}
	result := map[string]string{}
	for _, each := range g.bundleCases(other) {
		spec := g.defaults(goodPayload)
		each.change(&spec)
		bundle, err := spec.bundle()
		if err != nil {
			return nil, err
		}
		each.tamper(bundle)
		if result[each.name], err = text(bundle); err != nil {
			return nil, err
		}
	}
	defaults = g.defaults(nil)
	message, err := defaults.messageBundle([]byte(g.request.Digest))
	if err != nil {
		return nil, err
	}
	if result["message-signature"], err = text(message); err != nil {
		return nil, err
	}
	good := result["good"]
	result["corrupt"] = good[:len(good)/2]
	result["wrong-media-type"] = strings.Replace(good, "v0.3+json", "v0.9+json", 1)
	return result, nil
}

// untrustedProof is a correct proof, signed by an untrusted log.
func (g *generator) untrustedProof(body []byte) *inclusionProof {
	key, err := parseKey(g.untrusted.LogKey)
	if err != nil {
		return nil
	}
	proof, err := prove(body, hostOf(logURL), treeSuffix, key)
	if err != nil {
		return nil
	}
	return proof
}

// flip changes one bit near the end, so that lengths and tags at the beginning stay valid.
func flip(bytes []byte) { bytes[len(bytes)-3] ^= 1 }
