// The JSON types of a Sigstore bundle, version 0.3, and the statement inside.
package main

import (
	"fmt"
	"strings"
)

const (
	bundleType    = "application/vnd.dev.sigstore.bundle.v0.3+json"
	inToto        = "application/vnd.in-toto+json"
	statementType = "https://in-toto.io/Statement/v1"
	signPredicate = "https://sigstore.dev/cosign/sign/v1"
)

type bundle struct {
	MediaType string            `json:"mediaType"`
	Material  material          `json:"verificationMaterial"`
	Envelope  *envelope         `json:"dsseEnvelope,omitempty"`
	Message   *messageSignature `json:"messageSignature,omitempty"`
}

type material struct {
	Certificate *rawBytes      `json:"certificate,omitempty"`
	PublicKey   *publicKeyHint `json:"publicKey,omitempty"`
	Entries     []logEntry     `json:"tlogEntries,omitempty"`
	Timestamps  *timestamps    `json:"timestampVerificationData,omitempty"`
}

type rawBytes struct {
	Raw []byte `json:"rawBytes"`
}

type publicKeyHint struct {
	Hint string `json:"hint"`
}

type timestamps struct {
	Responses []signedTimestamp `json:"rfc3161Timestamps"`
}

type signedTimestamp struct {
	Response []byte `json:"signedTimestamp"`
}

type envelope struct {
	Payload     []byte              `json:"payload"`
	PayloadType string              `json:"payloadType"`
	Signatures  []envelopeSignature `json:"signatures"`
}

type envelopeSignature struct {
	Sig   []byte `json:"sig"`
	KeyID string `json:"keyid,omitempty"`
}

type messageSignature struct {
	Digest    messageDigest `json:"messageDigest"`
	Signature []byte        `json:"signature"`
}

type messageDigest struct {
	Algorithm string `json:"algorithm"`
	Digest    []byte `json:"digest"`
}

type logEntry struct {
	Index          int64             `json:"logIndex,string"`
	Log            logID             `json:"logId"`
	Kind           kindVersion       `json:"kindVersion"`
	IntegratedTime int64             `json:"integratedTime,string,omitempty"`
	Promise        *inclusionPromise `json:"inclusionPromise,omitempty"`
	Proof          *inclusionProof   `json:"inclusionProof,omitempty"`
	Body           []byte            `json:"canonicalizedBody"`
}

type logID struct {
	Key []byte `json:"keyId"`
}

type kindVersion struct {
	Kind    string `json:"kind"`
	Version string `json:"version"`
}

type inclusionPromise struct {
	Timestamp []byte `json:"signedEntryTimestamp"`
}

type inclusionProof struct {
	Index      int64      `json:"logIndex,string"`
	Root       []byte     `json:"rootHash"`
	Size       int64      `json:"treeSize,string"`
	Hashes     [][]byte   `json:"hashes"`
	Checkpoint checkpoint `json:"checkpoint"`
}

type checkpoint struct {
	Envelope string `json:"envelope"`
}

// statement is what cosign 3 signs, for these digests.
func statement(kind, predicate string, digests ...string) []byte {
	subjects := make([]string, 0, len(digests))
	for _, digest := range digests {
		subjects = append(subjects, fmt.Sprintf(`{"digest":{"sha256":"%s"}}`, strings.TrimPrefix(digest, "sha256:")))
	}
	return fmt.Appendf(nil, `{"_type":"%s","subject":[%s],"predicateType":"%s","predicate":{}}`,
		kind, strings.Join(subjects, ","), predicate)
}

// preAuthentication is DSSE's encoding: the type is signed along with the payload.
func preAuthentication(kind string, payload []byte) []byte {
	return fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(kind), kind, len(payload), payload)
}
