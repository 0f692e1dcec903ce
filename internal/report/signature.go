package report

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// Signature is that of a report without its field signature, in the canonical form of RFC 8785: whoever indents a report
// or changes the order of its fields leaves it valid.
type Signature struct {
	Algorithm        string `json:"algorithm"`        // Ed25519
	Canonicalization string `json:"canonicalization"` // RFC 8785
	PublicKey        string `json:"public_key"`       // base64 of its DER
	Value            string `json:"value"`            // base64
}

// fingerprint is that of the key, empty where it is none.
func (s *Signature) fingerprint() string {
	der, err := base64.StdEncoding.DecodeString(s.PublicKey)
	if err != nil {
		return ""
	}
	key, err := parsePublicKey(der)
	if err != nil {
		return ""
	}
	return key.Fingerprint()
}

const (
	algorithm        = "Ed25519"
	canonicalization = "RFC 8785"
	signatureField   = "signature"
)

// Errors of Verify.
var (
	ErrUnsigned = errors.New("the report is not signed")
	ErrForged   = errors.New("the report is not as it was signed")
)

// Sign signs the document in place of any signature that it has.
func (d *Document) Sign(s *Signer) error {
	d.Signature = nil
	text, err := json.Marshal(d)
	if err != nil {
		return fmt.Errorf("sign the report of %s: %w", d.ID, err)
	}
	canonical := jsontext.Value(text)
	if err := canonical.Canonicalize(); err != nil {
		return fmt.Errorf("sign the report of %s: %w", d.ID, err)
	}
	d.Signature = &Signature{
		Algorithm: algorithm, Canonicalization: canonicalization, PublicKey: s.public.text(),
		Value: base64.StdEncoding.EncodeToString(ed25519.Sign(s.private, canonical)),
	}
	return nil
}

// Verify reads a report and checks its signature by the key that it names itself, which it returns: whose that is, the
// caller has to know. Errors are ErrUnsigned, ErrForged, and others for what is no report.
func Verify(text []byte) (*Document, PublicKey, error) {
	doc, signed, err := parse(text)
	if err != nil {
		return nil, PublicKey{}, err
	}
	s := doc.Signature
	if s == nil {
		return doc, PublicKey{}, ErrUnsigned
	}
	if s.Algorithm != algorithm || s.Canonicalization != canonicalization {
		return doc, PublicKey{}, fmt.Errorf("the report is signed by %q over %q, which this version does not know", s.Algorithm, s.Canonicalization)
	}
	der, err := base64.StdEncoding.DecodeString(s.PublicKey)
	if err != nil {
		return doc, PublicKey{}, ErrForged
	}
	key, err := parsePublicKey(der)
	if err != nil {
		return doc, PublicKey{}, ErrForged
	}
	value, err := base64.StdEncoding.DecodeString(s.Value)
	if err != nil || !ed25519.Verify(key.key, signed, value) {
		return doc, key, ErrForged
	}
	return doc, key, nil
}

// parse reads a report, and what of it is signed. A field that is there twice is refused: readers would not agree on
// which of them holds.
func parse(text []byte) (doc *Document, signed []byte, err error) {
	const isNone = "it is no report of a detection in JSON"
	whole := jsontext.Value(text).Clone()
	if err := whole.Canonicalize(); err != nil {
		return nil, nil, errors.New(isNone)
	}
	var fields map[string]json.RawMessage
	doc = new(Document)
	if json.Unmarshal(whole, &fields) != nil || json.Unmarshal(whole, doc) != nil || doc.ID == "" {
		return nil, nil, errors.New(isNone)
	}
	delete(fields, signatureField)
	rest, err := json.Marshal(fields)
	if err != nil {
		return nil, nil, fmt.Errorf("read the report: %w", err)
	}
	canonical := jsontext.Value(rest)
	return doc, canonical, canonical.Canonicalize()
}
