package report

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
)

// Signer signs reports. It is safe for concurrent use.
type Signer struct {
	private ed25519.PrivateKey
	public  PublicKey
}

// PublicKey checks the signatures of one Signer.
type PublicKey struct {
	key ed25519.PublicKey
	der []byte // as X.509 has it (SubjectPublicKeyInfo)
}

// The types of PEM blocks.
const (
	privateBlock = "PRIVATE KEY"
	publicBlock  = "PUBLIC KEY"
)

// NewKey makes a private key, as PEM (PKCS #8), as openssl genpkey -algorithm ed25519 does.
func NewKey() ([]byte, error) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make a key for reports: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, fmt.Errorf("make a key for reports: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: privateBlock, Bytes: der}), nil
}

// NewSigner signs with a private key in PEM. Its errors say nothing of the key.
func NewSigner(key []byte) (*Signer, error) {
	block, _ := pem.Decode(key)
	if block == nil || block.Type != privateBlock {
		return nil, errors.New("it is no private key in PEM, such as openssl genpkey -algorithm ed25519 makes")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, errors.New("its private key can't be read")
	}
	private, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return nil, errors.New("its private key is of another kind than Ed25519")
	}
	public, err := newPublicKey(private.Public())
	return &Signer{private: private, public: public}, err
}

// PublicKey is what its signatures are checked with.
func (s *Signer) PublicKey() PublicKey { return s.public }

// ParsePublicKey reads a public key in PEM.
func ParsePublicKey(text []byte) (PublicKey, error) {
	block, _ := pem.Decode(text)
	if block == nil || block.Type != publicBlock {
		return PublicKey{}, errors.New("it is no public key in PEM, such as a service has at /.well-known/deepfaked.pem")
	}
	return parsePublicKey(block.Bytes)
}

func parsePublicKey(der []byte) (PublicKey, error) {
	parsed, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		return PublicKey{}, errors.New("its public key can't be read")
	}
	return newPublicKey(parsed)
}

func newPublicKey(parsed any) (PublicKey, error) {
	key, ok := parsed.(ed25519.PublicKey)
	if !ok {
		return PublicKey{}, errors.New("its public key is of another kind than Ed25519")
	}
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return PublicKey{}, fmt.Errorf("write the public key: %w", err)
	}
	return PublicKey{key: key, der: der}, nil
}

// PEM is the key as it is published.
func (k PublicKey) PEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: publicBlock, Bytes: k.der})
}

// text is the key as a report has it: the one line of its PEM.
func (k PublicKey) text() string { return base64.StdEncoding.EncodeToString(k.der) }

// Fingerprint names the key: the SHA-256 of its DER, as openssl pkey -pubin -outform DER | sha256sum has it.
func (k PublicKey) Fingerprint() string {
	sum := sha256.Sum256(k.der)
	return hex.EncodeToString(sum[:])
}
