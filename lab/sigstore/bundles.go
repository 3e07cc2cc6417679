// Bundles of cosign v3's form: good ones, and ones with a single flaw. The flaw is in the name;
// `e2e/tests/long_signatures/cosign_verdicts.md` says what each cosign makes of it.
package main

import (
	"crypto/x509"
	"strings"
	"time"
)

const (
	strangerIdentity = "https://github.com/somebody-else/schedulers/.github/workflows/build.yml@refs/heads/main"
	strangerIssuer   = "https://issuer.somebody-else.invalid"
	provenance       = "https://slsa.dev/provenance/v1"
)

// bundleCase fills a changed wish, then tampers with what came out.
type bundleCase struct {
	name   string
	change func(*wish)
	tamper func(*bundle)
}

func (d *desk) bundleCases(other *bundle) []bundleCase {
	keep, leave := func(*wish) {}, func(*bundle) {}
	saying := func(payload []byte) func(*wish) { return func(w *wish) { w.payload = payload } }
	means := func(digests ...string) []byte { return statement(statementType, signPredicate, digests...) }
	digest, unrelated := d.asked.Digest, "sha256:"+strings.Repeat("ab", 32)
	entry := func(b *bundle) *logEntry { return &b.Material.Entries[0] }
	return []bundleCase{
		{"good", keep, leave},
		{"good-timestamp", func(w *wish) { w.clock = d.ours }, leave},
		{"good-second-log", func(w *wish) { w.second(d.ours) }, leave},
		{"good-expired-since", func(w *wish) { w.anHourAgo(); w.loggedAt = d.now.Add(-time.Hour) }, leave},
		{"good-second-log-expired-since", func(w *wish) {
			w.second(d.ours)
			w.anHourAgo()
			w.stampedAt = d.now.Add(-time.Hour)
		}, leave},

		// Somebody else signed.
		{"other-identity", func(w *wish) { w.who.identity = strangerIdentity }, leave},
		{"other-issuer", func(w *wish) { w.who.issuer = strangerIssuer }, leave},
		{"identity-prefixed", func(w *wish) { w.who.identity = "https://evil.invalid/?" + w.who.identity }, leave},
		{"identity-suffixed", func(w *wish) { w.who.identity += "-evil" }, leave},
		{"issuer-suffixed", func(w *wish) { w.who.issuer += ".evil.invalid" }, leave},

		// Somebody else vouches.
		{"foreign-ca", func(w *wish) { w.ca = d.stranger }, leave},
		{"foreign-log", func(w *wish) { w.log = d.stranger }, leave},
		{"foreign-second-log", func(w *wish) { w.log = d.stranger; w.second(d.ours) }, leave},
		{"foreign-sct", func(w *wish) { w.certLog = d.stranger }, leave},
		{"foreign-timestamp", func(w *wish) { w.second(d.stranger) }, leave},
		{"foreign-timestamp-beside-log", func(w *wish) { w.clock = d.stranger }, leave},
		{"not-for-signing-code", func(w *wish) { w.who.usage = x509.ExtKeyUsageServerAuth }, leave},

		// Nobody vouches.
		{"no-log-entry", func(w *wish) { w.generation = noLog }, leave},
		{"no-log-entry-but-timestamp", func(w *wish) { w.generation = noLog; w.clock = d.ours }, leave},
		{"no-sct", func(w *wish) { w.certLog = nil }, leave},
		{"no-set", keep, func(b *bundle) { entry(b).Promise = nil }},
		{"no-set-but-timestamp", func(w *wish) { w.clock = d.ours }, func(b *bundle) { entry(b).Promise = nil }},
		{"no-proof", keep, func(b *bundle) { entry(b).Proof = nil }},
		{"no-signature", keep, func(b *bundle) { b.Envelope.Signatures = nil }},
		{"second-log-no-timestamp", func(w *wish) { w.second(nil) }, leave},
		{"expired-no-time", func(w *wish) { w.anHourAgo() }, func(b *bundle) {
			entry(b).Promise, entry(b).IntegratedTime = nil, 0
		}},

		// It was signed when it could not be.
		{"expired-when-logged", func(w *wish) { w.anHourAgo() }, leave},
		{"expired-when-stamped", func(w *wish) { w.second(d.ours); w.anHourAgo() }, leave},
		{"logged-before-valid", func(w *wish) { w.loggedAt = d.now.Add(-time.Hour) }, leave},

		// It says something else.
		{"wrong-digest", saying(means(unrelated)), leave},
		{"two-subjects", saying(means(unrelated, digest)), leave},
		{"no-subject", saying(means()), leave},
		{"wrong-predicate", saying(statement(statementType, "https://sigstore.dev/cosign/sign/v2", digest)), leave},
		{"attestation", saying(statement(statementType, provenance, digest)), leave},
		{"wrong-statement-type", saying(statement("https://in-toto.io/Statement/v9", signPredicate, digest)), leave},
		{"wrong-payload-type", func(w *wish) { w.payloadType = "text/plain" }, leave},
		{"payload-no-json", saying([]byte("signed")), leave},

		// It was changed afterwards.
		{"tampered-payload", saying(means(unrelated)), func(b *bundle) { b.Envelope.Payload = means(digest) }},
		{"tampered-payload-type", keep, func(b *bundle) { b.Envelope.PayloadType = "text/plain" }},
		{"tampered-signature", keep, func(b *bundle) { flip(b.Envelope.Signatures[0].Sig) }},
		{"tampered-set", keep, func(b *bundle) { flip(entry(b).Promise.Timestamp) }},
		{"tampered-integrated-time", keep, func(b *bundle) { entry(b).IntegratedTime-- }},
		{"tampered-proof", keep, func(b *bundle) { flip(entry(b).Proof.Hashes[0]) }},
		{"tampered-root", keep, func(b *bundle) { flip(entry(b).Proof.Root) }},
		{"tampered-checkpoint", keep, func(b *bundle) {
			entry(b).Proof.Checkpoint.Envelope = strings.Replace(entry(b).Proof.Checkpoint.Envelope, "\n2\n", "\n3\n", 1)
		}},
		{"second-log-tampered-proof", func(w *wish) { w.second(d.ours) }, func(b *bundle) { flip(entry(b).Proof.Hashes[0]) }},
		{"second-log-tampered-checkpoint", func(w *wish) { w.second(d.ours) }, func(b *bundle) {
			entry(b).Proof.Checkpoint.Envelope = strings.Replace(entry(b).Proof.Checkpoint.Envelope, "\n2\n", "\n3\n", 1)
		}},
		{"tampered-sct", func(w *wish) { w.who.spoiltPromise = true }, leave},
		{"tampered-certificate", keep, func(b *bundle) { flip(b.Material.Certificate.Raw) }},
		{"tampered-timestamp", func(w *wish) { w.second(d.ours) }, func(b *bundle) {
			flip(b.Material.Timestamps.Responses[0].Response)
		}},

		// One record is wrong, and every other check is content.
		{"signature-by-another-key", func(w *wish) { w.stray = true }, leave},
		{"second-log-signature-by-another-key", func(w *wish) { w.second(d.ours); w.stray = true }, leave},
		{"logged-another-payload", func(w *wish) {
			w.misreport = func(l *logged) {
				l.envelope = &envelope{means(unrelated), inToto, l.envelope.Signatures}
			}
		}, leave},
		{"logged-another-signature", func(w *wish) {
			w.misreport = func(l *logged) { l.signature = other.Envelope.Signatures[0].Sig }
		}, leave},
		{"logged-another-certificate", func(w *wish) {
			w.misreport = func(l *logged) { l.certificate = other.Material.Certificate.Raw }
		}, leave},
		{"second-log-logged-another-payload", func(w *wish) {
			w.second(d.ours)
			w.misreport = func(l *logged) { l.message = []byte("something else") }
		}, leave},
		{"second-log-logged-another-signature", func(w *wish) {
			w.second(d.ours)
			w.misreport = func(l *logged) { l.signature = other.Envelope.Signatures[0].Sig }
		}, leave},
		{"second-log-logged-another-certificate", func(w *wish) {
			w.second(d.ours)
			w.misreport = func(l *logged) { l.certificate = other.Material.Certificate.Raw }
		}, leave},
		{"foreign-checkpoint", keep, func(b *bundle) { entry(b).Proof = d.strangersProof(entry(b).Body) }},
		{"checkpoint-of-another", keep, func(b *bundle) { entry(b).Proof.Checkpoint = entry(other).Proof.Checkpoint }},

		// Good parts of two signatures.
		{"entry-of-another", keep, func(b *bundle) { b.Material.Entries = other.Material.Entries }},
		{"certificate-of-another", keep, func(b *bundle) { b.Material.Certificate = other.Material.Certificate }},
		{"envelope-of-another", keep, func(b *bundle) { b.Envelope = other.Envelope }},
		{"timestamp-of-another", func(w *wish) { w.second(d.ours) }, func(b *bundle) {
			b.Material.Timestamps = other.Material.Timestamps
		}},
	}
}

func (d *desk) bundles() (map[string]string, error) {
	honest := statement(statementType, signPredicate, d.asked.Digest)
	plain := d.plain(honest)
	plain.clock = d.ours
	other, err := plain.bundle()
	if err != nil {
		return nil, err
	}
	made := map[string]string{}
	for _, each := range d.bundleCases(other) {
		wish := d.plain(honest)
		each.change(&wish)
		bundle, err := wish.bundle()
		if err != nil {
			return nil, err
		}
		each.tamper(bundle)
		if made[each.name], err = text(bundle); err != nil {
			return nil, err
		}
	}
	plain = d.plain(nil)
	message, err := plain.messageBundle([]byte(d.asked.Digest))
	if err != nil {
		return nil, err
	}
	if made["message-signature"], err = text(message); err != nil {
		return nil, err
	}
	good := made["good"]
	made["corrupt"] = good[:len(good)/2]
	made["wrong-media-type"] = strings.Replace(good, "v0.3+json", "v0.9+json", 1)
	return made, nil
}

// strangersProof is right about the tree, and signed by a log that nobody trusts.
func (d *desk) strangersProof(body []byte) *inclusionProof {
	key, err := parseKey(d.stranger.LogKey)
	if err != nil {
		return nil
	}
	proof, err := prove(body, hostOf(logURL), treeSuffix, key)
	if err != nil {
		return nil
	}
	return proof
}

// flip changes one bit near the end: lengths and tags at the beginning stay what they were.
func flip(bytes []byte) { bytes[len(bytes)-3] ^= 1 }
