package bucket

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"deepfaked/internal/bucket/buckettest"
)

// line is one of the client's in the log.
type line struct{ Level, Msg, Says string }

func lineOf(t *testing.T, log *bytes.Buffer) (first line) {
	t.Helper()
	require.NoError(t, json.NewDecoder(log).Decode(&first))
	return first
}

// What the client of S3 had to say stood as plain lines among those of the service's log, which are JSON.
func TestTheClientsWordsGoToTheLog(t *testing.T) {
	t.Parallel()
	server := buckettest.Start(t, "uploads")
	var log bytes.Buffer
	s := newSpool(t, "", 0)
	b, err := Open(t.Context(), server.URL("uploads", buckettest.Root)+"&response_checksum_validation=when_supported", s, slog.New(slog.NewJSONHandler(&log, nil)))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, b.Close()) })
	log.Reset()
	f := (&store{spool: s}).upload(t, 1000)
	content := make([]byte, 1000)
	_, err = f.ReadAt(content, 0)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(server.Folder("uploads"), "det_1"), content, 0o600)) // no checksum stands beside it
	g, err := b.Open(t.Context(), "det_1", f.SHA256(), 1000)
	require.NoError(t, err)
	require.NoError(t, g.Close())
	said := lineOf(t, &log)
	assert.Equal(t, "WARN the client of S3", said.Level+" "+said.Msg)
	assert.Contains(t, said.Says, "checksum")
}

// So did what looks for its credentials: where a machine of Amazon's gives none, at every attempt to get some,
// those of a role and those with which a role is asked for.
func TestWhatFindsCredentialsGoesToTheLog(t *testing.T) { //nolint:paralleltest // the environment is that of all
	machine := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }))
	defer machine.Close()
	t.Setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", machine.URL)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(t.TempDir(), "none"))
	for _, role := range []string{"", "&role=arn:aws:iam::123456789012:role/uploads"} {
		var log bytes.Buffer
		address := "s3://uploads?region=x&use_path_style=true&endpoint=http://" + closed(t) + role
		_, err := Open(t.Context(), address, newSpool(t, "", 0), slog.New(slog.NewJSONHandler(&log, nil)))
		require.ErrorContains(t, err, "can't be written to", role)
		assert.Contains(t, lineOf(t, &log).Says, "falling back to IMDSv1", role)
	}
}

// With role= the bucket is asked with what the role was given, as before its words went to the log.
func TestTheRoleIsTaken(t *testing.T) { //nolint:paralleltest // the environment is that of all
	sts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assert.Equal(t, "arn:aws:iam::123456789012:role/uploads", r.FormValue("RoleArn"))
		_, _ = io.WriteString(w, `<AssumeRoleResponse><AssumeRoleResult><Credentials><AccessKeyId>OFROLE</AccessKeyId>`+
			`<SecretAccessKey>x</SecretAccessKey><SessionToken>y</SessionToken><Expiration>2100-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>`)
	}))
	defer sts.Close()
	var key string
	bucket := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key = r.Header.Get("Authorization")
		w.WriteHeader(http.StatusForbidden)
	}))
	defer bucket.Close()
	t.Setenv("AWS_ENDPOINT_URL_STS", sts.URL)
	address := "s3://uploads?region=x&use_path_style=true&profile=root&role=arn:aws:iam::123456789012:role/uploads&endpoint=" + bucket.URL
	_, err := Open(t.Context(), address, newSpool(t, "", 0), slog.New(slog.DiscardHandler))
	require.ErrorContains(t, err, "can't be written to")
	assert.Contains(t, key, "Credential=OFROLE/")
}
